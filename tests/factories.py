"""Plain functions that make people and conversations. Nothing that matters to a test is hidden in them."""

import uuid
from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import Permission
from django.db import transaction
from django.test import Client
from django.utils import timezone

from accounts.demo import staff_group
from accounts.models import User
from chat import eventlog
from chat.cards import rendering
from chat.conversations import model_choice
from chat.conversations.titles import title_from
from chat.eventlog.write import save_checkpoints
from chat.models import Conversation, ModelProfile, Turn
from chat.turns import finish
from chat.turns.queue import StartedTurn
from config import environment
from config.settings import env
from reasoning.events import AssistantMessage, Event, Reasoning, ToolCall, ToolResult, TurnStatus

PASSWORD = "correct horse battery staple"
SECRET = "sk-live-4f9aQ2mX7bT1cV8nR3kW6yZ0"
TOOL_OUTPUT = f'{{"passages": [{{"text": "As told. password={SECRET}"}}], "api_key": "{SECRET}"}}'


def make_user(username: str, **fields: object) -> User:
    """Make a person who signs in with ``PASSWORD``."""
    return User.objects.create_user(username=username, password=PASSWORD, **fields)


def make_administrator(username: str, **fields: object) -> User:
    """Make a person who holds ``accounts.view_scratchpad`` and nothing else."""
    user = make_user(username, **fields)
    user.user_permissions.add(Permission.objects.get(codename="view_scratchpad", content_type__app_label="accounts"))
    return user


def client_of(user: User) -> Client:
    """Return a client that is signed in."""
    client = Client()
    client.force_login(user)
    return client


def bind_keys(settings: Any, bindings: str) -> None:
    """List key variables with their hosts, as MODEL_KEYS does."""
    parsed = environment.parse_key_bindings(bindings)
    settings.MODEL_KEYS = environment.ApiKeys(env, parsed, "https://api.openai.com/v1")


def sign_in_staff(client: Client) -> User:
    """Make Sam, who has all rights of the staff group, and sign them in."""
    sam = make_user("sam", is_staff=True)
    sam.groups.add(staff_group())
    client.force_login(sam)
    return sam


def session_key_of(user: User) -> str:
    """Sign a person in; return the key of their session."""
    client = Client()
    assert client.login(username=user.username, password=PASSWORD)
    return str(client.session.session_key)


def make_conversation(*, owner: User, title: str = "") -> Conversation:
    """Make an empty conversation."""
    return Conversation.objects.create(owner=owner, title=title)


def open_turn(
    conversation_id: uuid.UUID,
    *,
    text: str,
    client_id: str = "",
    replaces: Turn | None = None,
    attached: Collection[uuid.UUID] = (),
) -> Turn:
    """Begin a turn in the log, as the turn_manager does before it plans a request."""
    with transaction.atomic():
        return eventlog.open_turn(
            eventlog.lock_conversation(conversation_id),
            text=text,
            client_id=client_id,
            replaces=replaces,
            title=title_from(text),
            attached=attached,
        )


def make_turn(conversation: Conversation, *, question: str = "Why?", answer: str = "Because.") -> Turn:
    """Make a finished turn: a question and its answer, through the log."""
    turn = open_turn(conversation.pk, text=question)
    end_turn(turn, [AssistantMessage(text=answer)])
    return turn


def end_turn(turn: Turn, events: Sequence[Event], *, status: TurnStatus = "completed") -> finish.TurnResult:
    """End a running turn with its last events, as the turn_manager does."""
    started = StartedTurn(turn, "", model_choice.chosen_model(turn.conversation))
    result = finish.finish_turn(started, status, {}, events, history=None, anchor=None, has_checkpoint=True)
    assert result is not None
    rendering.load([result.record])
    return result


def save_checkpoint(turn: Turn, *, answer: str, thinking: str, **state: Any) -> None:
    """Store what was released so far of a running turn."""
    save_checkpoints({turn.pk: (answer, thinking, state)})


def make_profile(name: str, **fields: object) -> ModelProfile:
    """Make a model that staff offer; it needs no key."""
    return ModelProfile.objects.create(
        name=name, **{"base_url": "http://127.0.0.1:9/v1", "model": f"{name}-model", **fields}
    )


def abandon(turn: Turn) -> None:
    """Leave a running turn as a process on another machine does that has died."""
    Turn.objects.filter(pk=turn.pk).update(worker="elsewhere:1:0", lease_until=timezone.now() - timedelta(seconds=1))


def make_history(
    conversation: Conversation, *events: Event, question: str = "Why?", status: TurnStatus = "completed"
) -> None:
    """Make a finished turn of exactly these events."""
    turn = open_turn(conversation.pk, text=question)
    eventlog.close_turn(turn, events, status=status)


def make_thought(text: str = "Let me see.", **fields: str) -> Reasoning:
    """Make thinking of the offline analyst."""
    values = {"model": "offline-analyst", "provider": "offline", "source_field": "reasoning_content", **fields}
    return Reasoning(kind="text", text=text, step=0, **values)  # type: ignore[arg-type]


def make_tool_step(arguments: str = '{"query": "covenants"}', output: str = TOOL_OUTPUT) -> Sequence[Event]:
    """Make a call, its result and an answer."""
    return (
        ToolCall(call_id="call_1", name="searchFilings", arguments=arguments, step=0),
        ToolResult(call_id="call_1", output=output, ok=True, step=0),
        AssistantMessage(text="Because.", step=1),
    )


THINKING_CANARY = "quokka-canary-2284"


def make_answer(conversation: Conversation, *, thought: str = THINKING_CANARY) -> Turn:
    """Make a finished turn with thinking, one redacted trace step, a summary and an answer."""
    turn = open_turn(conversation.pk, text="Why?")
    step = {
        "tool": "searchFilings",
        "args": {"query": "turbines"},
        "durationMs": 12,
        "results": 1,
        "topCitations": [],
        "status": "ok",
    }
    events = [
        Reasoning(kind="text", text=thought, source_field="reasoning", model="m", provider="p", step=0),
        ToolCall(call_id="c1", name="searchFilings", arguments="{}", step=0),
        ToolResult(call_id="c1", output="raw-result-canary", ok=True, step=0),
    ]
    eventlog.append(turn, events, {"c1": step})
    answer = AssistantMessage(text="Because **so**.", summary=("Looked.", "Compared."), step=1)
    eventlog.close_turn(turn, [answer], status="completed", summary_source="model", thinking_ms=12_000)
    return turn
