"""Canaries in every private channel, searched for in all that a person is sent and in all that the server keeps.

The bytes sent: bodies, socket frames, the page. What is kept: the database file with its journal, and both streams of
the server's output; ``audit_storage`` looks there as well. Ui L1, L2; product, Nothing leaks.
"""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import MakeSite
from tests.browser.people import Person, Visit
from tests.browser.sites import Site
from tests.browser.upstream import calls, opening, reply, says, thinks, waits
from tests.contract_server.fixture import ContractHandle
from tests.frame_words import heard

THINKING_TAIL = "canary-of-the-thinking-tail"
SCRATCHPAD = "canary-of-the-scratchpad"
SECRET = "sk-proj-Ca4naryOfTheArguments7Wq2Zx9Lm3Rt8"
PASSWORD = "canary-Pass-w0rd-in-the-query"
CANARIES = (THINKING_TAIL, SCRATCHPAD, SECRET, PASSWORD)
LONG_THOUGHT = "Weighing one clause against another. " * 60 + THINKING_TAIL
REFUSED = json.dumps({"query": "covenants", "api_key": SECRET})  # the tool takes no such argument
TAKEN = json.dumps({"query": f"debt covenants password={PASSWORD}"})  # and says back what it searched for


@pytest.fixture
def site(own_site: MakeSite, model: ContractHandle) -> Site:
    note = f"\n\n<scratchpad>\n{SCRATCHPAD}\n</scratchpad>\n"
    model.script(
        [
            reply(
                thinks("Now. "), waits("opened"), thinks(*_cut(LONG_THOUGHT)), calls("searchFilings", *_cut(REFUSED))
            ),
            reply(calls("searchFilings", *_cut(TAKEN), id_="call_2")),
            reply(thinks("Done."), says(opening(), *_cut("The covenants are in Item 7." + note))),
        ]
    )
    return own_site(OPENAI_BASE_URL=model.base_url, REASONING_SCRATCHPAD_ENABLED="true")


def _cut(text: str, size: int = 11) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def _everything_done(visit: Visit, site: Site, model: ContractHandle) -> Person:
    """Ask, watch the thinking, open whatever opens, copy whatever copies, reload, and go through the other pages."""
    demo = visit(site)
    demo.watch.keep_bodies(demo.page)
    demo.starts_chat()
    card = demo.asks("What do the covenants say?")
    card.opens_thinking()
    model.release("opened")
    expect(card.ends().thought).to_contain_text("…(truncated)")
    for name in ("Copy trace", "Copy"):
        card.root.get_by_role("button", name=name, exact=True).click()
        expect(card.root.get_by_role("button", name="Copied")).to_be_visible()
        expect(card.root.get_by_role("button", name="Copied")).to_be_hidden()
    card.opens_trace()
    expect(card.steps.first).to_contain_text("••• hidden (key)")
    expect(card.steps.nth(1)).to_contain_text("[redacted]")
    demo.reasoning_switch.click()
    expect(card.summary).to_have_count(0)
    demo.reasoning_switch.click()
    expect(card.summary).to_be_visible()
    demo.page.reload()
    expect(card.thought).to_contain_text("…(truncated)")
    return demo


def _sent(demo: Person) -> bytes:
    pieces = [heard(demo.watch.frames).encode(), *demo.watch.bodies]
    clipboard = demo.page.evaluate("() => navigator.clipboard.readText()")
    storage = demo.page.evaluate("() => JSON.stringify([{...localStorage}, {...sessionStorage}, document.title])")
    return b"\n".join([*pieces, demo.page.content().encode(), clipboard.encode(), storage.encode()])


def _found(kept: bytes) -> list[str]:
    return [canary for canary in CANARIES if canary.encode() in kept]


def test_no_canary_is_sent_stored_or_logged(visit: Visit, site: Site, model: ContractHandle) -> None:
    demo = _everything_done(visit, site, model)

    sent = _sent(demo)
    assert b"Weighing one clause" in sent
    assert b"searchFilings" in sent
    assert _found(sent) == []
    running, output = site.stored_bytes(), site.output()
    assert b"The covenants are in Item 7." in running
    assert _found(running) == []
    site.stop()
    assert _found(site.stored_bytes()) == []
    assert "turn ended" in output
    assert _found(site.output().encode()) == []
    assert "Nothing found." in site.audit(*CANARIES)


@pytest.mark.slow
def test_raw_tool_results_go_to_the_model_alone(visit: Visit, site: Site, model: ContractHandle) -> None:
    demo = _everything_done(visit, site, model)

    raw = model.requests()[2]["body"]["messages"][-1]
    passages = [passage["text"] for passage in json.loads(raw["content"])["passages"]]
    long_ones = [text for text in passages if len(text) > 400]
    assert raw["role"] == "tool"
    assert long_ones
    assert PASSWORD in raw["content"]
    sent = _sent(demo)
    assert [text for text in long_ones if text[-80:].encode() in sent] == []


def test_administrator_sees_the_scratchpad_and_it_is_still_nowhere_else(
    visit: Visit, site: Site, model: ContractHandle
) -> None:
    model.release("opened")
    admin = visit(site, "admin")
    admin.starts_chat()
    admin.switches_scratchpad_on()

    card = admin.asks("What do the covenants say?")
    expect(card.scratchpad).to_contain_text(SCRATCHPAD)
    card.ends()
    admin.page.reload()
    expect(card.answer).to_be_visible()

    assert SCRATCHPAD not in admin.page.content()
    assert _found(site.stored_bytes()) == []
    assert _found(site.output().encode()) == []
    site.stop()
    assert "Nothing found." in site.audit(*CANARIES)
