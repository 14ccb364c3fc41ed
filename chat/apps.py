"""The chat app: conversations, and the world around them."""

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_out
from django.core import checks
from django.db.models.signals import post_migrate, pre_migrate
from django.utils.translation import gettext_lazy as _


class ChatConfig(AppConfig):
    """Conversations, filings, providers and tools."""

    name = "chat"
    verbose_name = _("Conversations and filings")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from chat import conversations, searchindex  # noqa: PLC0415 - models must be loaded first
        from chat.filings import index  # noqa: PLC0415

        post_migrate.connect(index.ensure_index, sender=self, dispatch_uid="chat.search_index")
        checks.register("database")(index.check_index)
        pre_migrate.connect(searchindex.drop_triggers, sender=self, dispatch_uid="chat.talk_triggers")
        post_migrate.connect(searchindex.ensure_talk_index, sender=self, dispatch_uid="chat.talk_index")
        checks.register("database")(searchindex.check_talk_index)
        user_logged_out.connect(conversations.end_temporary, dispatch_uid="chat.temporary")
