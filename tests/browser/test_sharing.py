"""Files and links: chosen in a dialog, read by a stranger, revoked; and the same without script."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import MakeSite
from tests.browser.people import NARROW, Person, Visit
from tests.browser.sites import Site


@pytest.fixture(scope="module")
def offline(serve: MakeSite) -> Site:
    """A site of its own: what other tests share would be listed here, too."""
    return serve(SAFE_LINK_HOSTS="shared.example")


def opens_dialog(person: Person) -> None:
    person.page.get_by_role("link", name="Share").click()
    expect(person.page.get_by_role("dialog", name="Share this conversation")).to_be_visible()


def test_a_link_is_made_read_by_a_stranger_and_revoked(visit: Visit, offline: Site) -> None:
    demo = visit(offline)
    card = demo.reads_finished()
    said = card.answer.inner_text()[:60]
    opens_dialog(demo)
    expect(demo.page.get_by_role("checkbox", name="Summaries")).to_be_focused()
    demo.page.get_by_role("checkbox", name="Steps").check()
    demo.page.get_by_role("button", name="Create link").click()
    expect(demo.page.get_by_role("button", name="Copy link")).to_be_focused()
    demo.page.keyboard.press("Enter")
    expect(demo.page.get_by_role("button", name="Copied")).to_be_visible()
    address = demo.page.evaluate("() => navigator.clipboard.readText()")

    stranger = visit(offline, signed_in=False)
    stranger.open(address)
    expect(stranger.answer(0).answer).to_contain_text(said[:40])
    expect(stranger.answer(0).summary).to_be_visible()
    stranger.answer(0).opens_trace()
    expect(stranger.answer(0).thinking).to_have_count(0)
    expect(stranger.composer).to_have_count(0)

    demo.page.get_by_role("button", name="Revoke").click()
    expect(demo.page.get_by_role("heading", name="Active links")).to_have_count(0)
    assert stranger.context.request.get(address).status == 404
    demo.page.keyboard.press("Escape")
    expect(demo.page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.slow
def test_a_file_is_saved_with_what_was_chosen(visit: Visit, offline: Site, tmp_path: Path) -> None:
    demo = visit(offline, viewport=NARROW)
    demo.reads_finished()
    opens_dialog(demo)
    demo.page.get_by_role("checkbox", name="Steps").check()

    with demo.page.expect_download() as saved:
        demo.page.get_by_role("button", name="Export as Markdown").click()

    saved.value.save_as(tmp_path / "file.md")
    text = (tmp_path / "file.md").read_text(encoding="utf-8")
    assert saved.value.suggested_filename.endswith(".md")
    assert "## Answer 1" in text
    assert "**searchFilings**" in text


@pytest.mark.slow
def test_sharing_works_without_script(visit: Visit, offline: Site) -> None:
    demo = visit(offline, java_script_enabled=False)
    demo.reads_finished()
    demo.page.get_by_role("link", name="Share").click()
    demo.submits(demo.page.get_by_role("button", name="Create link"))
    expect(demo.page.get_by_role("heading", name="Active links")).to_be_visible()
    demo.submits(demo.page.get_by_role("button", name="Revoke"))
    expect(demo.page.get_by_role("heading", name="Active links")).to_have_count(0)


@pytest.mark.slow
def test_shared_thinking_opens_and_closes(visit: Visit, offline: Site) -> None:
    demo = visit(offline)
    demo.reads_finished()
    opens_dialog(demo)
    demo.page.get_by_role("checkbox", name="Thinking").check()
    demo.page.get_by_role("button", name="Create link").click()
    address = demo.page.locator(".links__url").first.get_attribute("href") or ""

    stranger = visit(offline, signed_in=False)
    stranger.open(address)
    stranger.answer(0).opens_thinking()
    expect(stranger.answer(0).thought).not_to_be_empty()
