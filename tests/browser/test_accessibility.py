"""No violation of WCAG 2 A and AA that axe-core finds, in each state, light and dark, narrow and wide. Ui A1."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import MakeSite
from tests.browser.people import Person, Visit
from tests.browser.sites import Site
from tests.browser.states import CHAT, NOWHERE, STRANGER
from tests.browser.upstream import calls, opening, plain, reply, says, thinks, waits
from tests.contract_server.fixture import ContractHandle

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
OPTIONS = {"resultTypes": ["violations"], "runOnly": {"type": "tag", "values": TAGS}}
HEIGHT = 3000  # all of a card: what a bar that stays in sight covers for the moment is no small target
LOOKS = [(scheme, width) for scheme in ("light", "dark") for width in (360, 1280)]


def _violations(person: Person) -> list[str]:
    """Return what axe-core objects to on the page as it stands, in both schemes and both widths."""
    found = []
    for scheme, width in LOOKS:
        person.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        person.page.set_viewport_size({"width": width, "height": HEIGHT})
        person.page.evaluate("scrollTo(0, document.body.scrollHeight)")  # the composer lies over the end of the page
        response = Axe().run(person.page, options=OPTIONS).response
        assert response["passes"], "axe-core looked at nothing"
        for violation in response["violations"]:
            nodes = [node["html"][:200] for node in violation["nodes"]]
            found.append(f"{scheme} {width}: {violation['id']}: {nodes}")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("state", CHAT)
def test_page_has_no_violation(visit: Visit, offline: Site, state: str) -> None:
    demo = visit(offline)
    demo.watch.expected += NOWHERE
    CHAT[state](demo)

    assert _violations(demo) == []


@pytest.mark.slow
@pytest.mark.parametrize("state", STRANGER)
def test_page_without_a_person_has_no_violation(visit: Visit, serve: MakeSite, state: str) -> None:
    stranger = visit(serve(SIGNUP_ENABLED="true"), signed_in=False)
    stranger.watch.expected += NOWHERE
    STRANGER[state](stranger)

    assert _violations(stranger) == []


@pytest.mark.slow
def test_egress_preview_has_no_violation(visit: Visit, offline: Site) -> None:
    admin = visit(offline, "admin")
    admin.starts_chat()
    admin.asks("What would breach it, sk-live-4f9aQ2mX7bT1cV8nR3kW6yZ0?").ends()
    admin.open(f"{admin.page.url}preview/")
    expect(admin.page.locator("mark").first).to_be_visible()

    assert _violations(admin) == []


def test_streaming_card_has_no_violation(visit: Visit, connected: Site, model: ContractHandle) -> None:
    model.script(
        [
            reply(thinks("Looking. "), calls("searchFilings", '{"query":"covenants"}')),
            reply(thinks("Reading. "), says(opening(), "One.\n\n$$\\frac{a}{b}$$\n\nThree begins "), waits("rest")),
        ]
    )
    demo = visit(connected)
    demo.starts_chat()
    card = demo.asks("Still going?")
    expect(card.answer).to_contain_text("Three begins")
    card.opens_trace()
    card.opens_thinking()
    demo.writes("The next question")

    assert _violations(demo) == []


def test_error_card_has_no_violation(visit: Visit, connected: Site, model: ContractHandle) -> None:
    model.script([plain("", faults=[{"kind": "http_error", "status": 401, "times": 9}])])
    demo = visit(connected)
    demo.starts_chat()
    demo.asks("Anyone?").ends("error")

    assert _violations(demo) == []
