"""Where sockets connect."""

from django.urls import path

from chat.socket.consumer import ConversationConsumer

websocket_urlpatterns = [
    path("ws/chats/<id:conversation_id>/", ConversationConsumer.as_asgi()),  # type: ignore[arg-type]  # Channels' own
]
