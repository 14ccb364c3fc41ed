"""Models of every dialect behind the strict upstream, and a conversation with one: asked, cut, stopped, killed.

Each reply has text of its own, so that the upstream can tell whose thinking comes back.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.db import OperationalError

from chat.models import Conversation, ModelProfile, Turn
from chat.turns import finish
from chat.turns.manager import TurnManager
from chat.validation import Message
from reasoning.replay.dialects import PRESETS, dialect_named
from replay_contract_server.fixture import ContractHandle
from tests.chat.asking import ask
from tests.factories import abandon, save_checkpoint

Reply = dict[str, Any]
ROUND_TRIP = PRESETS["kimi"].reasoning
LONG = "as the filing says at some length, "


@dataclass(frozen=True, slots=True)
class Kind:
    """A model of the contract server and its dialect."""

    dialect: str
    model: str

    @property
    def speaks_responses(self) -> bool:
        return self.dialect == "responses-strict"

    @property
    def needs_reasoning(self) -> bool:
        """Whether a request without the thinking of its calls is refused."""
        return self.dialect in ("kimi", "kimi-preserved", "deepseek-v3.2", "deepseek-v4")

    @property
    def takes_tools(self) -> bool:
        return dialect_named(self.dialect).takes_tools


KINDS = {
    kind.model: kind
    for kind in (
        Kind("openai-chat", "plain-model"),
        Kind("strict-chat", "strict-model"),
        Kind("kimi", "kimi-k2-thinking"),
        Kind("kimi-preserved", "kimi-k2.7-code"),
        Kind("deepseek-r1", "deepseek-r1"),
        Kind("deepseek-v3.2", "deepseek-v3.2"),
        Kind("deepseek-v4", "deepseek-v4-pro"),
        Kind("glm-preserved", "glm-4.7"),
        Kind("vllm", "qwen3-local"),
        Kind("details", "vendor/model-a"),
        Kind("signed-calls", "signed-model"),
        Kind("responses-strict", "gpt-5-mini"),
        Kind("responses-strict", "gpt-5.4"),
    )
}


class Talk:
    """One conversation over the strict upstream, and the words that its models say."""

    def __init__(self, upstream: ContractHandle, turn_manager: TurnManager, conversation: Conversation) -> None:
        self.upstream = upstream
        self.turn_manager = turn_manager
        self.conversation = conversation
        self.kind = KINDS["plain-model"]
        self._count = 0

    async def choose(self, kind: Kind, **fields: Any) -> None:
        """Switch the conversation to this model."""
        self.kind = kind
        values = {
            "base_url": self.upstream.base_url,
            "model": kind.model,
            "dialect": kind.dialect,
            "api": "responses" if kind.speaks_responses else "chat",
            "context_limit": 200_000,
            "reasoning": dict(ROUND_TRIP),
            **fields,
        }
        name = kind.model.replace("/", "-")
        profile, _ = await ModelProfile.objects.aupdate_or_create(name=name, defaults=values)
        await Conversation.objects.filter(pk=self.conversation.pk).aupdate(profile=profile)

    async def set(self, **layer: Any) -> None:
        """Replace the conversation's ``reasoning.*`` settings."""
        values = {f"reasoning.{name}": value for name, value in layer.items()}
        await Conversation.objects.filter(pk=self.conversation.pk).aupdate(reasoning=values)

    def step(self, *, calls: int = 1, text: str = "", **more: Any) -> Reply:
        """Return a reply that thinks and calls tools."""
        reply = {**self._thinking(), **more}
        made = [{"name": "searchFilings", "arguments": f'{{"query":  "n{self._count}.{n}"}}'} for n in range(calls)]
        return {"tool_calls": made, **({"content": text} if text else {}), **reply}

    def answer(self, *, text: str = "", **more: Any) -> Reply:
        """Return a reply that thinks and answers."""
        thinking = self._thinking()
        return {"content": text or f"Answer number {self._count}, in so many words.", **thinking, **more}

    def looked_up(self, *, calls: int = 1) -> list[Reply]:
        """Return a step and an answer; of a model that is offered no tools, an answer alone."""
        return [self.step(calls=calls), self.answer()] if self.kind.takes_tools else [self.answer()]

    def loop(self) -> list[Reply]:
        """Return three steps and an answer; the second step speaks and calls twice. Without tools: an answer alone."""
        if not self.kind.takes_tools:
            return [self.answer()]
        return [self.step(), self.step(calls=2, text=f"Let me see again ({self._count})."), self.step(), self.answer()]

    async def ask(self, *replies: Reply, text: str = "") -> Turn:
        self.upstream.script(replies)
        return await ask(self.conversation, text or f"Question {self._count}?")

    async def stop(self, *replies: Reply) -> Turn:
        """Ask, and stop as soon as a reply stalls. Its connection is closed; the turn may have ended before."""
        async with _StalledTurn(self, replies) as turn:
            await self.turn_manager.stop(self.conversation.pk)
            await self.turn_manager.wait_until_finished(self.conversation.pk, turn.pk)
        return turn

    async def kill(self, *replies: Reply, after: str = "") -> Turn:
        """Ask, and let the process die as soon as a reply stalls: no write comes after its last checkpoint.

        ``after``: text that pages have been sent by then.
        """
        async with _StalledTurn(self, replies) as turn:
            live = self.turn_manager.live(self.conversation.pk)
            assert live is not None
            for _try in range(1500):
                if after in live.published_answer:
                    break
                await asyncio.sleep(0.02)
            shown = {"answer": live.published_answer, "thinking": live.thinking}
            await database_sync_to_async(save_checkpoint)(turn, **shown)
            with dead_database():
                await self.turn_manager.stop(self.conversation.pk)
                await self.turn_manager.wait_until_finished(self.conversation.pk, turn.pk)
        return turn

    def _thinking(self) -> Reply:
        self._count += 1
        reply: Reply = {"reasoning": f"Thought number {self._count}.", "chunk": "whole"}
        if self.kind.dialect == "details":
            text = {"type": "reasoning.text", "text": reply["reasoning"], "signature": f"sig-{self._count}", "index": 0}
            sealed = {"type": "reasoning.encrypted", "data": f"sealed-{self._count}", "format": "x-v1", "index": 1}
            reply["reasoning_details"] = [text, sealed]
        return reply


