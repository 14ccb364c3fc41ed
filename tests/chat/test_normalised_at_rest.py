"""What is recorded has been normalised: no way of leaking delimiters reaches a row of the log."""

from __future__ import annotations

import pytest
from channels.db import database_sync_to_async
from django.db import connection

from chat.models import Conversation
from tests.chat.asking import ask
from tests.contract_server.fixture import ContractHandle
from tests.delimiters import has_delimiter

pytestmark = pytest.mark.django_db(transaction=True)
LEAKS = [
    {"content": "Done.</think>"},
    {"reasoning": "native </thinking> text", "content": "<think>again</think>So."},
    {"content": "<thinking>first</thinking>Then <REASONING>block</REASONING> and</REASONING> more."},
    {"reasoning": "hidden", "tags": "think", "content": "Visible."},
    {"content": "<THINK >odd</ThInK\t>Fine.<scratchpad>x"},
]


def _public_rows() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT public FROM chat_event WHERE type <> 'user_message'")
        return "\n".join(str(row[0]) for row in cursor.fetchall())


@pytest.mark.spec("003 invariant 4")
@pytest.mark.parametrize("reply", LEAKS)
async def test_no_leak_of_a_provider_is_recorded(
    upstream: ContractHandle, conversation: Conversation, reply: dict[str, str]
) -> None:
    upstream.script([{**reply, "chunk": 2}])

    turn = await ask(conversation)

    assert turn.status == "completed"
    assert not has_delimiter(await database_sync_to_async(_public_rows)())
