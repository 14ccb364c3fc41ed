"""The live debug panel: for an administrator who asked, on a site that allows it, and gone with the page. Product 9."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import MakeSite
from tests.browser.people import Visit
from tests.browser.sites import Site
from tests.browser.upstream import opening, reply, says, waits
from tests.contract_server.fixture import ContractHandle
from tests.frame_words import heard

NOTE = "Private working note about clause nine."


@pytest.fixture
def noting(serve: MakeSite, model: ContractHandle) -> Site:
    """Return a site that allows the panel, with a model that writes a note and then waits before it ends."""
    model.script(
        [reply(says(opening(), "It says so.\n\n<scratchpad>\n", NOTE, "\n</scratchpad>\n"), waits("end"), says(" "))]
    )
    return serve(OPENAI_BASE_URL=model.base_url, REASONING_SCRATCHPAD_ENABLED="true")


@pytest.mark.spec("004 scratchpad")
def test_administrator_who_asks_sees_the_panel_live_and_never_again(
    visit: Visit, noting: Site, model: ContractHandle
) -> None:
    admin = visit(noting, "admin")
    admin.starts_chat()
    admin.switches_scratchpad_on()

    card = admin.asks("Well?")
    expect(card.scratchpad).to_contain_text(NOTE)
    expect(card.scratchpad).to_contain_text("Debug view. Not shown to users. Not stored.")
    model.release("end")
    card.ends()
    admin.page.reload()

    expect(card.answer).to_have_text("It says so.")
    assert NOTE not in admin.page.content()
    assert "scratchpad" in json.dumps(model.requests()[0]["body"])


def test_administrator_who_did_not_ask_sees_none(visit: Visit, noting: Site, model: ContractHandle) -> None:
    admin = visit(noting, "admin")
    admin.starts_chat()
    expect(admin.scratchpad_switch).not_to_be_checked()

    model.release("end")
    admin.asks("Well?").ends()

    assert NOTE not in heard(admin.watch.frames) + admin.page.content()


@pytest.mark.slow
@pytest.mark.parametrize("username", ["demo", "sam"])
def test_others_see_neither_switch_nor_text(visit: Visit, noting: Site, model: ContractHandle, username: str) -> None:
    person = visit(noting, username)
    person.starts_chat()

    model.release("end")
    person.asks("Well?").ends()

    expect(person.scratchpad_switch).to_have_count(0)
    assert NOTE not in heard(person.watch.frames) + person.page.content()


@pytest.mark.slow
@pytest.mark.spec("004 flags")
def test_not_admin_only_means_that_nobody_sees_it(visit: Visit, serve: MakeSite, model: ContractHandle) -> None:
    model.script([reply(says(opening(), "It says so.\n\n<scratchpad>\n", NOTE, "\n</scratchpad>\n"))])
    flags = {"REASONING_SCRATCHPAD_ENABLED": "true", "SCRATCHPAD_ADMIN_ONLY": "false"}
    admin = visit(serve(OPENAI_BASE_URL=model.base_url, **flags), "admin")
    admin.starts_chat()

    admin.asks("Well?").ends()

    expect(admin.scratchpad_switch).to_have_count(0)
    assert NOTE not in heard(admin.watch.frames) + admin.page.content()
    assert "scratchpad" not in json.dumps(model.requests()[0]["body"])
