"""The accounts app: who you are, and what you may see."""

from importlib import import_module

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Users, preferences, tokens."""

    name = "accounts"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        import_module("accounts.checks")
