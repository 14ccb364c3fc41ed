"""A campaign: ask in several conversations at once, kill the server, start it again, look, ask on. Many times.

The moments are spread over the length of the replies and drawn by a seed; what happens at one is up to the machine.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tests.contract_server.fixture import ContractHandle
from tests.faults import evidence
from tests.faults.site import DoomedSite
from tests.faults.talk import Question, length_s, script_of
from tests.faults.visitor import PATIENCE_S, Visitor

CONVERSATIONS = 3
ROUNDS_EACH = 6  # with the same conversations, whose history grows
LOOK_AGAIN_S = 0.1
AFTER_END_S = 0.5


@dataclass
class Tally:
    """Figures of a campaign."""

    kills: int = 0
    sent: int = 0
    acknowledged: int = 0
    interrupted: int = 0
    with_text: int = 0
    queued: int = 0
    moments_s: list[float] = field(default_factory=list)
    told_after_s: list[float] = field(default_factory=list)  # how long a page of another process knew nothing


class Campaign:
    """See the module. ``site`` is not running; at the end it is."""

    def __init__(
        self, site: DoomedSite, model: ContractHandle, seed: int, report: Callable[[Tally], None] = lambda _tally: None
    ) -> None:
        self.tally = Tally()
        self._site = site
        self._model = model
        self._chance = random.Random(seed)  # noqa: S311 - no secret
        self._report = report
        self._asked: list[Question] = []

    def run(self, kills: int) -> Tally:
        """Kill the server so many times. Raises AssertionError saying what was lost."""
        self._site.start()
        shares = [(n + self._chance.random()) / kills for n in range(kills)]
        self._chance.shuffle(shares)
        for n, share in enumerate(shares):
            self._round(n, share)
            self._report(self.tally)
        return self.tally

    def _round(self, n: int, share: float) -> None:
        questions = list(self._questions(n))
        self._asked += questions
        self._model.script(script_of(questions))
        moment_s = share * (length_s(questions) + AFTER_END_S)
        acknowledged, left = asyncio.run(self._until_killed(n, questions, moment_s))
        self._count(questions, acknowledged, left, moment_s)
        self._come_back()
        asyncio.run(self._afterwards(n, questions, acknowledged, left))
        self._round_is_over()

    def _come_back(self) -> None:
        """See to it that a server answers again."""
        evidence.check_privacy(self._site)
        self._site.start()

    def _round_is_over(self) -> None:
        """Nothing is to be done where there is one server only."""

    def _questions(self, n: int) -> Iterator[Question]:
        """Yield one paced question for each conversation, and for some a second one that will wait."""
        first = n // ROUNDS_EACH * CONVERSATIONS
        for place, conversation_id in enumerate(self._site.conversations[first : first + CONVERSATIONS]):
            yield Question(f"r{n}-{place}", conversation_id, uses_tool=(place + n) % 2 == 0)
            if place:
                yield Question(f"r{n}-{place}-waits", conversation_id, is_quick=True)

    async def _until_killed(
        self, n: int, questions: Sequence[Question], moment_s: float
    ) -> tuple[list[Question], list[evidence.Left]]:
        """Ask, kill, and return what was acknowledged and what was left running."""
        async with Visitor(self._site, conversations_of(questions)) as visitor:
            for question in questions:
                await visitor.send(question)
            await asyncio.sleep(moment_s)
            self._site.kill()
            await visitor.until_gone()
            return visitor.acknowledged_of(questions), evidence.left_by(self._site)

    async def _afterwards(
        self, n: int, questions: Sequence[Question], acknowledged: Sequence[Question], left: Sequence[evidence.Left]
    ) -> None:
        """Look at what is there, send again what a page would, and ask on in every conversation."""
        kept = self._waiting() | {turn.question for turn in evidence.told(self._site)}  # what waits may begin meanwhile
        lost = [question.name for question in acknowledged if question.text not in kept]
        assert not lost, f"acknowledged and lost: {lost}"
        after = [Question(f"r{n}-{one}-after", one, is_quick=True) for one in conversations_of(questions)]
        self._asked += after
        self._model.script(script_of([*questions, *after], pace_ms=0))
        async with Visitor(self._site, conversations_of(questions)) as visitor:
            await self._check_pages(visitor, left)
            await self._ask_on(visitor, [*questions, *after])
        turns = evidence.told(self._site)
        evidence.check_form(turns)
        evidence.check_answers(turns, self._asked)
        evidence.check_interrupted(turns, left)
        assert self._model.refusals() == []

    async def _ask_on(self, visitor: Visitor, questions: Sequence[Question]) -> None:
        """Send all, as a page does that comes back: what was taken before is not asked twice."""
        for question in questions:
            await visitor.send(question)
        await asyncio.to_thread(self._until_answered, len(self._asked))

    def _until_answered(self, count: int) -> None:
        until = time.monotonic() + PATIENCE_S
        pause = threading.Event()
        while not evidence.is_answered(self._site, count):
            assert time.monotonic() < until, self._site.output()[-2000:]
            pause.wait(LOOK_AGAIN_S)

    async def _check_pages(self, visitor: Visitor, left: Sequence[evidence.Left]) -> None:
        """The card of what was interrupted offers to ask again, and to go on where there is something of it."""
        turns = {turn.id: turn for turn in evidence.told(self._site)}
        for one in left:
            turn = turns[one.turn_id]
            page = await visitor.page(turn.conversation_id)
            card = page.split(f'id="m-{one.turn_id}"')[1].split("</article>")[0]
            assert 'data-status="interrupted"' in card
            assert "/retry/" in card
            assert ("/continue/" in card) == bool(turn.answer), card

    def _waiting(self) -> set[str]:
        return {text for (text,) in self._site.rows("SELECT text FROM chat_queuedmessage")}

    def _count(
        self,
        questions: Sequence[Question],
        acknowledged: Sequence[Question],
        left: Sequence[evidence.Left],
        moment_s: float,
    ) -> None:
        self.tally.kills += 1
        self.tally.sent += len(questions)
        self.tally.acknowledged += len(acknowledged)
        self.tally.interrupted += len(left)
        self.tally.with_text += sum(bool(one.checkpoint) for one in left)
        self.tally.queued += len(self._waiting())
        self.tally.moments_s.append(round(moment_s, 2))


def conversations_of(questions: Sequence[Question]) -> list[str]:
    """Return where these are asked, each once."""
    return list(dict.fromkeys(question.conversation_id for question in questions))
