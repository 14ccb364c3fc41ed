"""Pages of the staff: figures, lists, filings that are uploaded."""

from __future__ import annotations

import sqlite3
import uuid
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import MakeSite
from tests.browser.looks import violations
from tests.browser.people import WIDE, Visit
from tests.browser.sites import DATABASE, Site

pytestmark = pytest.mark.slow

REPORT = b"""<html><body><p>FORM 10-K</p><p>Plover Works, Inc.</p><p>(Exact name of registrant as specified in its
charter)</p><p>Item 1. Business</p><p>We make turbines for small rivers.</p></body></html>"""


@pytest.fixture
def site(serve: MakeSite) -> Site:
    """Return a site whose staff have something to see: a provider that got worse this week."""
    site = serve(SIGNUP_ENABLED="true")
    with closing(sqlite3.connect(site.folder / DATABASE)) as connection:
        connection.row_factory = sqlite3.Row
        turns = connection.execute("SELECT * FROM chat_turn").fetchall()
        for ago in range(14 if len(turns) == 1 else 0):  # tests share the site
            _add(connection, dict(turns[0]), ago=ago, stripped_delimiters=6 if ago < 7 else 1, masked=ago % 3)
        connection.commit()
    return site


def _add(connection: sqlite3.Connection, turn: dict[str, object], *, ago: int, **counts: int) -> None:
    """Add a copy of a turn, of so many days ago."""
    at = (datetime.now(UTC) - timedelta(days=ago)).replace(tzinfo=None).isoformat(" ")
    row = {**turn, **counts, "id": uuid.uuid4().hex, "is_active": 0, "started_at": at, "provider": "api.example.com"}
    marks = ", ".join(f":{name}" for name in row)
    connection.execute(f"INSERT INTO chat_turn ({', '.join(row)}) VALUES ({marks})", row)  # noqa: S608 - our columns


def test_figures_and_lists_are_accessible(visit: Visit, site: Site) -> None:
    sam = visit(site, "sam")
    found = []
    for path in ("/admin/chat/turn/", "/admin/chat/turn/usage/", "/admin/chat/turn/guards/"):
        sam.page.set_viewport_size(WIDE)
        sam.open(path)
        for details in sam.page.locator("#content details:not([open])").all():
            details.locator("summary").click()
        found += [f"{path}: {fault}" for fault in violations(sam.page)]

    assert found == []


def test_sam_finds_the_figures_and_who_got_worse(visit: Visit, site: Site) -> None:
    sam = visit(site, "sam")
    sam.open("/admin/")
    sam.submits(sam.page.get_by_role("link", name="What the guards took out"))

    expect(sam.page.get_by_text("Worse than the week before: api.example.com")).to_be_visible()
    sam.submits(sam.page.get_by_role("link", name="Usage by user and model"))
    sam.submits(sam.page.get_by_role("link", name="7 days"))
    sam.submits(sam.page.get_by_role("row").get_by_role("link", name="demo"))
    expect(sam.page.get_by_role("link", name="Show everybody")).to_be_visible()


def test_sam_loads_a_filing_that_people_can_read(visit: Visit, site: Site) -> None:
    sam, demo = visit(site, "sam"), visit(site)
    sam.open("/admin/chat/filing/add/")
    files = [
        {"name": "plover.htm", "mimeType": "text/html", "buffer": REPORT},
        {"name": "scan.htm", "mimeType": "text/html", "buffer": b"%PDF-1.7"},
    ]

    sam.page.get_by_label("Files").set_input_files(files)
    sam.submits(sam.page.get_by_role("button", name="Load"))

    expect(sam.page.get_by_text("Loaded plover.htm: Plover Works, Inc. 10-K")).to_be_visible()
    expect(sam.page.get_by_text("scan.htm: not loaded: not an HTML or text document")).to_be_visible()
    demo.open("/filings/")
    expect(demo.page.get_by_text("Plover Works, Inc.").first).to_be_visible()
