"""The strict upstream as the configured model, over real HTTP; a conversation, and a page that is open on it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from channels.db import database_sync_to_async
from django.conf import LazySettings

from accounts.models import User
from chat import healing
from chat.models import Conversation
from chat.page import Page
from chat.providers.openai_client import close_clients
from chat.runner import Runner
from chat.runner import runner as site_runner
from chat.watchers import Watcher
from tests.contract_server.fixture import ContractHandle, running_contract_server
from tests.factories import make_conversation, session_key_of


@pytest.fixture(scope="module")
def server() -> Iterator[ContractHandle]:
    with running_contract_server() as handle:
        yield handle


@pytest.fixture
async def upstream(server: ContractHandle, settings: LazySettings) -> AsyncIterator[ContractHandle]:
    server.reset()
    settings.OPENAI_BASE_URL = server.base_url
    settings.OPENAI_API_KEY = "test-key"
    settings.OPENAI_MODEL = "plain-model"
    yield server
    await close_clients()


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(healing, "FIRST_WAIT_S", 0.01)


@pytest.fixture
async def runner() -> AsyncIterator[Runner]:
    """A process of its own, at rest when the tables are emptied."""
    one = Runner()
    yield one
    await one.drain(within_s=0)


@pytest.fixture
def conversation(alice: User) -> Conversation:
    return make_conversation(owner=alice)


@pytest.fixture
async def watcher(conversation: Conversation) -> AsyncIterator[Watcher]:
    watcher = Watcher(conversation.pk)
    with site_runner.watching(watcher):
        yield watcher


@pytest.fixture
async def opened(watcher: Watcher, alice: User) -> Page:
    made = await Page.of(watcher, alice, await database_sync_to_async(session_key_of)(alice))
    assert made is not None
    return made
