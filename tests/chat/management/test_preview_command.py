"""``manage.py preview_request`` prints exactly the body that is sent next, over each API and dialect. Product 8, 10."""

import json
from io import StringIO
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.core.management import CommandError, call_command
from django.test import AsyncClient

from chat.models import Conversation
from chat.request_preview.plan import chosen_model, exact_json, plan_preview
from tests.chat.histories import KINDS, Talk
from tests.factories import SECRET, TOOL_OUTPUT, make_conversation, make_history, make_thought, make_tool_step

pytestmark = pytest.mark.django_db(transaction=True)
QUICK = ("kimi-k2-thinking", "gpt-5-mini", "plain-model")
ARGUMENTS = f'{{ "query" :  "{SECRET}"}}'
QUESTION = "And what of the next one?"


@pytest.fixture
def talk(upstream, turn_manager, conversation):
    return Talk(upstream, turn_manager, conversation)


async def preview(talk: Talk, name: str | None = None) -> dict[str, Any]:
    owned = await Conversation.objects.select_related("owner", "profile").aget(pk=talk.conversation.pk)
    found = await plan_preview(owned, await chosen_model(owned, name))
    return json.loads(json.dumps(exact_json(found)))["body"]


async def send(talk: Talk) -> dict[str, Any]:
    """Ask, and return the body of the first request as it came over the wire."""
    before = len(talk.upstream.requests())
    await talk.ask(talk.answer(), text=QUESTION)
    request = talk.upstream.requests()[before]
    assert request["verdict"] == "accepted"
    return json.loads(request["raw"])


def with_question(body: dict[str, Any]) -> dict[str, Any]:
    if "input" in body:
        return {**body, "input": [*body["input"], {"type": "message", "role": "user", "content": QUESTION}]}
    return {**body, "messages": [*body["messages"], {"role": "user", "content": QUESTION}]}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in KINDS]
)
async def test_previewed_body_is_sent_with_the_question_at_its_end(talk, name):
    await talk.choose(KINDS[name])
    await talk.ask(*talk.loop())
    await talk.ask(*talk.looked_up())

    previewed = await preview(talk)

    assert await send(talk) == with_question(previewed)


@pytest.mark.parametrize("layer", [{"includeInContext": False}, {"stripFromContext": "all"}, {"effort": "high"}])
async def test_previewed_body_follows_the_settings_of_this_moment(talk, layer):
    await talk.choose(KINDS["qwen3-local"])
    await talk.ask(talk.answer())
    before = await preview(talk)
    await talk.set(**layer)

    previewed = await preview(talk)

    assert (previewed == before) == (layer == {"effort": "high"} and "chat_template_kwargs" not in previewed)
    assert await send(talk) == with_question(previewed)


@pytest.mark.spec("product 9")
async def test_scratchpad_is_in_no_preview(upstream, turn_manager, ada, settings):
    settings.REASONING_SCRATCHPAD_ENABLED = True
    talk = Talk(upstream, turn_manager, await database_sync_to_async(make_conversation)(owner=ada))
    text = "Reasoning Summary:\n- Looked.\n- Read.\n\nFinal Answer:\nYes.\n<scratchpad>canary-note</scratchpad>"
    await talk.choose(KINDS["kimi-k2-thinking"])
    await talk.ask({"reasoning": "<scratchpad>canary-thought</scratchpad>Hm.", "content": text})
    client = AsyncClient()
    await client.aforce_login(ada)

    page = await client.get(f"/chats/{talk.conversation.pk}/preview/")
    body = json.dumps(await preview(talk))

    assert "canary" not in page.content.decode() + body
    assert "Yes." in body


def run_command(conversation: Conversation, *options: str) -> dict[str, Any]:
    said = StringIO()
    call_command("preview_request", str(conversation.pk), *options, stdout=said)
    found: dict[str, Any] = json.loads(said.getvalue())
    return found


@pytest.mark.spec("product 10")
def test_command_prints_the_exact_body(conversation):
    make_history(conversation, *make_tool_step(ARGUMENTS))

    messages = run_command(conversation)["body"]["messages"]

    assert messages[2]["tool_calls"][0]["function"]["arguments"] == ARGUMENTS
    assert messages[3]["content"] == TOOL_OUTPUT


def test_command_prints_what_is_left_out_and_the_figures(conversation):
    conversation.reasoning = {"reasoning.maxTokens": 9}
    conversation.save()
    make_history(conversation, make_thought("Forty characters of thought, no more no."), *make_tool_step())

    printed = run_command(conversation)

    assert printed["omissions"] == [
        {"seq": 2, "rule": "spec 001 BR-001", "reason": "reasoning.includeInContext is off"}
    ]
    assert printed["storedTokens"] - printed["effectiveTokens"] == 10
    assert (printed["limit"], printed["shouldCompact"]) == (32_000, False)
    assert printed["notes"] == ["reasoning.maxTokens: this service (openai-chat) has no parameter for it"]


@pytest.mark.parametrize("name", ["00000000-0000-4000-8000-000000000000", "no id"])
def test_unknown_conversation_is_one_clear_line(name):
    with pytest.raises(CommandError, match=rf"^No conversation has the id {name}\.$") as refused:
        call_command("preview_request", name)

    assert refused.value.returncode == 1
