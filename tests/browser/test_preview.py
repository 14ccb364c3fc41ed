"""An administrator reads the next request and copies it. Product 8, 10."""

import json

import pytest
from playwright.sync_api import expect

from tests.browser.upstream import calls, opening, reply, says, thinks

KEY = "sk-live-4f9aQ2mX7bT1cV8nR3kW6yZ0"


@pytest.mark.slow
def test_meter_names_what_is_not_sent_and_leads_to_the_redacted_preview(visit, connected, model):
    model.script(
        [
            reply(thinks("Let me see."), calls("searchFilings", json.dumps({"query": f"covenants {KEY}"}))),
            reply(thinks("Now I know."), says(opening(), "It says so.")),
        ]
    )
    admin = visit(connected, "admin")
    admin.starts_chat()
    admin.asks(f"What of {KEY}?").ends()
    meter = admin.page.locator("#context")
    expect(meter).to_contain_text("6 tokens not resent")

    meter.locator("summary").click()
    meter.get_by_role("link", name="Request preview").click()
    left_out = admin.page.get_by_role("region", name="Omitted", exact=True).locator("tbody tr")
    expect(left_out).to_have_count(2)
    expect(left_out.first).to_contain_text("reasoning.includeInContext is off")
    assert KEY not in admin.page.content()
    admin.page.get_by_role("button", name="Copy").click()
    expect(admin.page.get_by_role("status")).to_have_text("Copied")

    copied = json.loads(admin.clipboard())
    assert [message["role"] for message in copied["messages"]] == ["system", "user", "assistant", "tool", "assistant"]
    assert copied["messages"][1]["content"] == "What of [redacted]?"
