"""Connect to the socket of a conversation, and read its frames."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator
from django.test import Client

from accounts.models import User
from chat.models import Conversation
from config.asgi import application
from tests.factories import PASSWORD
from tests.frame_words import heard


def cookies_of(user: User) -> str:
    """Sign in; return the cookie header."""
    client = Client()
    assert client.login(username=user.username, password=PASSWORD)
    return f"sessionid={client.cookies['sessionid'].value}"


@asynccontextmanager
async def socket_of(
    conversation: Conversation,
    user: User | None,
    *,
    origin: str = "http://localhost",
    host: str = "localhost",
    proto: str = "",
) -> AsyncIterator[WebsocketCommunicator]:
    """Connect as this user; ``accepted`` says whether the handshake was. An empty header is not sent."""
    sent = {b"origin": origin, b"host": host, b"x-forwarded-proto": proto}
    headers = [(name, value.encode()) for name, value in sent.items() if value]
    if user is not None:
        headers.append((b"cookie", (await database_sync_to_async(cookies_of)(user)).encode()))
    socket = WebsocketCommunicator(application, f"/ws/chats/{conversation.pk}/", headers=headers)
    socket.accepted, _ = await socket.connect(timeout=30)
    try:
        yield socket
    finally:
        await socket.disconnect()


def session_of(socket: WebsocketCommunicator) -> str:
    """Return the key of the session that a socket was opened with."""
    return dict(socket.scope["headers"])[b"cookie"].decode().removeprefix("sessionid=")


async def frames_until(socket: WebsocketCommunicator, text: str) -> list[str]:
    """Return the frames up to the first by which the page was sent ``text``."""
    frames: list[str] = []
    while text not in heard(frames):
        frames.append(await socket.receive_from(timeout=30))
    return frames
