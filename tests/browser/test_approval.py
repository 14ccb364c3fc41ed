"""A tool call that waits: its panel, its buttons, with and without JavaScript, in two tabs (product 26)."""

import pytest
from playwright.sync_api import expect

from tests.browser.cable import Cable
from tests.browser.looks import violations
from tests.browser.upstream import calls, plain, reply

pytestmark = pytest.mark.spec("product 26")
SEARCH = calls("searchFilings", '{"query": "covenants ', 'sk-proj-quokka4711abcdefghijklmnopqrstuv"}')
PANEL = "[data-approval]"


@pytest.fixture
def gated(serve, model):
    return serve(
        OPENAI_BASE_URL=model.base_url, OPENAI_MODEL="plain-model", TOOLS_REQUIRING_APPROVAL="searchFilings,readPassage"
    )


@pytest.mark.slow
def test_call_is_allowed_in_one_tab_and_the_other_follows(visit, gated, model):
    model.script([reply(*SEARCH), plain("Found.")])
    demo = visit(gated)
    demo.starts_chat()
    demo.asks("What do the covenants say?")
    panel = demo.page.locator(PANEL)
    expect(panel).to_contain_text("The model wants to use searchFilings.")
    expect(panel).to_contain_text("covenants")
    expect(panel).not_to_contain_text("quokka4711")
    assert violations(demo.page) == []
    demo.page.reload()
    expect(panel).to_be_visible()
    other = demo.in_another_tab()
    expect(other.locator(PANEL)).to_be_visible()

    demo.page.get_by_role("button", name="Allow", exact=True).click()

    demo.answer().ends("complete")
    for page in (demo.page, other):
        expect(page.locator(PANEL)).to_have_count(0)
        expect(page.locator("[data-answer]")).to_have_text(["Found."])
    expect(demo.page.locator("[data-tool-step]").first).to_have_attribute("data-state", "done")


@pytest.mark.slow
def test_panel_is_left_alone_while_a_page_without_socket_reads_answers(visit, gated, model):
    model.script([reply(*SEARCH), plain("Found.")])
    cable = Cable(gated)
    cable.blocks_websockets = True
    demo = visit(cable)
    demo.watch.expected += ["WebSocket", "[object Event]"]
    demo.starts_chat()
    demo.asks("What do the covenants say?")
    allow = demo.page.get_by_role("button", name="Allow", exact=True)
    allow.focus()

    for _read in range(2):  # the second begins after the first was shown
        with demo.page.expect_response(lambda response: response.url == demo.page.url and response.ok):
            pass
    expect(allow).to_be_focused()
    allow.press("Enter")

    expect(demo.answer().ends("complete").answer).to_have_text("Found.")
    expect(demo.page.locator(PANEL)).to_have_count(0)
    cable.close()


@pytest.mark.slow
def test_page_without_script_is_left_alone_while_a_call_waits(visit, gated, model):
    model.script([reply(*SEARCH), plain("Found.")])
    demo = visit(gated, java_script_enabled=False)
    demo.starts_chat()
    demo.writes("What do the covenants say?")
    demo.submits(demo.send_button)
    expect(demo.page.locator(PANEL)).to_be_visible()  # the page loads itself again until it is there

    expect(demo.page.locator("meta[http-equiv=refresh]")).to_have_count(0)
    demo.submits(demo.page.get_by_role("button", name="Allow", exact=True))

    expect(demo.page.locator("[data-answer]")).to_have_text(["Found."])


@pytest.mark.slow
@pytest.mark.spec("product 48")
def test_call_waits_on_while_its_server_is_killed_and_started_again(visit, own_site, model):
    site = own_site(
        OPENAI_BASE_URL=model.base_url, OPENAI_MODEL="plain-model", TOOLS_REQUIRING_APPROVAL="searchFilings"
    )
    model.script([reply(*SEARCH), plain("Found.")])
    demo = visit(site)
    demo.starts_chat()
    demo.asks("What do the covenants say?")
    panel = demo.page.locator(PANEL)
    expect(panel).to_be_visible()

    demo.watch.expected += ["ERR_CONNECTION", "ERR_EMPTY_RESPONSE", "ERR_SOCKET", "WebSocket", "[object Event]"]
    site.kill()
    site.start()
    demo.page.reload()
    expect(panel).to_be_visible()
    demo.page.get_by_role("button", name="Allow", exact=True).click()

    demo.answer().ends("complete")
    expect(demo.page.locator("[data-answer]")).to_have_text(["Found."])
    expect(demo.page.locator("[data-tool-step]")).to_have_attribute("data-state", "done")
