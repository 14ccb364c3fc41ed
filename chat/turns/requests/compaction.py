"""Make room in a history that is too long for the model: summarise older history, or leave out the oldest of it.

A summary is accepted only if it has text, ended normally and really shrinks the request. Where there is none, the
oldest turns are left out. Either is an event of the turn, and its card says so. The summariser gets no tools and no
reasoning (replay 2.8, product 23).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from channels.db import database_sync_to_async

from chat import eventlog
from chat.conversations import model_choice
from chat.models import Conversation, Turn
from chat.providers.base import Provider
from chat.turns.requests import planning
from chat.turns.requests.side_request import ask_aside
from reasoning.events import Compaction, Event, HistoryCut
from reasoning.prompt import SUMMARISER
from reasoning.replay.compaction import choose_border, choose_cut, is_worth_it, summary_tokens, transcript
from reasoning.replay.history import read_history
from reasoning.replay.plan import EgressPlan, RequestTarget
from reasoning.replay.tokens import text_tokens

logger = logging.getLogger(__name__)
# About 3,000 tokens: what is longer was not summarised.
MAX_SUMMARY_CHARS = 12_000


@dataclass(slots=True)
class Compactor:
    """Makes room for the requests of one turn. A summary that was of no use is not asked for again."""

    turn: Turn
    chosen: model_choice.ModelChoice
    cut: HistoryCut = ""  # what became of earlier messages
    _tried: set[int] = field(default_factory=set)  # borders

    async def make_room(self, provider: Provider, plan: EgressPlan, *, is_overflow: bool = False) -> bool:
        """Shorten the history for the request of ``plan``; say whether it is shorter now. Never raises ProviderError.

        ``is_overflow``: the service refused that request as too long, whatever its size was estimated to be.
        """
        if self.chosen.config.is_offline:
            return False  # it reads the question alone
        read = partial(self._read, provider)
        target, events = await database_sync_to_async(read)()
        border = choose_border(events, target, is_overflow=is_overflow)
        # Once for each border: the model would be sent the same text again.
        if border is not None and border not in self._tried:
            self._tried.add(border)
            summary = await _summary(provider, target, events, border, self.chosen.thinking_format)
            compaction = self._event(events, border, summary=summary)
            accept = partial(self._accept, target, compaction, partial(is_worth_it, plan))
            is_accepted = bool(summary) and await database_sync_to_async(accept)()
            self._log(border, accepted=is_accepted)
            if is_accepted:
                self.cut = self.cut or "summarised"
                return True
        # There is no summary, or it didn't help enough.
        cut = choose_cut(events, target, plan, is_overflow=is_overflow)
        if cut is None:
            return False
        compaction = self._event(events, cut, summary=read_history(events).summary, left_out=True)
        # A service that is sent nothing of it would get the same request again.
        accept = partial(self._accept, target, compaction, lambda after: after.body != plan.body)
        is_accepted = await database_sync_to_async(accept)()
        self._log(cut, left_out=is_accepted)
        self.cut = "left out" if is_accepted else self.cut
        return bool(is_accepted)

    def _read(self, provider: Provider) -> tuple[RequestTarget, Sequence[Event]]:
        target = planning.target_of(self.chosen, model=provider.model, identity=provider.identity)
        return target, eventlog.history(self.turn.conversation_id, of=self.turn)

    def _event(self, events: Sequence[Event], border: int, *, summary: str, left_out: bool = False) -> Compaction:
        seq, turn = events[-1].seq + 1, self.turn.public_id
        return Compaction(to_seq=border, summary=summary, left_out=left_out, seq=seq, turn=turn)

    def _accept(self, target: RequestTarget, compaction: Compaction, is_useful: Callable[[EgressPlan], bool]) -> bool:
        """Store a compaction if the request that follows from it is of use."""
        conversation = Conversation.all_objects.select_related("owner").get(pk=self.turn.conversation_id)
        after = planning.plan_from_log(conversation, self.chosen, target, and_then=(compaction,))
        if not is_useful(after):
            return False
        eventlog.append(self.turn, [compaction])
        return True

    def _log(self, border: int, **outcome: bool) -> None:
        logger.info("compaction", extra={"turn": self.turn.public_id, "to_seq": border, **outcome})


async def _summary(
    provider: Provider, target: RequestTarget, events: Sequence[Event], border: int, thinking_format: str
) -> str:
    """Return the model's summary; empty where it gave none that is usable."""
    text = transcript(events, border, target, overhead_tokens=text_tokens(SUMMARISER))
    most = summary_tokens(target)
    return await ask_aside(
        provider,
        target,
        SUMMARISER,
        text,
        max_output_tokens=most,
        max_chars=MAX_SUMMARY_CHARS,
        thinking_format=thinking_format,
    )
