"""Every state of every page: no violation of WCAG 2 A and AA, and longer words fit in both directions. Ui A1, V3."""

import pytest
from playwright.sync_api import expect

from tests.browser.looks import misfits, violations
from tests.browser.people import WIDE
from tests.browser.states import CHAT, NOWHERE, STAFF, STRANGER
from tests.browser.upstream import calls, opening, plain, reply, says, thinks, waits

NAMES = list(CHAT)
GROUPS = {
    "answer": ("demo", {name: CHAT[name] for name in NAMES[:6]}),
    "composer": ("demo", {name: CHAT[name] for name in NAMES[6:12]}),
    "pages": ("demo", {name: CHAT[name] for name in NAMES[12:]}),
    "staff": ("admin", STAFF),
    "stranger": ("", STRANGER),
}


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_every_state_is_accessible_and_has_room_for_longer_words(visit, offline, serve, group):
    username, states = GROUPS[group]
    person = visit(offline if username else serve(SIGNUP_ENABLED="true"), username, signed_in=bool(username))
    person.watch.expected += NOWHERE
    found = []

    for name, go in states.items():
        person.page.set_viewport_size(WIDE)
        go(person)
        found += [f"{name}: {fault}" for fault in violations(person.page)]
        person.page.set_viewport_size(WIDE)
        found += [f"{name}: {fault}" for fault in misfits(person.page)]

    assert found == []


@pytest.mark.slow
def test_streaming_card_is_accessible(visit, connected, model):
    model.script(
        [
            reply(thinks("Looking. "), calls("searchFilings", '{"query":"covenants"}')),
            reply(thinks("Reading. "), says(opening(), "One.\n\n$$\\frac{a}{b}$$\n\nThree begins "), waits("rest")),
        ]
    )
    demo = visit(connected)
    demo.starts_chat()
    card = demo.asks("Still writing?")
    expect(card.answer).to_contain_text("Three begins")
    card.opens_trace()
    card.opens_thinking()
    demo.writes("The next question")

    assert violations(demo.page) == []


@pytest.mark.slow
def test_error_card_is_accessible(visit, connected, model):
    model.script([plain("", faults=[{"kind": "http_error", "status": 401, "times": 9}])])
    demo = visit(connected)
    demo.starts_chat()
    demo.asks("Anyone?").ends("error")

    assert violations(demo.page) == []


@pytest.mark.slow
def test_question_in_the_other_direction_stays_on_its_side(visit, offline):
    demo = visit(offline)
    demo.starts_chat()
    demo.asks("What was it?").ends()
    demo.asks("ماذا حدث؟").ends()

    ends = [box["x"] + box["width"] for one in demo.page.locator(".question").all() if (box := one.bounding_box())]
    assert len(ends) == 2
    assert abs(ends[0] - ends[1]) <= 1
