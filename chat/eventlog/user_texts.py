"""What the user wrote and attached before an answer, which links of the answer must not repeat.

An instruction inside a file could else make the model put the user's words into the address of another site; see
``chat.html.link_check``.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator

from chat.eventlog import attachments
from chat.html.link_check import EMPTY, UserText
from chat.models import Event
from reasoning.events import UserMessage, attached_file


def user_text_of(conversation_id: uuid.UUID, turns: Collection[uuid.UUID]) -> dict[uuid.UUID, UserText]:
    """Return for each of these turns what was asked and attached up to it, in every branch."""
    return {turn: text for turn, text in _by_turn(conversation_id) if turn in turns} if turns else {}


def user_text_so_far(conversation_id: uuid.UUID) -> UserText:
    """Return everything that was asked in a conversation."""
    found = [text for _turn, text in _by_turn(conversation_id)]
    return found[-1] if found else EMPTY


def _by_turn(conversation_id: uuid.UUID) -> Iterator[tuple[uuid.UUID, UserText]]:
    """Yield the turns, oldest first, each with what was asked up to it."""
    text = EMPTY
    questions = Event.objects.filter(conversation_id=conversation_id, type=UserMessage.type).order_by("seq")
    rows = list(questions.values_list("turn_id", "public"))
    listed = [attached_file(form) for _turn, public in reversed(rows) for form in public.get("attachments", ())]
    sent = attachments.fitting(listed, attachments.SENT_TEXT_CHARS, lambda file: file.chars)
    files = attachments.texts_of(sent) if sent else {}
    for turn, public in rows:
        text = text.then(str(public.get("text", "")))  # that of a deleted message is gone
        for file in public.get("attachments", ()):
            text = text.then(files.get(file["id"], ""))
        yield turn, text
