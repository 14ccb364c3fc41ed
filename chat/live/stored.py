"""The state of a turn that runs in another process, as its last checkpoint has it.

Pages need HTML (``read_running``), event streams of the API the text and what of it changed (``FollowedTurn``).
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from channels.db import database_sync_to_async

from chat import eventlog
from chat.documents import sources as stores
from chat.documents.access import reader_of
from chat.eventlog.attachments import attached_to
from chat.eventlog.read import checkpoint_thinking, running_turn
from chat.eventlog.user_texts import user_text_so_far
from chat.html import BlockSplitter
from chat.html.link_check import UserText
from chat.live.blocks import BlockRenderer
from chat.live.state import Event, LiveStep, TurnState
from chat.live.turn import Rewrite
from chat.models import Checkpoint, Turn
from reasoning.citations import Source
from reasoning.deltas import Channel
from reasoning.trace import step_from_json


@dataclass(kw_only=True, eq=False)
class FollowedTurn(TurnState):
    """A turn of another process with its text: that of a checkpoint, continued by events (``TurnFollower``).

    ``thinking`` is all of it at the checkpoint; events add what ordinary viewers may read.
    """

    answer: str = ""
    rewrites: list[Rewrite] = field(default_factory=list)

    def can_apply(self, event: Event) -> bool:
        # Of an answer that was rewritten, the event has the HTML alone.
        return not (event["kind"] == "rewritten" and event["channel"] == Channel.ANSWER)

    def apply(self, event: Event) -> None:
        thinking = self.thinking
        super().apply(event)
        if event["kind"] in ("text", "block"):
            self.answer += event["text"]
        elif event["kind"] == "rewritten":
            self._note_rewrite(Channel.THINKING, thinking, self.thinking, self.thinking_chars)

    def take_over(self, older: TurnState) -> None:
        if isinstance(older, FollowedTurn):
            self.rewrites = older.rewrites
            self._note_rewrite(Channel.ANSWER, older.answer, self.answer, self.answer_chars)
            self._note_rewrite(Channel.THINKING, older.thinking, self.thinking, self.thinking_chars)

    def _note_rewrite(self, channel: Channel, before: str, after: str, chars: int) -> None:
        if not after.startswith(before):
            self.rewrites.append(Rewrite.between(channel, before, after, chars))


def read_followed(turn_id: uuid.UUID) -> FollowedTurn | None:
    """Return a running turn as its last checkpoint has it. To show its thinking, ask ``Visibility``."""
    turn = Turn.objects.select_related("conversation").filter(pk=turn_id, status=Turn.Status.RUNNING).first()
    if turn is None:
        return None
    checkpoint = Checkpoint.objects.filter(turn=turn).only("answer", "state").first()
    answer = checkpoint.answer if checkpoint and checkpoint.state else ""
    state = FollowedTurn(**_fields(turn, checkpoint), answer=answer)
    # read after the rest, so it may be that of a later checkpoint
    state.thinking = checkpoint_thinking(turn_id)[: state.thinking_chars]
    return state


async def read_running(conversation_id: uuid.UUID, *, beside: bool = False) -> TurnState | None:
    """Return the stored state of the running turn of a conversation. Events with a greater ``seq`` continue it.

    ``beside``: of the second of two that are compared.
    """
    found = await database_sync_to_async(_read)(conversation_id, beside=beside)
    if found is None:
        return None
    state, answer, sources, asked = found
    splitter, renderer = BlockSplitter(), BlockRenderer(conversation_id, state.owner_id, asked)
    if blocks := splitter.feed(answer):
        state.frozen = [str(await renderer.render(blocks, sources))]
    state.open_block = await renderer.render_open(splitter.open_parts, sources)
    return state


def _read(conversation_id: uuid.UUID, *, beside: bool) -> tuple[TurnState, str, Sequence[Source], UserText] | None:
    turn = running_turn(conversation_id, beside=beside)
    if turn is None:
        return None
    checkpoint = Checkpoint.objects.filter(turn=turn).only("answer", "state").first()
    state = TurnState(**_fields(turn, checkpoint))
    asked = user_text_so_far(conversation_id)
    if checkpoint is None or not checkpoint.state:
        return state, "", (), asked
    reader = reader_of(conversation_id)
    sources = [
        replace(passage, ref=ref)
        for ref, url in checkpoint.state["sources"]
        for passage in stores.read(url, reader).passages
    ]
    return state, checkpoint.answer, sources, asked


def _fields(turn: Turn, checkpoint: Checkpoint | None) -> dict[str, Any]:
    """Return the fields of a state: those of the turn, and those of its checkpoint where it has one already."""
    fields = {
        "id": turn.pk,
        "conversation_id": turn.conversation_id,
        "owner_id": turn.conversation.owner_id,
        "conversation": turn.conversation,
        "number": turn.number,
        "question": eventlog.question_of(turn),
        "attachments": attached_to(turn),
        "model": turn.model,
        "model_label": turn.model_label,
        "compared_with": turn.compared_with_id,
        "is_beside": turn.is_beside,
        "started_at": turn.started_at,
        "resumed_at": turn.resumed_at,
    }
    if checkpoint is None or not checkpoint.state:
        return fields
    form: dict[str, Any] = checkpoint.state
    return fields | {
        "seq": form["seq"],
        "tail_n": form["tail_n"],
        "model": form["model"],
        "status_text": form["status"],
        "reads": form["reads"],
        "thought_ms": form.get("thought_ms"),
        "retry_at": form.get("retry_at"),
        "steps": [LiveStep.from_json(step) for step in form["steps"]],
        "approval": step_from_json(waiting) if (waiting := form.get("approval")) else None,
        "history_cut": form.get("history_cut", ""),
        "answer_chars": len(checkpoint.answer),
        "thinking_chars": form["thinking_chars"],
    }
