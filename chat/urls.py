"""Pages under ``/``, the JSON API under ``/api/``, and the health check."""

from django.urls import path

from chat import api, health, leaving, views

app_name = "chat"
urlpatterns = [
    path("", views.home, name="home"),
    path("chats/", views.new, name="new"),
    path("chats/<uuid:conversation_id>/", views.conversation, name="conversation"),
    path("chats/<uuid:conversation_id>/messages/", views.messages, name="messages"),
    path("chats/<uuid:conversation_id>/stop/", views.stop, name="stop"),
    path("chats/<uuid:conversation_id>/turns/<uuid:turn_id>/thinking/", views.thinking, name="thinking"),
    path("chats/<uuid:conversation_id>/turns/<uuid:turn_id>/trace/", views.trace, name="trace"),
    path("chats/<uuid:conversation_id>/turns/<uuid:turn_id>/copy/", views.copy, name="copy"),
    path("chats/<uuid:conversation_id>/turns/<uuid:turn_id>/retry/", views.retry, name="retry"),
    path("filings/", views.filings, name="filings"),
    path("filings/<slug:slug>/", views.filing, name="filing"),
    path("leaving/", leaving.leaving, name="leaving"),
    path("api/chats/", api.chats, name="api_chats"),
    path("api/chats/<uuid:conversation_id>/messages/", api.messages, name="api_messages"),
    path("api/<path:rest>", api.nowhere, name="api_nowhere"),
    path("healthz", health.healthz, name="healthz"),
]
