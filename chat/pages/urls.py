"""URLs of the pages, their parts and forms, and the health check."""

from django.urls import include, path

from chat.pages import conversation, filings, health, sidebar, turn_actions

turn_urls = [
    path("edit/", turn_actions.edit, name="edit"),
    path("feedback/", turn_actions.feedback, name="feedback"),
    path("select/", turn_actions.select, name="select"),
    path("retry/", turn_actions.retry, name="retry"),
    path("continue/", turn_actions.continue_answer, name="continue"),
    path("thinking/", turn_actions.thinking, name="thinking"),
    path("trace/", turn_actions.trace, name="trace"),
    path("copy/", turn_actions.copy, name="copy"),
    path("calls/<str:call_id>/", turn_actions.decide, name="decide"),
]
urlpatterns = [
    path("", sidebar.home, name="home"),
    path("chats/", sidebar.conversations, name="conversations"),
    path("chats/<id:conversation_id>/", conversation.conversation, name="conversation"),
    path("chats/<id:conversation_id>/manage/", sidebar.manage, name="manage"),
    path("chats/<id:conversation_id>/messages/", conversation.messages, name="messages"),
    path("chats/<id:conversation_id>/model/", conversation.model, name="model"),
    path("chats/<id:conversation_id>/effort/", conversation.effort, name="effort"),
    path("chats/<id:conversation_id>/stop/", conversation.stop, name="stop"),
    path("chats/<id:conversation_id>/turns/<id:turn_id>/", include(turn_urls)),
    path("filings/", filings.filing_list, name="filings"),
    path("filings/<slug:slug>/", filings.filing, name="filing"),
    path("leaving/", conversation.external_link, name="external_link"),
    path("healthz", health.healthz, name="healthz"),
]
