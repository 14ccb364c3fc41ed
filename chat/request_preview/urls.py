"""The URL of the request preview."""

from django.urls import path

from chat.request_preview.views import preview

urlpatterns = [path("chats/<uuid:conversation_id>/preview/", preview, name="preview")]
