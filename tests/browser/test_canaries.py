"""Canaries in every private channel, searched for in all that a person is sent and all that the server stores.

Sent: bodies, socket frames, the page, its storage, the clipboard. Stored: the database file with its journal, and the
output of the server; ``audit_storage`` looks there as well. Product 3, product 9.
"""

import json

import pytest
from playwright.sync_api import expect

from tests.browser.people import Person
from tests.browser.upstream import calls, opening, reply, says, thinks, waits
from tests.frame_words import heard

THINKING_TAIL = "canary-of-the-thinking-tail"
SCRATCHPAD = "canary-of-the-scratchpad"
SECRET = "sk-proj-Ca4naryOfTheArguments7Wq2Zx9Lm3Rt8"
PASSWORD = "canary-Pass-w0rd-in-the-query"
CANARIES = (THINKING_TAIL, SCRATCHPAD, SECRET, PASSWORD)
LONG_THOUGHT = f"Weighing {SECRET} against another clause. " * 20 + "And one more. " * 100 + THINKING_TAIL
REFUSED = json.dumps({"query": "covenants", "api_key": SECRET})  # the tool has no such argument
ACCEPTED = json.dumps({"query": f"debt covenants password={PASSWORD}"})  # its result repeats the query


def cut(text: str, size: int = 11) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


@pytest.fixture
def site(own_site, model):
    note = f"\n\n<scratchpad>\n{SCRATCHPAD}\n</scratchpad>\n"
    thought = [thinks("Now. "), waits("opened"), thinks(*cut(LONG_THOUGHT))]
    model.script(
        [
            reply(*thought, calls("searchFilings", *cut(REFUSED))),
            reply(calls("searchFilings", *cut(ACCEPTED), id_="call_2")),
            reply(thinks("Done."), says(opening(), *cut("The covenants are in Item 7." + note)), waits("end")),
        ]
    )
    return own_site(OPENAI_BASE_URL=model.base_url, REASONING_SCRATCHPAD_ENABLED="true")


def sent_to(demo: Person) -> bytes:
    storage = demo.page.evaluate("() => JSON.stringify([{...localStorage}, {...sessionStorage}, document.title])")
    texts = [heard(demo.watch.frames), demo.page.content(), demo.clipboard(), storage]
    return b"\n".join([*demo.watch.bodies, *(text.encode() for text in texts)])


def found(stored: bytes) -> list[str]:
    return [canary for canary in CANARIES if canary.encode() in stored]


@pytest.mark.slow
def test_no_canary_is_sent_stored_or_logged(visit, site, model):
    model.release("end")
    demo = visit(site)
    demo.watch.keep_bodies(demo.page)
    demo.starts_chat()
    expect(demo.scratchpad_switch).to_have_count(0)
    card = demo.asks("What do the covenants say?")
    card.opens_thinking()
    model.release("opened")
    expect(card.ends().thought.locator(".mask").last).to_have_text("…(truncated)")
    expect(card.thought.locator(".mask").first).to_have_text("[redacted]")
    copies = ["Copy trace", "Copy"]
    for name in copies:
        with demo.page.expect_response("**/copy/" if name == "Copy" else "**/trace/"):
            card.root.get_by_role("button", name=name, exact=True).click()
    card.opens_trace()
    expect(card.steps.first).to_contain_text("••• hidden (key)")
    expect(card.steps.nth(1)).to_contain_text("[redacted]")
    demo.page.reload()
    expect(card.thought).to_contain_text("…(truncated)")

    sent = sent_to(demo)
    assert b"clause. Weighing" in sent
    assert b"searchFilings" in sent
    assert found(sent) == []
    running, output = site.stored_bytes(), site.output()
    assert b"The covenants are in Item 7." in running
    assert "turn ended" in output
    assert found(running + output.encode()) == []
    site.stop()
    assert found(site.stored_bytes() + site.output().encode()) == []
    assert "Nothing found." in site.audit(*CANARIES)
    raw = model.requests()[2]["body"]["messages"][-1]["content"]  # the model alone reads what a tool returned
    assert PASSWORD in raw
    passages = [passage["text"] for passage in json.loads(raw)["passages"]]
    assert [text for text in passages if len(text) > 400 and text[-80:].encode() in sent] == []


@pytest.mark.spec("004 scratchpad")
@pytest.mark.slow
def test_administrator_who_asks_sees_the_scratchpad_live_and_it_is_nowhere_else(visit, site, model):
    model.release("opened")
    admin = visit(site, "admin")
    admin.starts_chat()
    admin.switches_scratchpad_on()

    card = admin.asks("What do the covenants say?")
    expect(card.scratchpad).to_contain_text(SCRATCHPAD)
    expect(card.scratchpad).to_contain_text("Debug view. Not shown to users. Not stored.")
    model.release("end")
    card.ends()
    admin.page.reload()

    expect(card.answer).to_have_text("The covenants are in Item 7.")
    assert SCRATCHPAD not in admin.page.content()
    assert "scratchpad" in json.dumps(model.requests()[0]["body"])
    assert found(site.stored_bytes() + site.output().encode()) == []
    site.stop()
    assert "Nothing found." in site.audit(*CANARIES)
