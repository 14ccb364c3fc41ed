"""URLs of the pages, their parts and forms, the health check and the metrics."""

from django.contrib.auth.decorators import login_not_required
from django.urls import include, path
from django.views.generic import TemplateView

from chat.pages import (
    attachments,
    conversation,
    documents,
    filings,
    health,
    metrics,
    projects,
    prompts,
    sidebar,
    turn_actions,
    user_data,
)

# for browsers that install the page as an app; they ask without a session
manifest = login_not_required(
    TemplateView.as_view(template_name="chat/manifest.webmanifest", content_type="application/manifest+json")
)
turn_urls = [
    path("edit/", turn_actions.edit, name="edit"),
    path("feedback/", turn_actions.feedback, name="feedback"),
    path("select/", turn_actions.select, name="select"),
    path("retry/", turn_actions.retry, name="retry"),
    path("continue/", turn_actions.continue_answer, name="continue"),
    path("keep/", turn_actions.keep, name="keep"),
    path("delete/", turn_actions.delete, name="delete"),
    path("restore/", turn_actions.restore, name="restore"),
    path("thinking/", turn_actions.thinking, name="thinking"),
    path("trace/", turn_actions.trace, name="trace"),
    path("copy/", turn_actions.copy, name="copy"),
    path("calls/<str:call_id>/", turn_actions.decide, name="decide"),
]
urlpatterns = [
    path("", sidebar.home, name="home"),
    path("chats/", sidebar.conversations, name="conversations"),
    path("chats/archived/", sidebar.show_archive, name="archived"),
    path("chats/completions/", conversation.completions, name="completions"),
    path("chats/selected/", sidebar.change_selected, name="selected"),
    path("chats/<id:conversation_id>/", conversation.conversation, name="conversation"),
    path("chats/<id:conversation_id>/manage/", sidebar.manage, name="manage"),
    path("chats/<id:conversation_id>/messages/", conversation.messages, name="messages"),
    path("chats/<id:conversation_id>/model/", conversation.model, name="model"),
    path("chats/<id:conversation_id>/effort/", conversation.effort, name="effort"),
    path("chats/<id:conversation_id>/collections/", conversation.choose_collections, name="conversation_collections"),
    path("chats/<id:conversation_id>/attachments/", attachments.upload, name="attachments"),
    path("chats/<id:conversation_id>/attachments/<id:attachment_id>/", attachments.attachment, name="attachment"),
    path(
        "chats/<id:conversation_id>/attachments/<id:attachment_id>/file/",
        attachments.attachment_file,
        name="attachment_file",
    ),
    path(
        "chats/<id:conversation_id>/attachments/<id:attachment_id>/encoding/",
        attachments.encoding,
        name="attachment_encoding",
    ),
    path(
        "chats/<id:conversation_id>/attachments/<id:attachment_id>/remove/",
        attachments.remove,
        name="attachment_remove",
    ),
    path("chats/<id:conversation_id>/queue/<int:message_id>/", conversation.queued_message, name="queued"),
    path("chats/<id:conversation_id>/stop/", conversation.stop, name="stop"),
    path("chats/<id:conversation_id>/turns/<id:turn_id>/", include(turn_urls)),
    path("chats/<id:conversation_id>/system-prompt/", prompts.system_prompt, name="system_prompt"),
    path("prompts/", prompts.prompts, name="prompts"),
    path("data/", user_data.user_data, name="user_data"),
    path("data/delete-conversations/", user_data.delete_conversations, name="delete_conversations"),
    path("data/delete-account/", user_data.delete_account, name="delete_account"),
    path("documents/", documents.collection_list, name="documents"),
    path("documents/collections/<id:collection_id>/", documents.collection, name="collection"),
    path("documents/collections/<id:collection_id>/delete/", documents.delete_collection, name="collection_delete"),
    path("documents/<id:document_id>/", documents.document, name="document"),
    path("documents/<id:document_id>/file/", documents.document_file, name="document_file"),
    path("documents/<id:document_id>/pages/<int:page>.webp", documents.document_page, name="document_page"),
    path("documents/<id:document_id>/delete/", documents.delete_document, name="document_delete"),
    path("filings/", filings.filing_list, name="filings"),
    path("filings/<slug:slug>/", filings.filing, name="filing"),
    path("projects/", projects.projects, name="projects"),
    path("projects/<id:project_id>/", projects.project, name="project"),
    path("leaving/", conversation.external_link, name="external_link"),
    path("manifest.webmanifest", manifest, name="manifest"),
    path("healthz", health.healthz, name="healthz"),
    path("metrics", metrics.figures, name="metrics"),
]
