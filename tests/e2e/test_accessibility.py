"""No violation of WCAG 2 A and AA that axe-core finds, in each state, light and dark, narrow and wide. Ui A1."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.contract_server.fixture import ContractHandle
from tests.e2e.people import Person, Visit
from tests.e2e.sites import Site
from tests.e2e.upstream import calls, opening, plain, reply, says, thinks, waits

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
        response = Axe().run(person.page, options=OPTIONS).response
        assert response["passes"], "axe-core looked at nothing"
        for violation in response["violations"]:
            nodes = [node["html"][:200] for node in violation["nodes"]]
            found.append(f"{scheme} {width}: {violation['id']}: {nodes}")
    return found


def _empty(demo: Person) -> None:
    demo.starts_chat()


def _everything_open(demo: Person) -> None:
    card = demo.reads_finished()
    card.opens_trace()
    card.opens_thinking()
    expect(card.thought).not_to_be_empty()


def _settings(demo: Person) -> None:
    demo.open("/accounts/settings/")


def _filings(demo: Person) -> None:
    demo.open("/filings/")


def _passage(demo: Person) -> None:
    demo.reads_finished().answer.locator("a[data-citation]").first.click()
    expect(demo.page.locator("[data-passage]:target")).to_be_visible()


@pytest.mark.parametrize("go", [_empty, _everything_open, _settings, _filings, _passage])
def test_page_has_no_violation(visit: Visit, offline: Site, go: Callable[[Person], None]) -> None:
    demo = visit(offline)
    go(demo)

    assert _violations(demo) == []


def test_sign_in_has_no_violation(visit: Visit, offline: Site) -> None:
    demo = visit(offline, signed_in=False)
    demo.open()

    assert _violations(demo) == []


def test_streaming_card_has_no_violation(visit: Visit, connected: Site, model: ContractHandle) -> None:
    model.script(
        [
            reply(thinks("Looking. "), calls("searchFilings", '{"query":"covenants"}')),
            reply(thinks("Reading. "), says(opening(), "One.\n\nTwo.\n\nThree begins "), waits("rest")),
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
