"""The chat app: conversations, and the world around them."""

from django.apps import AppConfig
from django.core import checks
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate, pre_migrate
from django.urls import register_converter
from django.utils.translation import gettext_lazy as _

from accounts.access import attempts
from chat.observability.metrics import count_refusal
from chat.search.fts5 import add_index_function, check_passage_indexes, ensure_passage_indexes
from chat.url_converters import IdConverter


class ChatConfig(AppConfig):
    """Conversations, documents, providers and tools."""

    name = "chat"
    verbose_name = _("Conversations")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from chat.conversations import search_index, signals  # noqa: PLC0415 - models must be loaded first

        attempts.refused.connect(count_refusal, dispatch_uid="chat.refusals")
        connection_created.connect(add_index_function, dispatch_uid="chat.index_function")
        register_converter(IdConverter, "id")  # before any URLs are read
        post_migrate.connect(ensure_passage_indexes, sender=self, dispatch_uid="chat.search_index")
        checks.register("database")(check_passage_indexes)
        pre_migrate.connect(search_index.INDEX.drop_triggers, sender=self, dispatch_uid="chat.talk_triggers")
        post_migrate.connect(search_index.INDEX.ensure, sender=self, dispatch_uid="chat.talk_index")
        checks.register("database")(search_index.check_talk_index)
        signals.connect()