class _StalledTurn:
    """A turn whose newest reply stalls at the gate ``held``; on exit the upstream has seen the client disconnect."""

    def __init__(self, talk: Talk, replies: tuple[Reply, ...]) -> None:
        self._talk = talk
        self._count = replies

    async def __aenter__(self) -> Turn:
        talk = self._talk
        talk.upstream.script(self._count)
        accepted = await talk.turn_manager.submit(talk.conversation.pk, Message("Go on?"))
        await asyncio.to_thread(talk.upstream.wait_for, held="held")
        self._serial = next(stream["serial"] for stream in talk.upstream.open_streams() if stream["held"] == "held")
        return await Turn.objects.aget(pk=accepted.turn_id)

    async def __aexit__(self, *_error: object) -> None:
        await asyncio.to_thread(self._talk.upstream.wait_for, closed=self._serial)


def stalled(reply: Reply, at: int) -> Reply:
    """Return the reply with a stall before event ``at``."""
    return {**reply, "faults": [{"kind": "stall", "at": f"event:{at}", "name": "held"}]}


def cut(reply: Reply, at: int) -> Reply:
    """Return the reply with the connection lost before event ``at``, once."""
    return {**reply, "faults": [{"kind": "disconnect", "at": f"event:{at}", "mode": "rst"}]}


@contextmanager
def dead_database() -> Iterator[None]:
    """Let nothing that a turn would write at its end reach the database, as if its process had been killed."""

    async def gone(*_args: Any, **_more: Any) -> None:
        raise OperationalError("the process is dead")

    with pytest.MonkeyPatch.context() as patch:
        for name in ("chat.turns.run.retry_on_db_outage", "chat.turns.manager.retry_on_db_outage"):
            patch.setattr(name, gone)
        yield


async def restart() -> int:
    """Start again after a kill; return how many turns were left running."""
    async for turn in Turn.objects.filter(status="running"):
        await database_sync_to_async(abandon)(turn)
    return len((await database_sync_to_async(finish.recover_abandoned_turns)()).ended)
