"""Plain functions that make people and conversations. Nothing that matters to a test is hidden in them."""

from __future__ import annotations

import uuid
from datetime import timedelta

from django.contrib.auth.models import Permission
from django.db import transaction
from django.test import Client
from django.utils import timezone

from accounts.models import User
from chat import log
from chat.models import Conversation, ModelProfile, Turn
from reasoning.events import AssistantMessage

PASSWORD = "correct horse battery staple"


def make_user(username: str, **fields: object) -> User:
    """Make a person who signs in with ``PASSWORD``."""
    return User.objects.create_user(username=username, password=PASSWORD, **fields)


def make_administrator(username: str, **fields: object) -> User:
    """Make a person who holds ``accounts.view_scratchpad`` and nothing else."""
    user = make_user(username, **fields)
    user.user_permissions.add(Permission.objects.get(codename="view_scratchpad", content_type__app_label="accounts"))
    return user


def session_key_of(user: User) -> str:
    """Sign a person in; return the key of their session."""
    client = Client()
    assert client.login(username=user.username, password=PASSWORD)
    return str(client.session.session_key)


def make_conversation(*, owner: User, title: str = "") -> Conversation:
    """Make an empty conversation."""
    return Conversation.objects.create(owner=owner, title=title)


def open_turn(conversation_id: uuid.UUID, *, text: str, client_id: str = "", replaces: Turn | None = None) -> Turn:
    """Begin a turn in the log, as the runner does before it plans a request."""
    with transaction.atomic():
        return log.open_turn_in(log.locked(conversation_id), text=text, client_id=client_id, replaces=replaces)


def make_turn(conversation: Conversation, *, question: str = "Why?", answer: str = "Because.") -> Turn:
    """Make a finished turn: a question and its answer, through the log."""
    turn = open_turn(conversation.pk, text=question)
    log.close_turn(turn, [AssistantMessage(text=answer)], status="completed")
    return turn


def make_profile(name: str, **fields: object) -> ModelProfile:
    """Make a model that staff offer; it needs no key."""
    return ModelProfile.objects.create(
        name=name, **{"base_url": "http://127.0.0.1:9/v1", "model": f"{name}-model", **fields}
    )


def abandon(turn: Turn) -> None:
    """Leave a running turn as a process on another machine does that has died."""
    Turn.objects.filter(pk=turn.pk).update(worker="elsewhere:1:0", lease_until=timezone.now() - timedelta(seconds=1))
