"""Addresses of what leaves a conversation, and of what is done with one of its turns."""

from django.urls import path

from chat import answerviews, shareviews

urlpatterns = [
    path("chats/<uuid:conversation_id>/export/", shareviews.export, name="export"),
    path("chats/<uuid:conversation_id>/share/", shareviews.share, name="share"),
    path("chats/<uuid:conversation_id>/share/preview/", shareviews.preview, name="share_preview"),
    path("chats/<uuid:conversation_id>/turns/<uuid:turn_id>/edit/", answerviews.edit, name="edit"),
    path("chats/<uuid:conversation_id>/turns/<uuid:turn_id>/feedback/", answerviews.opinion, name="feedback"),
    path("chats/<uuid:conversation_id>/turns/<uuid:turn_id>/select/", answerviews.select, name="select"),
    path("shares/", shareviews.links, name="shares"),
    path("shares/<uuid:link_id>/revoke/", shareviews.revoke, name="share_revoke"),
    path("s/<slug:token>/", shareviews.shared, name="shared"),
    path("s/<slug:token>/<uuid:turn_id>/thinking/", shareviews.shared_thinking, name="shared_thinking"),
]
