"""URLs of the chat: pages, exports and links, the request preview, the JSON API, and the MCP server."""

from django.urls import include, path

from chat.mcp_server.views import mcp
from chat.pages.mcp_client import client_document
from chat.request_preview.views import next_request, preview

app_name = "chat"
urlpatterns = [
    path("", include("chat.pages.urls")),
    path("", include("chat.sharing.urls")),
    path("chats/<id:conversation_id>/preview/", preview, name="preview"),
    path("chats/<id:conversation_id>/next-request/", next_request, name="next_request"),
    path("api/", include("chat.api.urls")),
    path("mcp/", mcp),
    path("mcp", mcp, name="mcp"),
    path("mcp/client.json", client_document, name="mcp_client"),
]
