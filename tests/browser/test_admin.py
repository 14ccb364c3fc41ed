"""The figures and lists of the staff."""

from __future__ import annotations

import sqlite3
import uuid
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from tests.browser.conftest import MakeSite
from tests.browser.looks import violations
from tests.browser.people import WIDE, Visit
from tests.browser.sites import DATABASE, Site

pytestmark = pytest.mark.slow


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
