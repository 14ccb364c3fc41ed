"""Redis or PostgreSQL restarted in mid-stream: pages say so, everything recovers, nothing acknowledged is lost."""

import asyncio
import uuid
from contextlib import ExitStack
from typing import Any

import pytest

from deploy.local_services import missing_packages
from replay_contract_server.fixture import ContractHandle, running_contract_server
from tests.browser.upstream import opening, reply, says, waits
from tests.faults.site import running_services
from tests.open_page import Person
from tests.server import environment_in, prepare_database, serving

pytestmark = [pytest.mark.slow, pytest.mark.postgres, pytest.mark.redis, pytest.mark.timeout(180)]
FAST = {"LEASE_HEARTBEAT_S": "1", "LEASE_EXPIRY_S": "10"}
FIRST, MIDDLE, LAST = "Wallaby", "Quokka", "Numbat"
REST = "begins a paragraph that is long enough for its beginning to be shown while its end is held back"
WHOLE = "\n\n".join(f"{name} {REST}." for name in (FIRST, MIDDLE, LAST))
NOT_KEPT = "Database unavailable"
FRESH = "Written after all that."


@pytest.fixture(scope="module")
def model():
    with running_contract_server() as handle:
        yield handle


@pytest.fixture(scope="module")
def services():
    with running_services() as both:
        yield both


@pytest.fixture(scope="module")
def environment(tmp_path_factory, model, services):
    """Return what two servers need to know, over a database that is ready."""
    own = {"OPENAI_BASE_URL": model.base_url, "OPENAI_MODEL": "plain-model", **services.addresses, **FAST}
    made = environment_in(tmp_path_factory.mktemp("servers"), **own)
    prepare_database(made)
    return made


@pytest.fixture
async def people(environment, tmp_path, model):
    """The same person at both servers, with the same new chat open."""
    model.reset()
    with ExitStack() as stack:
        both = []
        for name in ("near", "far"):
            (tmp_path / name).mkdir()
            both.append(Person(stack.enter_context(serving(environment, tmp_path / name)).base_url))
        for one in both:
            await one.sign_in()
        yield both
        for one in both:
            await one.leave()


@pytest.fixture
async def chat(people):
    chat = await people[0].new_chat()
    for one in people:
        await one.open(chat)
    return chat


def script(model: ContractHandle) -> None:
    """Three questions: the answer to the first is held twice."""
    first, middle, last = WHOLE.split("\n\n")
    held = reply(
        says(opening(), f"{first}\n\n"),
        waits("middle"),
        says(f"{middle}\n\n"),
        waits("last"),
        says(last),
        match={"last_user_contains": "Why?"},
    )
    model.script(
        [
            held,
            reply(says(opening(), "Second answer."), match={"last_user_contains": "And?"}),
            reply(says(opening(), FRESH), match={"last_user_contains": "Still there?"}),
        ]
    )


async def come_in(base_url: str, chat: uuid.UUID) -> Person:
    """Sign in anew, for which failures are counted in Redis, and open the chat."""
    other = Person(base_url)
    await other.sign_in()
    await other.open(chat)
    return other


async def until_leases_ran_out(one: Person) -> None:
    """Wait until no turn was renewed for as long as a lease lasts."""
    async with asyncio.timeout(60):
        while (await one.health())[1]["turns"] == "ok":  # noqa: ASYNC110 - the server does not notify
            await asyncio.sleep(0.1)


async def until_answered(people: list[Person], chat: uuid.UUID, count: int) -> None:
    """Wait until there are so many answers, and both pages were sent the end of each."""
    async with asyncio.timeout(60):
        done: list[dict[str, Any]] = []
        while len(done) < count:
            await asyncio.sleep(0.1)
            done = [card for card in await people[0].cards(chat) if card.get("status") == "complete"]
    for one in people:
        for card in done:
            await one.sees_end(card["id"], "complete")


async def check_afterwards(model: ContractHandle, people: list[Person], chat: uuid.UUID) -> None:
    """Both pages follow a new turn, and the log has every question once with its whole answer."""
    near, far = people
    await far.send(text="Still there?", id="q3")
    for one in people:
        await one.sees(FRESH)
    await until_answered(people, chat, 3)
    cards = await near.cards(chat)
    assert [card["text"] for card in cards if card["role"] == "user"] == ["Why?", "And?", "Still there?"]
    answers = [(card["answer"], card["status"]) for card in cards if card["role"] == "assistant"]
    assert answers == [(WHOLE, "complete"), ("Second answer.", "complete"), (FRESH, "complete")]
    assert model.refusals() == []


if not missing_packages({}):

    async def test_redis_restarted_in_mid_stream(services, model, people, chat):
        near, far = people
        script(model)
        await near.send(text="Why?", id="q1")
        for one in people:
            await one.sees(FIRST)

        await asyncio.to_thread(services.redis.stop)
        assert (await near.health())[1] == {"database": "ok", "turns": "ok", "redis": "error"}
        await far.send(text="And?", id="q2")
        await far.sees("And?")
        late = await come_in(far.base_url, chat)
        await late.sees('"live":false')
        model.release("middle")
        await late.sees(MIDDLE)
        await near.sees(MIDDLE)
        await far.sees(MIDDLE)  # by way of the database
        await asyncio.to_thread(services.redis.start)
        await asyncio.gather(*(one.until_healthy() for one in people))
        await late.sees('"live":true')
        model.release("last")

        await until_answered([*people, late], chat, 2)
        await late.leave()
        assert not any(NOT_KEPT in frame for one in people for frame in one.frames)
        await check_afterwards(model, people, chat)

    async def test_database_restarted_in_mid_stream(services, model, people, chat):
        """It is unavailable for longer than leases last, and yet the process that continues has its turn to the end."""
        near, far = people
        script(model)
        await near.send(text="Why?", id="q1")
        for one in people:
            await one.sees(FIRST)
        await far.send(text="And?", id="q2")
        await far.sees("And?")

        await asyncio.to_thread(services.database.stop)
        for one in people:
            await one.sees(NOT_KEPT)
        await near.send(text="Lost?", id="q0")
        await near.sees("database does not answer")
        code, page = await far.visit()
        assert (code, "database does not answer" in page) == (503, True)
        assert (await near.health())[1] == {"database": "error", "turns": "ok", "redis": "ok"}
        model.release("middle")
        for one in people:
            await one.sees(MIDDLE)
        await until_leases_ran_out(near)
        await asyncio.to_thread(services.database.start)
        await asyncio.gather(*(one.until_healthy() for one in people))
        model.release("last")

        await until_answered(people, chat, 2)
        await check_afterwards(model, people, chat)
