"""Redis and PostgreSQL restarted under an open page: it says what is away and what that means, and recovers by itself.

What two processes make of it without a browser is in ``tests/faults/test_restarts.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import expect

from deploy.local_services import missing_packages
from tests.browser.people import Person, Visit
from tests.browser.upstream import opening, plain, reply, says, waits
from tests.contract_server.fixture import ContractHandle
from tests.faults.landscape import Landscape, running_landscape
from tests.faults.site import DoomedSite

pytestmark = pytest.mark.slow

pytestmark = pytest.mark.timeout(180)  # two engines and two servers are started for it
FAST = {"LEASE_HEARTBEAT_S": "1", "LEASE_EXPIRY_S": "20"}
NOT_KEPT = "The server’s database is away; the answer goes on, and is saved when it is back…"
REFUSED = "The server’s database does not answer. Send it again in a moment."
REST = "begins a paragraph that is long enough for its beginning to be shown while its end is held back"
PARAGRAPHS = [f"{name} {REST}." for name in ("Wallaby", "Quokka", "Numbat")]


@pytest.fixture
def landscape() -> Iterator[Landscape]:
    with running_landscape() as both:
        yield both


@pytest.fixture
def pair(landscape: Landscape, tmp_path: Path, model: ContractHandle) -> Iterator[tuple[DoomedSite, DoomedSite]]:
    """Two servers of one person with one conversation."""
    (tmp_path / "far").mkdir()
    own = {"OPENAI_BASE_URL": model.base_url, "REDIS_URL": landscape.addresses["REDIS_URL"], **FAST}
    near = DoomedSite(tmp_path, conversations=1, database_url=landscape.addresses["DATABASE_URL"], **own)
    with ExitStack() as running:
        for site in (near, far := near.beside(tmp_path / "far")):
            running.callback(site.stop)
            site.start()
        yield near, far


@pytest.fixture
def people(visit: Visit, pair: tuple[DoomedSite, DoomedSite]) -> list[Person]:
    """The same person at both servers, with the same conversation open."""
    both = [visit(site, "alice") for site in pair]
    for person in both:
        person.watch.expected += ["status of 503"]
        person.open(f"/chats/{pair[0].conversations[0]}/")
    return both


def _held(*paragraphs: str) -> dict[str, object]:
    first, middle, last = (f"{one}\n\n" for one in paragraphs)
    return reply(says(opening(), first), waits("middle"), says(middle), waits("last"), says(last))


def _all_read(people: Sequence[Person], text: str) -> None:
    for person in people:
        expect(person.answer().answer).to_contain_text(text)


def _all_are_told(people: Sequence[Person], words: str) -> None:
    for person in people:
        expect(person.answer().status).to_contain_text(words)


def _nobody_is_told(people: Sequence[Person], words: str) -> None:
    for person in people:
        expect(person.answer().streams().status).not_to_contain_text(words)


if not missing_packages({}):

    @pytest.mark.slow
    def test_page_says_what_is_away_and_recovers_by_itself(
        people: list[Person], landscape: Landscape, model: ContractHandle
    ) -> None:
        near, _far = people
        model.script([_held(*PARAGRAPHS), plain("Written after all that.")])
        near.asks("Why?")
        _all_read(people, "Wallaby")

        landscape.redis.stop()
        model.release("middle")
        _all_read(people, "Quokka")  # by way of the database, where its process is another
        landscape.redis.start()

        landscape.database.stop()
        _all_are_told([near], NOT_KEPT)
        near.writes("And?")
        near.send_button.click()
        expect(near.page.locator("#composer-error")).to_have_text(REFUSED)
        expect(near.composer).to_have_value("And?")
        landscape.database.start()
        _nobody_is_told(people, NOT_KEPT)
        model.release("last")

        for person in people:
            expect(person.answer().ends().answer.locator("p")).to_have_text(PARAGRAPHS)
        near.send_button.click()
        for person in people:
            expect(person.answer(1).ends().answer).to_have_text("Written after all that.")
            expect(person.page.locator("[data-role=user] p")).to_have_text(["Why?", "And?"])
            expect(person.reconnecting).to_be_hidden()
