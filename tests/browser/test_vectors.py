"""Every vector in a real card: streaming, finished and reloaded, as answer, question, thinking, arguments and notes.

One pass keeps the page's policy and proves that it never has to refuse anything; the other is without it, so that what
runs would really run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.cards import AnswerCard
from tests.browser.people import Visit
from tests.browser.reader import Reader
from tests.browser.sites import Site
from tests.browser.upstream import Delta, opening, plain, reply, says, thinks, waits
from tests.chat.xss_urls import URLS
from tests.chat.xss_vectors import MARKUP
from tests.contract_server.fixture import ContractHandle

SHOWN_THINKING = 780  # characters; a reader sees no more of it than about this
SHOWN_ARGUMENT = 200
SMALL = 9
# The service that stands in for the model writes UTF-8, which has no halves of a character.
WRITTEN = [vector.encode("utf-8", "ignore").decode() for vector in MARKUP]
LINKS = [text for url in URLS for text in (f"[x]({url})", f"[x](<{url}>)", f"<{url}>")]
REFERENCES = [f"[x{n}]\n\n[x{n}]: {url}" for n, url in enumerate(URLS)]


def _batches(vectors: Sequence[str], *, most_chars: int, most: int = 40) -> Iterator[list[str]]:
    """Yield the vectors in order, as many at once as fit."""
    batch: list[str] = []
    for vector in vectors:
        if batch and (len("\n".join([*batch, vector])) > most_chars or len(batch) == most):
            yield batch
            batch = []
        batch.append(vector)
    yield batch


def _blocks(vectors: Sequence[str]) -> str:
    """Return markdown with each vector as a block of its own, after a paragraph that shows that it was reached."""
    return (
        "\n\n".join(f"Item {n}.\n\n{_closed(vector)}" for n, vector in enumerate(vectors)) + "\n\nThe end of them all."
    )


def _closed(vector: str) -> str:
    return f"{vector}\n```" if vector.startswith("```") and vector.count("```") == 1 else vector


def _cut(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def _calls(batch: Sequence[str], number: int) -> list[Delta]:
    """Call a tool with the vectors as a value, and with one as a name, which the tool refuses without a search."""
    parts = ["\n".join(part) for part in _batches(batch, most_chars=SHOWN_ARGUMENT)]
    calls = [
        {
            "index": index,
            "id": f"call_{number}_{index}",
            "type": "function",
            "function": {"name": "searchFilings", "arguments": json.dumps({"query": part, batch[0]: part})},
        }
        for index, part in enumerate(parts)
    ]
    return [{"tool_calls": [call]} for call in calls]


def _letters(text: str) -> str:
    return "".join(char for char in text if " " < char <= "~")


def _expect_items(answer: Locator, count: int) -> None:
    expect(answer).to_contain_text("The end")
    expect(answer.get_by_text(re.compile(r"^Item \d+\.$"))).to_have_count(count)


def _everywhere(batch: list[str], number: int) -> list[dict[str, Any]]:
    """Script a turn with these vectors as thinking, arguments, summary and answer."""
    points = [" ".join(part.splitlines()) for part in batch[:4]]
    thought = thinks(*_cut("\n".join(batch), 40))
    return [
        reply(thinks("Now. "), waits(f"opened {number}"), thought, _calls(batch, number)),
        reply(thinks("Done."), says(opening(*points), *_cut(_blocks(batch), 120)), waits(f"seen {number}")),
    ]


def _asks_everywhere(reader: Reader, model: ContractHandle, batch: list[str], number: int) -> AnswerCard:
    """Go through one turn: thinking opened while it comes, the trace after it, the answer before and after its end."""
    card = reader.person.asks("\n".join(batch))
    card.opens_thinking()
    model.release(f"opened {number}")
    expect(card.answer).to_contain_text("The end")
    card.opens_trace()
    reader.finds_nothing()
    model.release(f"seen {number}")
    card.ends()
    _expect_items(card.answer, len(batch))
    return card


@pytest.mark.slow
def test_vectors_stay_text_in_every_part_of_a_card(visit: Visit, connected: Site, model: ContractHandle) -> None:
    batches = list(_batches(WRITTEN, most_chars=SHOWN_THINKING))
    turns = [turn for number, batch in enumerate(batches) for turn in _everywhere(batch, number)]
    model.script([plain("Ready."), *turns])
    reader = Reader(visit(connected))
    reader.begins("Are you ready?")

    for number, batch in enumerate(batches):
        card = _asks_everywhere(reader, model, batch, number)
        reader.finds_nothing()
        assert _letters(card.thought.inner_text())[4:60] == _letters("\n".join(batch))[:56]
        assert _letters(card.steps.first.inner_text()).count("<") > 1
        asked = reader.person.page.locator("[data-role=user] p").last.text_content() or ""
        assert _letters(asked) == _letters("\n".join(batch))
    reader.finds_the_page_unchanged()
    reader.reloads()

    for number, batch in enumerate(batches):
        _expect_items(reader.person.answer(number + 1).answer, len(batch))
    reader.finds_nothing()
    reader.finds_the_page_unchanged()


@pytest.mark.slow
def test_vectors_in_small_pieces_run_nowhere_even_without_a_policy(
    visit: Visit, connected: Site, model: ContractHandle
) -> None:
    batches = list(_batches([*WRITTEN, *LINKS, *REFERENCES], most_chars=4000, most=75))
    pieces = [_cut(_blocks(batch), SMALL) for batch in batches]
    model.script([plain("Ready."), *(reply(says(opening(), *these)) for these in pieces)])
    reader = Reader(visit(connected, bypass_csp=True))
    reader.begins("Are you ready?")

    for batch in batches:
        card = reader.person.asks("Go on.").ends()
        _expect_items(card.answer, len(batch))
        reader.finds_nothing()
    reader.finds_the_page_unchanged()
    reader.reloads()

    reader.finds_nothing()
    reader.finds_the_page_unchanged()
