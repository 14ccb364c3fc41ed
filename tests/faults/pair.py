"""The same campaign with two processes over one database and one Redis: either is killed, the other goes on.

Every conversation is open in both. The one that lives ends what the dead one ran, says so on its pages, and answers
what waited; only then does the dead one come back.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from tests.contract_server.fixture import ContractHandle
from tests.faults import evidence
from tests.faults.campaign import Campaign, Tally, conversations_of
from tests.faults.site import DoomedSite
from tests.faults.talk import Question
from tests.faults.visitor import PATIENCE_S, Visitor

FAST = {"LEASE_HEARTBEAT_S": "1", "LEASE_EXPIRY_S": "10"}
SETTLE_S = 0.05  # a commit that was sent before the freeze is carried out
LOOK_AGAIN_S = 0.02


class PairCampaign(Campaign):
    """See the module. Both sites have the environment ``FAST``, and neither runs."""

    def __init__(
        self,
        pair: tuple[DoomedSite, DoomedSite],
        model: ContractHandle,
        seed: int,
        report: Callable[[Tally], None] = lambda _tally: None,
    ) -> None:
        super().__init__(pair[0], model, seed, report)
        self._pair = pair

    def run(self, kills: int) -> Tally:
        """Kill one of them so many times. Raises AssertionError saying what was lost."""
        self._pair[1].start()
        return super().run(kills)

    async def _until_killed(
        self, n: int, questions: Sequence[Question], moment_s: float
    ) -> tuple[list[Question], list[evidence.Left]]:
        self._doomed, self._site = self._chance.sample(self._pair, 2)
        chats = conversations_of(questions)
        async with Visitor(self._doomed, chats) as dying, Visitor(self._site, chats) as living:
            visitors = (dying, living)
            for place, question in enumerate(questions):
                await visitors[(place + n) % 2].send(question)
            await asyncio.sleep(moment_s)
            left = await self._kill()
            await dying.until_gone()
            await self._until_told(living, left)
            sent = [(visitors[(place + n) % 2], question) for place, question in enumerate(questions)]
            return [one for visitor, one in sent if visitor.acknowledged_of([one])], left

    async def _kill(self) -> list[evidence.Left]:
        """Kill; return what was left, read in the moment between, before the other can take it over."""
        self._doomed.freeze()
        await asyncio.sleep(SETTLE_S)
        left = await asyncio.to_thread(evidence.left_by, self._doomed, self._doomed.pid)
        self._doomed.kill()
        return left

    async def _until_told(self, living: Visitor, left: Sequence[evidence.Left]) -> None:
        """Wait until the pages that are still open say what was interrupted."""
        killed_at = time.monotonic()
        until = killed_at + PATIENCE_S
        while untold := [one.turn_id for one in left if not living.is_told_of(one.turn_id, "interrupted")]:
            assert time.monotonic() < until, f"not told: {untold}; {self._site.output()[-2000:]}"
            await asyncio.sleep(LOOK_AGAIN_S)
        if left:
            self.tally.told_after_s.append(round(time.monotonic() - killed_at, 2))

    def _come_back(self) -> None:
        for site in self._pair:
            evidence.check_privacy(site)

    def _round_is_over(self) -> None:
        self._doomed.start()
