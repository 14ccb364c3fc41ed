"""Pages under ``/``, the JSON API under ``/api/``, and the health check."""

from django.urls import path

from chat import api, egress, exiturls, health, leaving, listapi, listviews, views

app_name = "chat"
urlpatterns = [
    *exiturls.urlpatterns,
    path("", listviews.home, name="home"),
    path("chats/", listviews.chats, name="new"),
    path("chats/<uuid:conversation_id>/manage/", listviews.manage, name="manage"),
    path("chats/<uuid:conversation_id>/", views.conversation, name="conversation"),
    path("chats/<uuid:conversation_id>/messages/", views.messages, name="messages"),
    path("chats/<uuid:conversation_id>/model/", views.model, name="model"),
    path("chats/<uuid:conversation_id>/effort/", views.effort, name="effort"),
    path("chats/<uuid:conversation_id>/context/", views.context, name="context"),
    path("chats/<uuid:conversation_id>/preview/", egress.egress, name="preview"),
    path("chats/<uuid:conversation_id>/stop/", views.stop, name="stop"),
    path("chats/<uuid:conversation_id>/turns/<uuid:turn_id>/thinking/", views.thinking, name="thinking"),
    path("chats/<uuid:conversation_id>/turns/<uuid:turn_id>/trace/", views.trace, name="trace"),
    path("chats/<uuid:conversation_id>/turns/<uuid:turn_id>/steps/", views.steps, name="steps"),
    path("chats/<uuid:conversation_id>/turns/<uuid:turn_id>/copy/", views.copy, name="copy"),
    path("chats/<uuid:conversation_id>/turns/<uuid:turn_id>/retry/", views.retry, name="retry"),
    path("chats/<uuid:conversation_id>/turns/<uuid:turn_id>/continue/", views.go_on, name="continue"),
    path("filings/", views.filings, name="filings"),
    path("filings/<slug:slug>/", views.filing, name="filing"),
    path("leaving/", leaving.leaving, name="leaving"),
    path("api/chats/", api.chats, name="api_chats"),
    path("api/chats/<uuid:conversation_id>/", listapi.chat, name="api_chat"),
    path("api/chats/<uuid:conversation_id>/messages/", api.messages, name="api_messages"),
    path("api/chats/<uuid:conversation_id>/settings/", api.settings, name="api_settings"),
    path("api/models/", api.models, name="api_models"),
    path("api/<path:rest>", api.nowhere, name="api_nowhere"),
    path("healthz", health.healthz, name="healthz"),
]
