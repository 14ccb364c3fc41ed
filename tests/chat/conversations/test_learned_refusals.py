"""What a service refuses: it is asked again without, at once and later. Product 28, 29, 31; replay 10."""

from datetime import timedelta

import pytest
from channels.db import database_sync_to_async
from django.utils import timezone

from chat.conversations.learned_facts import REFUSAL_COUNTS, learned_facts
from chat.models import Conversation, LearnedFacts, Turn
from replay_contract_server.fixture import ContractHandle
from tests.chat.asking import ask, owner_of
from tests.factories import make_profile

pytestmark = pytest.mark.django_db(transaction=True)


def refusal(message: str, status: int = 400) -> dict[str, object]:
    """Return the fault of a service that answers so."""
    return {"kind": "http_error", "status": status, "message": message}


def offers_tools(upstream: ContractHandle) -> list[bool]:
    return ["tools" in request["body"] for request in upstream.requests()]


async def card_of(conversation: Conversation) -> str:
    client = await owner_of(conversation)
    return (await client.get(f"/chats/{conversation.pk}/")).content.decode()


@pytest.mark.spec("product 28")
@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "registry.ollama.ai/library/gemma:2b does not support tools"),
        (404, "No endpoints found that support tool use."),
        (500, "tools param requires --jinja flag"),
    ],
)
async def test_service_that_refuses_tools_is_asked_again_without(upstream, conversation, status, message):
    upstream.script([{"content": "One.", "faults": [refusal(message, status)]}, {"content": "Two."}])

    first, second = await ask(conversation), await ask(conversation, "And?")

    assert (first.status, second.status) == (Turn.Status.COMPLETED, Turn.Status.COMPLETED)
    assert offers_tools(upstream) == [True, False, False]
    assert "This model takes no tools" in await card_of(conversation)


@pytest.mark.spec("product 28")
async def test_refusal_of_tools_lapses_after_a_while(upstream, conversation):
    refused = refusal("model does not support tools")
    upstream.script([{"content": "One.", "faults": [refused]}])
    await ask(conversation)
    long_ago = timezone.now() - REFUSAL_COUNTS - timedelta(hours=1)
    await LearnedFacts.objects.aupdate(tools_refused_at=long_ago)
    await database_sync_to_async(learned_facts.refresh)()
    upstream.script([{"content": "Two.", "faults": [refused]}, {"content": "Three."}])

    turns = [await ask(conversation, "And?"), await ask(conversation, "Then?")]

    assert [turn.status for turn in turns] == [Turn.Status.COMPLETED] * 2
    assert offers_tools(upstream)[2:] == [True, False, False]


@pytest.mark.spec("product 28")
async def test_refusal_is_forgotten_once_the_model_calls_a_tool(upstream, conversation):
    call = {"tool_calls": [{"name": "searchFilings", "arguments": '{"query": "covenants"}'}]}
    upstream.script([{**call, "faults": [refusal("tools are unsupported")]}, {"content": "One."}])

    turn = await ask(conversation)

    assert turn.status == Turn.Status.COMPLETED
    assert offers_tools(upstream) == [True, False, True]


@pytest.mark.spec("product 28")
@pytest.mark.parametrize("takes_tools", [True, False])
async def test_profile_decides_where_it_says_something(upstream, conversation, takes_tools):
    faults = [refusal("tools are unsupported")] if takes_tools else []
    upstream.script([{"content": "One.", "faults": faults}])
    make, fields = database_sync_to_async(make_profile), {"model": "plain-model", "takes_tools": takes_tools}
    conversation.profile = await make("own", base_url=upstream.base_url, **fields)
    await conversation.asave()

    turn = await ask(conversation)

    assert offers_tools(upstream) == [takes_tools]
    assert (turn.status, turn.error_reason) == (("errored", "tools") if takes_tools else ("completed", ""))


@pytest.mark.spec("product 29")
@pytest.mark.parametrize(
    "message", ["System role not supported", "Conversation roles must alternate user/assistant/..."]
)
async def test_service_without_a_system_role_gets_instructions_in_the_question(upstream, conversation, message):
    upstream.script([{"content": "One.", "faults": [refusal(message)]}, {"content": "Two."}])

    await ask(conversation, "Why so?")
    turn = await ask(conversation, "And?")

    assert turn.status == Turn.Status.COMPLETED
    roles = [[message["role"] for message in request["body"]["messages"]] for request in upstream.requests()]
    assert roles == [["system", "user"], ["user"], ["user", "assistant", "user"]]
    assert upstream.requests()[1]["body"]["messages"][0]["content"].endswith("Why so?")


@pytest.mark.spec("replay 10")
async def test_question_that_was_refused_is_left_out_of_later_requests(upstream, conversation):
    flagged = refusal("Your request was flagged by our content policy.")
    upstream.script([{"content": "Two.", "faults": [{**flagged, "times": 2}]}, {"content": "Three."}])

    first, second, third = [await ask(conversation, text) for text in ("One?", "Two?", "Three?")]

    assert (first.status, second.status, third.status) == ("errored", "completed", "completed")
    sent = [str(request["body"]["messages"]) for request in upstream.requests()]
    assert ["One?" in text for text in sent] == [True, True, False, False]


@pytest.mark.spec("replay 10")
async def test_server_that_breaks_at_a_question_is_asked_without_it(upstream, conversation):
    broken = refusal("Value is not callable: null at row 1, column 72", 500)
    upstream.script([{"content": "Two.", "faults": [{**broken, "times": 6}]}])

    first, second = [await ask(conversation, text) for text in ("One?", "Two?")]

    assert (first.status, second.status) == ("errored", "completed")
    assert ["One?" in str(request["body"]["messages"]) for request in upstream.requests()] == [True] * 6 + [False]
