"""Files and links: chosen in a dialog, read by a stranger, revoked."""

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.people import NARROW, Person


@pytest.fixture(scope="module")
def offline(serve):
    """Return a site of its own: links that other tests create would be listed here, too."""
    return serve(SAFE_LINK_HOSTS="shared.example")


def opens_dialog(person: Person) -> Locator:
    person.chooses("Share")
    dialog = person.page.get_by_role("dialog", name="Share this conversation")
    expect(dialog).to_be_visible()
    return dialog


@pytest.mark.slow
def test_link_is_created_read_by_a_stranger_and_revoked(visit, offline):
    demo = visit(offline)
    answer = demo.reads_finished().answer.inner_text()[:40]
    dialog = opens_dialog(demo)
    expect(dialog.get_by_role("checkbox", name="Summaries")).to_be_focused()
    dialog.get_by_role("checkbox", name="Steps").check()
    dialog.get_by_role("button", name="Create link").click()
    expect(dialog.get_by_role("button", name="Copy link")).to_be_focused()
    demo.page.keyboard.press("Enter")
    expect(dialog.get_by_role("button", name="Copied")).to_be_visible()
    address = demo.clipboard()

    stranger = visit(offline, signed_in=False)
    stranger.open(address)
    card = stranger.answer(0)
    expect(card.answer).to_contain_text(answer)
    expect(card.summary).to_be_visible()
    card.opens_trace()
    card.answer.locator("a[data-citation]").first.click()  # leads no stranger to the sign-in
    quotation = card.answer.locator("q").first.text_content() or ""
    expect(stranger.page.get_by_role("tooltip").locator("mark")).to_have_text(quotation)
    expect(card.thinking).to_have_count(0)
    expect(stranger.composer).to_have_count(0)

    dialog.get_by_role("button", name="Revoke").click()
    expect(dialog.get_by_role("heading", name="Active links")).to_have_count(0)
    assert stranger.context.request.get(address).status == 404
    demo.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


@pytest.mark.slow
def test_file_has_what_was_chosen(visit, offline, tmp_path):
    demo = visit(offline, viewport=NARROW)
    demo.reads_finished()
    dialog = opens_dialog(demo)
    dialog.get_by_role("checkbox", name="Steps").check()

    with demo.page.expect_download() as saved:
        dialog.get_by_role("button", name="Export as Markdown").click()

    saved.value.save_as(tmp_path / "file.md")
    text = (tmp_path / "file.md").read_text(encoding="utf-8")
    assert saved.value.suggested_filename.endswith(".md")
    assert "## Answer 1" in text
    assert "**searchFilings**" in text


@pytest.mark.slow
def test_shared_thinking_opens(visit, offline):
    demo = visit(offline)
    demo.reads_finished()
    dialog = opens_dialog(demo)
    dialog.get_by_role("checkbox", name="Thinking").check()
    dialog.get_by_role("button", name="Create link").click()
    address = dialog.locator(".links__url").first.get_attribute("href") or ""

    stranger = visit(offline, signed_in=False)
    stranger.open(address)
    stranger.answer(0).opens_thinking()

    expect(stranger.answer(0).thought).not_to_be_empty()
