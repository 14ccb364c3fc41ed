"""URLs of the JSON API, under ``/api/``. Each works with and without its last slash: a script can't follow a POST."""

from collections.abc import Callable
from typing import Any

from django.urls import path

from chat.api import documents, messages, views

CHAT = "chats/<id:conversation_id>"
COLLECTION = "documents/collections/<id:collection_id>"
ENDPOINTS: tuple[tuple[str, Callable[..., Any], str], ...] = (
    ("chats", views.conversation_list, "api_chats"),
    (CHAT, views.conversation, "api_chat"),
    (f"{CHAT}/messages", messages.messages, "api_messages"),
    (f"{CHAT}/messages/<id:turn_id>", messages.message, "api_message"),
    (f"{CHAT}/messages/<id:turn_id>/keep", messages.keep, "api_keep"),
    (f"{CHAT}/messages/<id:turn_id>/calls/<str:call_id>", messages.decide, "api_decide"),
    (f"{CHAT}/approvals/<str:call_id>", messages.decide_in_chat, "api_approve"),
    (f"{CHAT}/stop", messages.stop, "api_stop"),
    (f"{CHAT}/settings", views.settings, "api_settings"),
    ("documents/collections", documents.collection_list, "api_collections"),
    (COLLECTION, documents.collection, "api_collection"),
    (f"{COLLECTION}/documents", documents.collection_documents, "api_collection_documents"),
    ("documents/<id:document_id>", documents.document, "api_document"),
    ("models", views.models, "api_models"),
)
urlpatterns = [
    # the last pattern of a name is the one that reverse() returns
    *(path(address, view, name=name) for address, view, name in ENDPOINTS),
    *(path(f"{address}/", view, name=name) for address, view, name in ENDPOINTS),
    path("", views.not_found, name="api_nowhere"),
    path("<path:rest>", views.not_found, name="api_nowhere"),
]
