"""The strict contract server as the configured model, over real HTTP, and an empty conversation."""

import pytest

from chat.providers.connections import close_clients
from chat.socket import consumer
from chat.turns import heartbeat, retry
from chat.turns.manager import TurnManager
from replay_contract_server.fixture import running_contract_server
from tests.factories import make_conversation


@pytest.fixture(scope="module")
def server():
    with running_contract_server() as handle:
        yield handle


@pytest.fixture
async def upstream(server, settings):
    server.reset()
    settings.OPENAI_BASE_URL = server.base_url
    settings.OPENAI_API_KEY = "test-key"
    settings.OPENAI_MODEL = "plain-model"
    yield server
    await close_clients()


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    monkeypatch.setattr(retry, "FIRST_WAIT_S", 0.01)


@pytest.fixture
async def turn_manager():
    """A process of its own, at rest when the tables are emptied."""
    one = TurnManager()
    yield one
    await one.drain(within_s=0)


@pytest.fixture
def conversation(alice):
    return make_conversation(owner=alice)


@pytest.fixture
def signed_in(client, alice):
    """A browser in which Alice is signed in."""
    client.force_login(alice)
    return client


@pytest.fixture
def quick(monkeypatch):
    """Check pages and save checkpoints often."""
    monkeypatch.setattr(consumer, "CATCH_UP_EVERY_S", 0.2)
    monkeypatch.setattr(consumer, "REAUTHORIZE_EVERY_S", 1.0)
    monkeypatch.setattr(heartbeat, "CHECKPOINT_S", 0.2)


@pytest.fixture
async def elsewhere():
    """The turns of another process."""
    other = TurnManager()
    yield other
    await other.drain(within_s=0)
