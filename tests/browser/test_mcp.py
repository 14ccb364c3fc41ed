"""A server of MCP from its first listing to a question that its tool asks: what staff and users see."""

import os
import sys

import pytest
from playwright.sync_api import expect

from tests.browser.looks import violations
from tests.browser.upstream import calls, plain, reply
from tests.server import ROOT

PEER = ROOT / "tests/chat/mcp/peer.py"
PANEL = "[data-approval]"


@pytest.mark.slow
def test_staff_allow_a_tool_and_its_question_is_answered_on_the_card(visit, serve, model):
    site = serve(
        OPENAI_BASE_URL=model.base_url, OPENAI_MODEL="plain-model", MCP_COMMANDS=f"peer={sys.executable} {PEER}"
    )
    model.script([reply(*calls("peer__provision", "{}")), plain("It runs.")])
    sam = visit(site, "sam")
    sam.open("/admin/chat/mcpserver/add/")
    sam.page.get_by_label("Name").fill("peer")
    sam.page.get_by_label("Command").select_option("peer")
    sam.page.get_by_role("button", name="Save and continue editing").click()
    sam.page.get_by_role("button", name="List tools").click()
    expect(sam.page.get_by_text("14 tools, 13 of them to be looked at")).to_be_visible()
    photograph(sam.page, "mcp-server")
    sam.page.get_by_role("link", name="provision", exact=True).click()
    expect(sam.page.get_by_text("Ask where.", exact=True)).to_be_visible()
    sam.page.get_by_label("Allowed").check()
    photograph(sam.page, "mcp-tool")
    sam.page.get_by_role("button", name="Save", exact=True).click()
    expect(sam.page.get_by_role("row").filter(has_text="provision")).to_contain_text("allowed")

    demo = visit(site)
    demo.starts_chat()
    answer = demo.asks("Set it up.")
    panel = demo.page.locator(PANEL)
    expect(panel).to_contain_text("The model wants to use peer__provision.")
    photograph(demo.page, "mcp-approval")
    demo.page.get_by_role("button", name="Allow", exact=True).click()
    expect(panel).to_contain_text("Where shall it run?")
    assert violations(demo.page) == []
    expect(panel.get_by_label("Region")).to_have_value("")  # nobody sends a choice that they didn't make
    panel.get_by_label("Region").select_option(label="Europe")
    panel.get_by_label("Size").fill("5")
    photograph(demo.page, "mcp-question")
    demo.page.set_viewport_size({"width": 390, "height": 844})
    photograph(demo.page, "mcp-question-phone")
    demo.page.reload()
    expect(panel.get_by_label("Size")).to_have_value("3")
    panel.get_by_label("Region").select_option(label="Europe")
    panel.get_by_label("Size").fill("5")
    panel.get_by_role("button", name="Answer").click()

    answer.ends("complete")
    expect(panel).to_have_count(0)
    sent = model.requests()[-1]["body"]["messages"][-1]["content"]
    assert sent == 'accept: {"backup": false, "region": "eu", "size": 5}'


@pytest.mark.slow
@pytest.mark.spec("product 26")
def test_question_of_a_tool_is_answered_by_enter_or_refused_in_words(visit, serve, model):
    site = serve(
        OPENAI_BASE_URL=model.base_url, OPENAI_MODEL="plain-model", MCP_COMMANDS=f"peer={sys.executable} {PEER}"
    )
    sam = visit(site, "sam")
    sam.open("/admin/chat/mcpserver/add/")
    sam.page.get_by_label("Name").fill("asks")
    sam.page.get_by_label("Command").select_option("peer")
    sam.page.get_by_role("button", name="Save and continue editing").click()
    sam.page.get_by_role("button", name="List tools").click()
    sam.page.get_by_role("link", name="provision", exact=True).click()
    sam.page.get_by_label("Allowed").check()
    sam.page.get_by_role("button", name="Save", exact=True).click()
    model.script([plain("Moin."), reply(*calls("asks__provision", "{}")), plain("It runs.")])
    demo = visit(site)
    demo.watch.expected += ["409"]
    demo.starts_chat()
    demo.asks("Hello").ends()
    answer = demo.asks("Set it up.")
    panel = demo.page.locator(PANEL)
    demo.page.get_by_role("button", name="Allow", exact=True).click()
    size = panel.get_by_label("Size")

    size.press("Enter")  # an answer that is needed is missing
    expect(panel.get_by_label("Region")).to_be_focused()
    panel.get_by_label("Region").select_option(label="Europe")
    size.fill("many")
    size.press("Enter")
    expect(demo.page.locator(".banner")).to_contain_text("size: a number is needed")
    size.fill("4")
    size.press("Enter")

    answer.ends("complete")
    expect(demo.composer).to_be_focused()
    expect(demo.page.locator("[data-role=assistant]")).to_have_count(2)  # no other button of the page was pressed
    sent = model.requests()[-1]["body"]["messages"][-1]["content"]
    assert sent == 'accept: {"backup": false, "region": "eu", "size": 4}'


def photograph(page, name):
    """Keep a picture where PICTURES says so, to be looked at."""
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png")
