"""URLs of the chat: pages, exports and links, the request preview, and the JSON API."""

from django.urls import include, path

app_name = "chat"
urlpatterns = [
    path("", include("chat.pages.urls")),
    path("", include("chat.sharing.urls")),
    path("", include("chat.request_preview.urls")),
    path("api/", include("chat.api.urls")),
]
