"""The chat app: conversations, and the world around them."""

from django.apps import AppConfig


class ChatConfig(AppConfig):
    """Conversations, filings, providers and tools."""

    name = "chat"
    default_auto_field = "django.db.models.BigAutoField"
