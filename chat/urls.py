"""URLs of the chat: pages, exports and links, the request preview, and the JSON API."""

from django.urls import include, path

from chat.request_preview.views import next_request, preview

app_name = "chat"
urlpatterns = [
    path("", include("chat.pages.urls")),
    path("", include("chat.sharing.urls")),
    path("chats/<id:conversation_id>/preview/", preview, name="preview"),
    path("chats/<id:conversation_id>/next-request/", next_request, name="next_request"),
    path("api/", include("chat.api.urls")),
]
