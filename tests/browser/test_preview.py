"""An administrator looks at the next request, chooses another model to see it for, and copies it. Product 8, 10."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import MakeSite
from tests.browser.people import Person, Visit
from tests.browser.sites import Site
from tests.browser.upstream import calls, opening, reply, says, thinks
from tests.contract_server.fixture import ContractHandle

KEY = "sk-live-4f9aQ2mX7bT1cV8nR3kW6yZ0"


def _has_asked(admin: Person, model: ContractHandle) -> None:
    model.script(
        [
            reply(thinks("Let me see."), calls("searchFilings", json.dumps({"query": f"covenants {KEY}"}))),
            reply(thinks("Now I know."), says(opening(), "It says so.")),
        ]
    )
    admin.starts_chat()
    admin.asks(f"What of {KEY}?").ends()


def test_meter_tells_what_is_not_sent_and_leads_to_the_preview(
    visit: Visit, connected: Site, model: ContractHandle
) -> None:
    admin = visit(connected, "admin")
    _has_asked(admin, model)
    meter = admin.page.locator("#context")
    expect(meter).to_contain_text("+ 6 stored, not sent")

    with admin.page.expect_navigation():
        meter.get_by_role("link", name="Preview of the next request").click()

    left_out = admin.page.get_by_role("region", name="Left out", exact=True).locator("tbody tr")
    expect(left_out).to_have_count(2)
    expect(left_out.first).to_contain_text("reasoning.includeInContext is off")
    assert KEY not in admin.page.content()


@pytest.mark.slow
@pytest.mark.parametrize("width", [320, 390])
def test_preview_of_a_phone_leaves_send_and_share_where_they_are(visit: Visit, offline: Site, width: int) -> None:
    admin = visit(offline, "admin")
    admin.starts_chat()
    admin.page.set_viewport_size({"width": width, "height": 780})

    _stand_side_by_side(admin.page.get_by_role("link", name="Preview of the next request"), admin.send_button)
    _stand_side_by_side(admin.page.get_by_role("heading", level=1), admin.page.get_by_role("link", name="Share"))


def _stand_side_by_side(first: Locator, second: Locator) -> None:
    one, two = first.bounding_box(), second.bounding_box()
    assert one
    assert two
    assert one["x"] + one["width"] <= two["x"]
    assert max(one["y"], two["y"]) < min(one["y"] + one["height"], two["y"] + two["height"])


@pytest.mark.slow
def test_copied_body_is_the_redacted_one(visit: Visit, connected: Site, model: ContractHandle) -> None:
    admin = visit(connected, "admin")
    _has_asked(admin, model)
    admin.open(f"{admin.page.url}preview/")

    admin.page.get_by_role("button", name="Copy").click()
    expect(admin.page.get_by_role("status")).to_have_text("Copied")

    copied: dict[str, Any] = json.loads(admin.page.evaluate("navigator.clipboard.readText()"))
    assert [message["role"] for message in copied["messages"]] == ["system", "user", "assistant", "tool", "assistant"]
    assert copied["messages"][1]["content"] == "What of [redacted]?"


@pytest.mark.slow
def test_another_model_is_previewed_without_javascript(visit: Visit, serve: MakeSite, model: ContractHandle) -> None:
    admin = visit(serve(OPENAI_BASE_URL=model.base_url, OPENAI_MODEL="plain-model"), "admin", java_script_enabled=False)
    admin.open()
    expect(admin.page.get_by_role("link", name="Egress preview")).to_be_visible()
    admin.open(f"{admin.page.url}preview/")

    admin.submits(admin.page.get_by_role("button", name="Show"))

    expect(admin.page).to_have_url(f"{admin.page.url.partition('?')[0]}?model=")
    expect(admin.page.locator("pre")).to_contain_text('"model": "plain-model"')
