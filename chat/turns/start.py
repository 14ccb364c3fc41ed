"""Start a turn: record its question with the model that is expected to answer. Synchronous."""

from __future__ import annotations

from dataclasses import dataclass

from chat import eventlog
from chat.conversations import model_choice
from chat.conversations.titles import title_from
from chat.models import Conversation, Turn
from chat.validation import Message


@dataclass(frozen=True, slots=True)
class StartedTurn:
    """A turn that is in the log and has no task yet. ``turn.conversation`` is as it was read for it."""

    turn: Turn
    question: str
    choice: model_choice.ModelChoice
    replaces: Turn | None = None


def start_turn(conversation: Conversation, message: Message, *, replaces: Turn | None = None) -> StartedTurn:
    """Record a turn in a locked conversation. Raises TurnRunningError, InactiveBranchError."""
    choice = model_choice.chosen_model(conversation)
    provider = model_choice.known_provider(choice)
    turn = eventlog.open_turn(
        conversation,
        text=message.text,
        client_id=message.client_id,
        replaces=replaces,
        model=provider.name if provider else "",
        provider=provider.identity if provider else "",
        title="" if conversation.title else title_from(message.text),
    )
    return StartedTurn(turn, message.text, choice, replaces)
