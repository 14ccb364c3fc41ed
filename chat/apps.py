"""The chat app: conversations, and the world around them."""

from django.apps import AppConfig
from django.core import checks
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class ChatConfig(AppConfig):
    """Conversations, filings, providers and tools."""

    name = "chat"
    verbose_name = _("Conversations and filings")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from chat.filings import index  # noqa: PLC0415 - models must be loaded first

        post_migrate.connect(index.ensure_index, sender=self, dispatch_uid="chat.search_index")
        checks.register("database")(index.check_index)
