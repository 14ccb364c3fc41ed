"""The strict contract server as the configured model, over real HTTP, and an empty conversation."""

import pytest

from chat.providers.connections import close_clients
from chat.turns import retry
from chat.turns.manager import TurnManager
from tests.contract_server.fixture import running_contract_server
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
