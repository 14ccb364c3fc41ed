"""What the preview says will go is what goes, over each API and in each dialect of the strict upstream. Product 8."""

from __future__ import annotations

import json
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.conf import LazySettings
from django.test import AsyncClient

from accounts.models import User
from chat import preview
from chat.models import Conversation
from chat.providers.base import ProviderRequest
from chat.providers.offline import OfflineAnalyst
from chat.runner import Runner
from tests.chat.histories import KINDS, Kind, Talk, cut
from tests.contract_server.fixture import ContractHandle
from tests.factories import make_conversation, make_turn, open_turn

pytestmark = pytest.mark.django_db(transaction=True)
QUESTION = "And what of the next one?"


@pytest.fixture
def talk(upstream: ContractHandle, runner: Runner, conversation: Conversation) -> Talk:
    return Talk(upstream, runner, conversation)


async def _previewed(talk: Talk, name: str | None = None) -> dict[str, Any]:
    owned = await Conversation.objects.select_related("owner", "profile").aget(pk=talk.conversation.pk)
    found = await preview.read(owned, await preview.chosen_model(owned, name))
    return json.loads(json.dumps(preview.as_json(found)))["body"]


async def _sent(talk: Talk) -> dict[str, Any]:
    """Ask, and return the body of the first request as it came over the wire."""
    before = len(talk.upstream.requests())
    await talk.ask(talk.answer(), text=QUESTION)
    request = talk.upstream.requests()[before]
    assert request["verdict"] == "accepted"
    return json.loads(request["raw"])


def _with_question(body: dict[str, Any]) -> dict[str, Any]:
    if "input" in body:
        return {**body, "input": [*body["input"], {"type": "message", "role": "user", "content": QUESTION}]}
    return {**body, "messages": [*body["messages"], {"role": "user", "content": QUESTION}]}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
async def test_previewed_body_is_sent_with_the_question_at_its_end(talk: Talk, kind: Kind) -> None:
    await talk.choose(kind)
    await talk.ask(*talk.loop())
    await talk.ask(talk.step(), talk.answer())

    previewed = await _previewed(talk)

    assert await _sent(talk) == _with_question(previewed)


@pytest.mark.parametrize("kind", [KINDS["kimi-k2-thinking"], KINDS["gpt-5-mini"]], ids=["chat", "responses"])
async def test_previewed_body_is_sent_after_a_turn_that_failed(talk: Talk, kind: Kind) -> None:
    await talk.choose(kind)
    await talk.ask(talk.step(), cut(talk.answer(), 4))

    previewed = await _previewed(talk)

    assert await _sent(talk) == _with_question(previewed)


@pytest.mark.parametrize("layer", [{"includeInContext": False}, {"stripFromContext": "all"}, {"effort": "high"}])
async def test_previewed_body_follows_the_settings_of_this_moment(talk: Talk, layer: dict[str, Any]) -> None:
    await talk.choose(KINDS["qwen3-local"])
    await talk.ask(talk.answer())
    before = await _previewed(talk)
    await talk.set(**layer)

    previewed = await _previewed(talk)

    assert (previewed == before) == (layer == {"effort": "high"} and "chat_template_kwargs" not in previewed)
    assert await _sent(talk) == _with_question(previewed)


async def test_other_model_is_previewed_without_being_chosen(talk: Talk) -> None:
    await talk.choose(KINDS["gpt-5-mini"])
    await talk.choose(KINDS["plain-model"])
    await talk.ask(talk.answer())

    other = await _previewed(talk, "gpt-5-mini")

    assert (other["model"], other["store"]) == ("gpt-5-mini", False)
    assert (await _previewed(talk))["model"] == "plain-model"
    await talk.choose(KINDS["gpt-5-mini"])
    assert await _sent(talk) == _with_question(other)


async def test_refused_spare_parameter_is_previewed_no_more(talk: Talk) -> None:
    refusal = "Unrecognized request argument supplied: stream_options"
    fault = {"kind": "http_error", "status": 400, "message": refusal}
    await talk.choose(KINDS["plain-model"], base_url=f"{talk.upstream.base_url}/")  # whose provider nobody else has
    assert "stream_options" in await _previewed(talk)

    await talk.ask({**talk.answer(), "faults": [fault]})

    assert "stream_options" not in await _previewed(talk)


async def test_preview_sends_nothing(talk: Talk) -> None:
    await talk.ask(talk.answer())
    before = len(talk.upstream.requests())

    await _previewed(talk)

    assert len(talk.upstream.requests()) == before


@pytest.mark.spec("product 9")
async def test_scratchpad_is_in_no_preview(
    upstream: ContractHandle, runner: Runner, ada: User, settings: LazySettings
) -> None:
    settings.REASONING_SCRATCHPAD_ENABLED = True
    talk = Talk(upstream, runner, await database_sync_to_async(make_conversation)(owner=ada))
    text = "Reasoning Summary:\n- Looked.\n- Read.\n\nFinal Answer:\nYes.\n<scratchpad>canary-note</scratchpad>"
    await talk.choose(KINDS["kimi-k2-thinking"])
    await talk.ask({"reasoning": "<scratchpad>canary-thought</scratchpad>Hm.", "content": text})
    client = AsyncClient()
    await client.aforce_login(ada)

    page = await client.get(f"/chats/{talk.conversation.pk}/preview/")
    body = json.dumps(await _previewed(talk))

    assert "canary" not in page.content.decode() + body
    assert "Yes." in body


async def test_endpoints_own_model_is_named_in_the_preview(talk: Talk, settings: LazySettings) -> None:
    settings.OPENAI_MODEL = None
    talk.upstream.script([], models={"first-model": "openai-chat"})

    assert (await _previewed(talk))["model"] == "first-model"


async def test_running_turn_previews_its_own_next_request(conversation: Conversation, settings: LazySettings) -> None:
    await database_sync_to_async(make_turn)(conversation, question="First?", answer="One.")
    await database_sync_to_async(open_turn)(conversation.pk, text="Second?")
    owned = await Conversation.objects.select_related("owner", "profile").aget(pk=conversation.pk)

    found = await preview.read(owned, await preview.chosen_model(owned, None))

    assert [message["content"] for message in found.body["messages"][1:]] == ["First?", "One.", "Second?"]


def test_offline_analyst_says_what_a_service_would_get() -> None:
    body = {"model": "offline-analyst", "messages": [{"role": "user", "content": "Why?"}]}
    tool = {"type": "function", "function": {"name": "look"}}

    said = OfflineAnalyst().request_body(ProviderRequest(body, "Be brief.", [tool], "key"))

    assert [message["role"] for message in said["messages"]] == ["system", "user"]
    assert said["tools"] == [tool]
