"""A service that takes no tools: it is asked again without them, and that is remembered. Product 28."""

from datetime import timedelta

import pytest
from channels.db import database_sync_to_async
from django.utils import timezone

from chat.conversations.learned_facts import learned_facts
from chat.models import Conversation, LearnedFacts
from tests.chat.asking import ask, owner_of
from tests.contract_server.fixture import ContractHandle
from tests.factories import make_profile

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spec("product 28")]
REFUSAL = {"kind": "http_error", "status": 400, "message": "registry.ollama.ai/library/x does not support tools"}
WITHOUT_TOOLS = "This model takes no tools, so this answer was generated without looking anything up."


def offers_tools(upstream: ContractHandle) -> list[bool]:
    return ["tools" in request["body"] for request in upstream.requests()]


async def page_of(conversation: Conversation) -> str:
    answer = await (await owner_of(conversation)).get(f"/chats/{conversation.pk}/")
    page: str = answer.content.decode()
    return page


def let_a_day_pass() -> None:
    LearnedFacts.objects.update(updated_at=timezone.now() - timedelta(days=1, minutes=1))
    learned_facts.refresh()


@pytest.mark.parametrize(
    "refusal",
    [
        REFUSAL,
        {**REFUSAL, "status": 404, "message": "No endpoints found that support tool use."},
        {**REFUSAL, "status": 500, "message": "tools param requires --jinja flag"},
    ],
)
async def test_request_is_made_again_without_tools_and_so_is_the_next(upstream, conversation, refusal):
    upstream.script([{"content": "One.", "faults": [refusal]}, {"content": "Two."}])

    first = await ask(conversation)
    second = await ask(conversation)

    assert [first.status, second.status] == ["completed", "completed"]
    assert offers_tools(upstream) == [True, False, False]
    assert (await page_of(conversation)).count(WITHOUT_TOOLS) == 2


async def test_tools_are_offered_again_after_a_day(upstream, conversation):
    answers = [{"content": "One.", "faults": [REFUSAL]}, {"content": "Two.", "faults": [REFUSAL]}]
    upstream.script([*answers, {"content": "Three."}])
    await ask(conversation)
    await database_sync_to_async(let_a_day_pass)()

    second = await ask(conversation)
    third = await ask(conversation)

    assert [second.status, third.status] == ["completed", "completed"]
    assert offers_tools(upstream) == [True, False, True, False, False]


async def test_refusal_is_forgotten_once_the_model_calls_a_tool(upstream, conversation):
    call = {"tool_calls": [{"name": "searchFilings", "arguments": '{"query": "covenants"}'}]}
    upstream.script([{**call, "faults": [REFUSAL]}, {"content": "One."}])

    turn = await ask(conversation)

    assert turn.status == "completed"
    assert offers_tools(upstream) == [True, False, True]


@pytest.mark.parametrize(("takes_tools", "offered"), [(True, [True]), (False, [False])])
async def test_profile_decides_where_it_says_something(upstream, conversation, takes_tools, offered):
    upstream.script([{"content": "One.", "faults": [REFUSAL] if takes_tools else []}])
    make = database_sync_to_async(make_profile)
    conversation.profile = await make("own", base_url=upstream.base_url, model="plain-model", takes_tools=takes_tools)
    await conversation.asave()

    turn = await ask(conversation)

    assert offers_tools(upstream) == offered
    assert (turn.status, turn.error_reason) == (("errored", "tools") if takes_tools else ("completed", ""))
    assert WITHOUT_TOOLS not in await page_of(conversation)
