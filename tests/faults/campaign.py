"""Ask in several conversations at once, kill a server at a random moment, examine what is left, continue. Repeat.

With one server the same one starts again; with two the other takes over what the dead one ran. The moments are spread
over the length of the replies and drawn by a seed.
"""

import asyncio
import random
import re
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from replay_contract_server.fixture import ContractHandle
from tests.faults.questions import PAD, THOUGHT, Question, length_s, script_of
from tests.faults.site import DoomedSite
from tests.faults.visitor import TIMEOUT_S, Visitor

CONVERSATIONS = 3
ROUNDS_EACH = 6  # with the same conversations, whose history grows
POLL_INTERVAL_S = 0.1
SETTLE_S = 0.05  # a commit that was sent before the freeze is carried out
AFTER_END_S = 0.5
FAST_LEASES = {"LEASE_HEARTBEAT_S": "1", "LEASE_EXPIRY_S": "10"}


@dataclass(frozen=True, slots=True)
class LoggedTurn:
    """One turn of the log: its row, and the public halves of its events with their types, in order."""

    id: str
    conversation_id: str
    status: str
    events: tuple[tuple[str, Mapping[str, Any]], ...]

    @property
    def question(self) -> str:
        return str(next(public["text"] for kind, public in self.events if kind == "user_message"))

    @property
    def answer(self) -> str:
        return "\n\n".join(public["text"] for kind, public in self.events if kind == "assistant_message")


class KillCampaign:
    """``sites``: one or two servers over one database, not running. ``interrupted`` counts turns that a kill cut."""

    def __init__(self, sites: Sequence[DoomedSite], model: ContractHandle, seed: int) -> None:
        self.interrupted = 0
        self._sites = sites
        self._model = model
        self._chance = random.Random(seed)  # noqa: S311 - no secret
        self._asked: list[Question] = []

    def run(self, kills: int) -> None:
        """Kill a server so many times. Raises AssertionError saying what was lost."""
        try:
            for site in self._sites:
                site.start()
            shares = [(n + self._chance.random()) / kills for n in range(kills)]
            self._chance.shuffle(shares)
            for n, share in enumerate(shares):
                asyncio.run(self._round(n, share))
            for site in self._sites:
                site.audit(PAD, THOUGHT)
        finally:
            for site in self._sites:
                site.stop()

    async def _round(self, n: int, share: float) -> None:
        # 1. One paced question in each conversation, in some a second one that is queued.
        first = n // ROUNDS_EACH * CONVERSATIONS
        chats = self._sites[0].conversations[first : first + CONVERSATIONS]
        questions = [Question(f"r{n}-{i}", chat, uses_tool=(i + n) % 2 == 0) for i, chat in enumerate(chats)]
        questions += [Question(f"r{n}-{i}-queued", chat, is_quick=True) for i, chat in enumerate(chats) if i]
        self._asked += questions
        self._model.script(script_of(questions))
        # 2. Ask at all servers by turns and kill one.
        doomed, *others = self._chance.sample(self._sites, len(self._sites))
        async with AsyncExitStack() as stack:
            visitors = [await stack.enter_async_context(Visitor(site, chats)) for site in (doomed, *others)]
            sent_by = {question: visitors[(i + n) % len(visitors)] for i, question in enumerate(questions)}
            for question, visitor in sent_by.items():
                await visitor.send(question)
            await asyncio.sleep(share * (length_s(questions) + AFTER_END_S))
            doomed.freeze()
            await asyncio.sleep(SETTLE_S)
            checkpoints = await asyncio.to_thread(checkpoints_of, doomed)
            doomed.kill()
            await visitors[0].until_closed()
            # Open pages of the other server say what was interrupted.
            others_pages = visitors[1:]
            await until(
                lambda: all(page.has_seen_end(turn, "interrupted") for page in others_pages for turn in checkpoints),
                doomed,
            )
            acknowledged = [question for question, visitor in sent_by.items() if visitor.has_acknowledged(question)]
        self.interrupted += len(checkpoints)
        # 3. Nothing acknowledged is lost, and nothing private is stored.
        for site in self._sites:
            check_privacy(site)
        if not others:
            doomed.start()
        living = others[0] if others else doomed
        stored = {text for (text,) in living.rows("SELECT text FROM chat_queuedmessage")}
        stored |= {turn.question for turn in logged_turns(living)}
        lost = [question.name for question in acknowledged if question.text not in stored]
        assert not lost, f"acknowledged and lost: {lost}"
        # 4. Pages offer to continue; a page that returns sends again; every conversation can be continued.
        after = [Question(f"r{n}-{chat}-after", chat, is_quick=True) for chat in chats]
        self._asked += after
        self._model.script(script_of([*questions, *after], pace_ms=0))
        async with Visitor(living, chats) as visitor:
            await check_pages(visitor, [turn for turn in logged_turns(living) if turn.id in checkpoints])
            for question in (*questions, *after):
                await visitor.send(question)
            count = [(len(self._asked),)]
            ended = "SELECT count(*) FROM chat_turn WHERE status <> 'running'"
            await until(lambda: living.rows(ended) == count, living)
        turns = logged_turns(living)
        check_form(turns)
        check_answers(turns, self._asked)
        check_interrupted(turns, checkpoints)
        assert self._model.refusals() == []
        if others:
            doomed.start()


