"""The strict upstream as the configured model, over real HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from django.conf import LazySettings

from chat.providers.openai_client import close_clients
from tests.contract_server.fixture import ContractHandle, running_contract_server


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
