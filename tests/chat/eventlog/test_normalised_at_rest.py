"""What is recorded has been normalised: no way of leaking delimiters reaches a row of the log."""

import pytest
from channels.db import database_sync_to_async
from django.db import connection

from chat.audit.scan import scan_database
from replay_contract_server.delimiters import has_delimiter
from tests.chat import api_client
from tests.chat.asking import ask, owner_of

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
async def test_no_leak_of_a_provider_is_recorded(upstream, conversation, reply):
    upstream.script([{**reply, "chunk": 2}])

    turn = await ask(conversation)

    assert turn.status == "completed"
    assert not has_delimiter(await database_sync_to_async(_public_rows)())


# Over-stripping.
@pytest.mark.spec("product 27")
async def test_delimiters_in_code_are_shown_stored_and_sent_back_as_written(upstream, conversation, alice):
    code = '```py\nre.sub(r"<think>.*?</think>", "", text)\n```\nIt drops `<think>` blocks.'
    summary = "Reasoning Summary:\n- Read what `<think>` is.\n- Wrote it.\n\nFinal Answer:\n"

    upstream.script([{"content": f"{summary}{code}", "chunk": 3}, {"content": "Ok."}])
    form = (await api_client.ask(await api_client.client_of(alice), conversation)).json()
    await ask(conversation, "And?")
    page = (await (await owner_of(conversation)).get(conversation.get_absolute_url())).content.decode()

    assert form["answer"] == code
    assert form["reasoningSummary"] == ["Read what <think› is.", "Wrote it."]
    assert code in [message["content"] for message in upstream.requests()[-1]["body"]["messages"]]
    assert "&lt;think&gt;" in page
    assert "<think" not in page
    assert [str(found) for found in await database_sync_to_async(lambda: [*scan_database()])()] == []


# What the grammar of delimiters leaves as text is redacted like any text
async def test_unseen_characters_hide_no_delimiter_and_attributes_no_secret(upstream, conversation, alice):
    secret = "sk-" + "proj-" + "Q1w2E3r4T5y6" * 4

    said = f"<th\u200bink>hidden</th\u200bink>So.\n<think mode='x'>key {secret} now.</think>"
    upstream.script([{"content": said}])
    form = (await api_client.ask(await api_client.client_of(alice), conversation)).json()

    assert form["answer"] == "So.\n<think mode='x'>key [redacted] now."
    assert form["thinking"]["text"] == "hidden"
