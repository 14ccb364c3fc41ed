"""Make the core a Django app, so that its name shows in the project. Nothing else here knows Django."""

from django.apps import AppConfig


class ReasoningConfig(AppConfig):
    """The pure core."""

    name = "reasoning"
