"""Answers of unusual shapes, asked for over the JSON API: what a script gets, and what is stored."""

from __future__ import annotations

from typing import Any

import pytest
from channels.db import database_sync_to_async

from accounts.models import User
from chat.audit.scan import scan_database
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


# review A: over-stripping, 4.7
@pytest.mark.spec("product 27")
async def test_delimiters_in_code_are_shown_stored_and_sent_back_as_written(
    upstream: ContractHandle, conversation: Conversation, alice: User
) -> None:
    code = '```py\nre.sub(r"<think>.*?</think>", "", text)\n```\nIt drops `<think>` blocks.'
    summary = "Reasoning Summary:\n- Read what `<think>` is.\n- Wrote it.\n\nFinal Answer:\n"

    form = await answer_to(
        upstream, conversation, alice, {"content": f"{summary}{code}", "chunk": 3}, {"content": "Ok."}
    )
    client = await client_of(alice, by="session")
    await ask(await client_of(alice), conversation)
    page = (await client.get(conversation.get_absolute_url())).content.decode()

    assert form["answer"] == code
    assert form["reasoningSummary"] == ["Read what `<think›` is.", "Wrote it."]
    assert code in [message["content"] for message in upstream.requests()[-1]["body"]["messages"]]
    assert "&lt;think&gt;" in page
    assert "<think" not in page
    assert [str(found) for found in await database_sync_to_async(lambda: [*scan_database()])()] == []


# review A D3
@pytest.mark.spec("product 16")
@pytest.mark.parametrize("content", ["<think>x</think>Final answer", "**Final Answer**", "- a\n\nFinal answer"])
async def test_heading_without_content_is_the_answer(
    upstream: ContractHandle, conversation: Conversation, alice: User, content: str
) -> None:
    form = await answer_to(upstream, conversation, alice, {"content": content, "chunk": 2})

    assert form["answer"] == content.removeprefix("<think>x</think>")
    assert form["reasoningSummary"] == []


# review B D4
@pytest.mark.spec("product 22")
@pytest.mark.parametrize(
    "content",
    ["Scratchpad:\nheron private\n\nFinal Answer:\nYes.", "Yes.&lt;scratchpad&gt;heron private&lt;/scratchpad&gt;"],
)
async def test_scratchpad_without_its_tag_reaches_nobody(
    upstream: ContractHandle, conversation: Conversation, alice: User, content: str
) -> None:
    form = await answer_to(
        upstream, conversation, alice, {"reasoning": f"Hm.\n{content}", "content": content, "chunk": 3}
    )

    assert form["answer"] == "Yes."
    assert "heron" not in str(form)
    assert [str(found) for found in await database_sync_to_async(lambda: [*scan_database(["heron"])])()] == []


# review A 3.4: what the grammar of delimiters leaves as text is redacted like any text
async def test_unseen_characters_hide_no_delimiter_and_attributes_no_secret(
    upstream: ContractHandle, conversation: Conversation, alice: User
) -> None:
    secret = "sk-" + "proj-" + "Q1w2E3r4T5y6" * 4

    form = await answer_to(
        upstream,
        conversation,
        alice,
        {"content": f"<th\u200bink>hidden</th\u200bink>So.\n<think mode='x'>key {secret} now.</think>"},
    )

    assert form["answer"] == "So.\n<think mode='x'>key [redacted] now."
    assert form["thinking"]["text"] == "hidden"


# review U D13
@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("In the year 2221,", "In the year 2221,"),
        ("It cost $3.5", "It cost $3.5"),
        ("So `<think>`", "So `<think>`"),
        ("The key sk-" + "proj-a1B2", "The key [redacted]"),
    ],
)
async def test_broken_stream_keeps_its_last_word(
    upstream: ContractHandle, conversation: Conversation, alice: User, said: str, kept: str
) -> None:
    fault = {"kind": "disconnect", "at": "event:2"}
    reply = {"content": f"{said} and more", "chunk": len(said), "faults": [fault]}

    form = await answer_to(upstream, conversation, alice, reply)

    assert (form["status"], form["answer"]) == ("error", kept)
