"""URLs of the JSON API, under ``/api/``."""

from django.urls import path

from chat.api import views

urlpatterns = [
    path("chats/", views.conversation_list, name="api_chats"),
    path("chats/<id:conversation_id>/", views.conversation, name="api_chat"),
    path("chats/<id:conversation_id>/messages/", views.messages, name="api_messages"),
    path("chats/<id:conversation_id>/settings/", views.settings, name="api_settings"),
    path("models/", views.models, name="api_models"),
    path("<path:rest>", views.not_found, name="api_nowhere"),
]
