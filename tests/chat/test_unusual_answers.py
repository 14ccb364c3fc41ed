"""Answers of unusual shapes, asked for over the JSON API: what a script gets, and what is stored."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import User
from chat.models import Conversation, Event
from tests.chat.api_client import ask, client_of
from tests.contract_server.fixture import ContractHandle

pytestmark = pytest.mark.django_db(transaction=True)


async def answer_to(upstream: ContractHandle, conversation: Conversation, alice: User, *replies: dict[str, Any]) -> Any:
    upstream.script([*replies])
    client = await client_of(alice)
    return (await ask(client, conversation)).json()


# review A D5, B D9
@pytest.mark.spec("product 18")
async def test_blank_native_reasoning_is_no_thinking(
    upstream: ContractHandle, conversation: Conversation, alice: User
) -> None:
    form = await answer_to(upstream, conversation, alice, {"reasoning": " \n ", "content": "Yes."})

    assert (form["answer"], form.get("thinking")) == ("Yes.", None)
    assert not await Event.objects.filter(type="reasoning").aexists()
