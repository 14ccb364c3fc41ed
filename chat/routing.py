"""Where sockets connect."""

from django.conf import settings
from django.urls import path

from chat.socket.consumer import ConversationConsumer

PREFIX = f"{settings.URL_PREFIX}/".removeprefix("/")
websocket_urlpatterns = [
    path(f"{PREFIX}ws/chats/<id:conversation_id>/", ConversationConsumer.as_asgi()),  # type: ignore[arg-type]  # Channels' own
]
