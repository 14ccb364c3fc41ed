"""The state of a turn that runs in another process, as its last checkpoint has it."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from channels.db import database_sync_to_async

from chat import eventlog
from chat.eventlog.questions import user_text_so_far
from chat.eventlog.read import running_turn
from chat.filings.search import read_passages
from chat.html import BlockSplitter, arender
from chat.live.blocks import render_blocks
from chat.live.state import LiveStep, TurnState
from chat.models import Checkpoint
from chat.user_text import UserText
from reasoning.citations import Source


async def read_running(conversation_id: uuid.UUID) -> TurnState | None:
    """Return the running turn of a conversation as it is stored. Events with a greater ``seq`` continue it."""
    found = await database_sync_to_async(_read)(conversation_id)
    if found is None:
        return None
    state, answer, sources, asked = found
    splitter = BlockSplitter()
    if blocks := splitter.feed(answer):
        html, _numbers = await arender(render_blocks, blocks, sources, {}, asked)
        state.frozen = [str(html)]
    state.tail = splitter.tail
    return state


def _read(conversation_id: uuid.UUID) -> tuple[TurnState, str, Sequence[Source], UserText] | None:
    turn = running_turn(conversation_id)
    if turn is None:
        return None
    state = TurnState(
        id=turn.pk,
        conversation_id=conversation_id,
        owner_id=turn.conversation.owner_id,
        conversation=turn.conversation,
        number=turn.number,
        question=eventlog.question_of(turn),
        model=turn.model,
        started_at=turn.started_at,
    )
    checkpoint = Checkpoint.objects.filter(turn=turn).only("answer", "state").first()
    if checkpoint is None or not checkpoint.state:
        return state, "", (), user_text_so_far(conversation_id)
    form: dict[str, Any] = checkpoint.state
    state.seq, state.tail_n, state.model = form["seq"], form["tail_n"], form["model"]
    state.status_text, state.reads = form["status"], form["reads"]
    state.steps = [LiveStep.from_json(step) for step in form["steps"]]
    state.answer_chars = len(checkpoint.answer)
    state.thinking_chars = form["thinking_chars"]
    sources = [source for ref, url in form["sources"] for source in _source(ref, url)]
    return state, checkpoint.answer, sources, user_text_so_far(conversation_id)


def _source(ref: int, url: str) -> list[Source]:
    names = ("filing", "company", "date", "period", "section", "anchor", "url", "text", "snippet")
    passages = read_passages(url).passages
    return [Source(ref=ref, **{name: getattr(passage, name) for name in names}) for passage in passages]
