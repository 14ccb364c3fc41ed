"""No violation of WCAG 2 A and AA that axe-core finds, in each state, light and dark, narrow and wide. Ui A1."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.contract_server.fixture import ContractHandle
from tests.e2e.people import Person, Visit
from tests.e2e.sites import Site
from tests.e2e.test_conversations import form_is_open
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
        person.page.evaluate("scrollTo(0, document.body.scrollHeight)")  # the composer lies over the end of the page
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


def _offers(demo: Person) -> None:
    demo.open()
    demo.composer.press_sequentially("/set ")
    expect(demo.page.get_by_role("option").first).to_be_visible()


def _command(demo: Person) -> None:
    demo.open()
    demo.writes("/set")
    demo.send_button.click()
    expect(demo.page.locator("#command").get_by_role("table")).to_be_visible()


def _shortcuts(demo: Person) -> None:
    demo.reads_finished()
    demo.page.keyboard.press("Control+/")
    expect(demo.page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()


def _share(demo: Person) -> None:
    demo.reads_finished()
    demo.page.get_by_role("link", name="Share").click()
    dialog = demo.page.get_by_role("dialog", name="Share this conversation")
    dialog.get_by_role("button", name="Create link").click()
    expect(dialog.get_by_role("heading", name="Active links")).to_be_visible()


def _edit(demo: Person) -> None:
    demo.reads_finished()
    demo.page.get_by_role("link", name="Edit question 1").click()
    expect(demo.page.get_by_role("textbox", name="Edit question 1")).to_be_focused()


def _search(demo: Person) -> None:
    demo.open()
    demo.page.get_by_role("searchbox").fill("turbines")
    expect(demo.page.locator("#conversations mark").first).to_be_visible()


def _manage(demo: Person) -> None:
    demo.reads_finished()
    demo.page.locator("#conversations li").first.hover()
    demo.page.get_by_role("link", name=re.compile("^Rename, pin or delete: ")).first.click()
    form_is_open(demo.page)


def _opinion(demo: Person) -> None:
    card = demo.reads_finished()
    card.root.get_by_role("button", name="Poor answer").click()
    expect(card.root.get_by_label("Reason")).to_be_visible()


def _settings(demo: Person) -> None:
    demo.open("/accounts/settings/")


def _filings(demo: Person) -> None:
    demo.open("/filings/")


def _passage(demo: Person) -> None:
    demo.reads_finished().answer.locator("a[data-citation]").first.click()
    expect(demo.page.locator("[data-passage]:target")).to_be_visible()


STATES = [
    *(_empty, _everything_open, _offers, _command, _shortcuts, _share, _edit, _search, _manage, _opinion),
    *(_settings, _filings, _passage),
]


@pytest.mark.parametrize("go", STATES)
def test_page_has_no_violation(visit: Visit, offline: Site, go: Callable[[Person], None]) -> None:
    demo = visit(offline)
    go(demo)

    assert _violations(demo) == []


def test_sign_in_has_no_violation(visit: Visit, offline: Site) -> None:
    demo = visit(offline, signed_in=False)
    demo.open()

    assert _violations(demo) == []


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
