"""Whatever a model sends, server-sent events stay sound: whole lines, strict JSON, pieces that make the envelope."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from accounts.models import User
from chat.models import Conversation
from reasoning.stream.tags import has_delimiter
from tests.chat.api_client import EVENTS, client_of, post
from tests.chat.test_bad_input import CASES, KILO, SECRET, strict
from tests.chat.test_bad_input import model as model  # the fixture

pytestmark = pytest.mark.django_db(transaction=True)
KINDS = [
    "a megabyte in one delta",
    "a million <",
    "openers of all kinds, in code",
    "lone surrogates",
    "lone surrogates in a call",
    "null and empty",
    "10,000 objects in one another",
    "numbers that are none",
    "JSON in strings in strings",
    "control characters",
    "a bullet of 100 KB",
]


def read(body: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield events as a strict client takes them: an event line, one data line, a blank line."""
    blocks = body.decode().split("\n\n")
    assert blocks.pop() == ""
    for block in blocks:
        name, data = block.split("\n")
        assert name.startswith("event: ")
        (form,) = strict(f"[{data.removeprefix('data: ')}]".encode())
        yield name.removeprefix("event: "), form


@pytest.mark.parametrize("model", KINDS, indirect=True)
async def test_events_are_sound_and_make_the_envelope(model: None, conversation: Conversation, alice: User) -> None:
    client = await client_of(alice)

    answer = await post(client, conversation, {"text": "Why?"}, **EVENTS)
    body = b"".join([piece async for piece in answer])
    told = list(read(body))
    after = list(read(b"".join([p async for p in await post(client, conversation, {"text": "And?"}, **EVENTS)])))

    *_events, (last, form) = told
    assert (last, form["status"]) == ("done", "complete")
    assert [name for name, _form in told].count("done") == 1
    assert text_of(told, "answer").rstrip() == form["answer"]
    assert not has_delimiter(text_of(told, "answer") + text_of(told, "summary"))
    assert [step for name, step in told if name == "tool_step"] == form["toolTrace"]
    assert SECRET not in json.dumps(told)
    assert after[-1][1]["answer"] == "After."


def text_of(told: list[tuple[str, dict[str, Any]]], channel: str) -> str:
    return "".join(form["text"] for name, form in told if name == "delta" and form["channel"] == channel)


def test_cases_are_those_of_the_page() -> None:
    assert set(KINDS) <= set(CASES)
    assert len(CASES["a megabyte in one delta"][0]["content"]) == KILO * KILO