async def until(holds: Callable[[], bool], site: DoomedSite) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + TIMEOUT_S
    while not await asyncio.to_thread(holds):
        assert time.monotonic() < deadline, site.output()[-2000:]
        await asyncio.sleep(POLL_INTERVAL_S)


def checkpoints_of(site: DoomedSite) -> dict[str, str]:
    """Return the turns that this process runs, each with the answer in its last checkpoint."""
    query = (
        "SELECT t.id, c.answer, t.worker FROM chat_turn t LEFT JOIN chat_checkpoint c ON c.turn_id = t.id "
        "WHERE t.status = 'running'"
    )
    rows = site.rows(query)
    return {turn_id: answer or "" for turn_id, answer, worker in rows if int(worker.split(":")[-2]) == site.pid}


def logged_turns(site: DoomedSite) -> list[LoggedTurn]:
    """Return every turn of the log. Sequence numbers have no gap."""
    turns = site.rows("SELECT id, conversation_id, status FROM chat_turn ORDER BY conversation_id, number")
    rows = site.rows("SELECT conversation_id, turn_id, seq, type, public FROM chat_event ORDER BY conversation_id, seq")
    numbers: defaultdict[str, list[int]] = defaultdict(list)
    events: defaultdict[str, list[tuple[str, Mapping[str, Any]]]] = defaultdict(list)
    for conversation_id, turn_id, seq, kind, public in rows:
        numbers[conversation_id].append(seq)
        events[turn_id].append((kind, public))
    for conversation_id, found in numbers.items():
        assert found == list(range(1, len(found) + 1)), f"seq of {conversation_id}: {found}"
    return [LoggedTurn(turn_id, owner, status, tuple(events[turn_id])) for turn_id, owner, status in turns]


async def check_pages(visitor: Visitor, interrupted: Sequence[LoggedTurn]) -> None:
    """The card of an interrupted turn offers to ask again, and to continue where there is a part of an answer."""
    for turn in interrupted:
        page = await visitor.page(turn.conversation_id)
        card = page.split(f'id="m-{turn.id}"')[1].split("</article>")[0]
        assert 'data-status="interrupted"' in card
        assert "/retry/" in card
        assert ("/continue/" in card) == bool(turn.answer), card


def check_form(turns: Sequence[LoggedTurn]) -> None:
    """Each turn begins with its question, ends once and last, and has a result for every call."""
    for turn in turns:
        kinds = [kind for kind, _public in turn.events]
        assert (kinds[0], kinds.count("user_message")) == ("user_message", 1), f"{turn.id}: {kinds}"
        assert (kinds[-1], kinds.count("turn_end")) == ("turn_end", 1), f"{turn.id}: {kinds}"
        assert turn.events[-1][1]["status"] == turn.status, f"{turn.id}: {turn.status}"
        assert turn.status in ("completed", "interrupted"), f"{turn.id}: {turn.status}"
        calls = [public["call_id"] for kind, public in turn.events if kind == "tool_call"]
        results = [public["call_id"] for kind, public in turn.events if kind == "tool_result"]
        assert sorted(calls) == sorted(results), f"{turn.id}: calls {calls}, results {results}"


def check_answers(turns: Sequence[LoggedTurn], questions: Sequence[Question]) -> None:
    """Each question is in the log once; its answer is whole, or a beginning of the whole."""
    by_text = {question.text: question for question in questions}
    found = [turn.question for turn in turns]
    assert sorted(found) == sorted(by_text), f"lost: {set(by_text) - set(found)}, asked: {len(found)}"
    for turn in turns:
        whole, answer = squeezed(by_text[turn.question].whole_answer), squeezed(turn.answer)
        is_right = answer == whole if turn.status == "completed" else whole.startswith(answer)
        assert is_right, f"{turn.id}: {turn.answer!r}"


def check_interrupted(turns: Sequence[LoggedTurn], checkpoints: Mapping[str, str]) -> None:
    """A turn of a dead server is interrupted, with all that its checkpoint contained."""
    by_id = {turn.id: turn for turn in turns}
    for turn_id, checkpoint in checkpoints.items():
        turn = by_id[turn_id]
        assert turn.status == "interrupted", f"{turn.id}: {turn.status}"
        assert squeezed(turn.answer).startswith(squeezed(checkpoint)), f"{turn.id}: {turn.answer!r}"


def check_privacy(site: DoomedSite) -> None:
    """No private text is stored anywhere, encrypted thinking aside."""
    stored = site.stored_everywhere()
    for canary in (PAD, THOUGHT):
        assert canary.encode() not in stored, f"{canary} is stored"


def squeezed(text: str) -> str:
    """Return a text without its white space, which is trimmed where an answer is cut."""
    return re.sub(r"\s+", "", text)
