"""Models over the API: what there is, and which one answers."""

import json
from typing import Any

import pytest
from channels.db import database_sync_to_async

from accounts.models import User
from chat.models import Conversation
from tests.chat.api_client import JSON, client_of
from tests.chat.asking import owner_of
from tests.factories import make_profile

pytestmark = pytest.mark.django_db(transaction=True)
offer = database_sync_to_async(make_profile)
MODELS = "/api/models/"


@pytest.fixture
def url(conversation):
    return f"/api/chats/{conversation.pk}/messages/"


async def _posted(alice: User, url: str, **form: Any) -> tuple[int, dict[str, Any]]:
    answer = await (await client_of(alice)).post(url, json.dumps(form), **JSON)
    return answer.status_code, answer.json()


async def _profile(conversation: Conversation) -> str | None:
    found = await Conversation.objects.select_related("profile").aget(pk=conversation.pk)
    return found.profile.name if found.profile else None


async def test_models_are_listed_with_names_and_labels(alice):
    await offer("kimi", label="Kimi")
    await offer("retired", is_enabled=False)

    answer = await (await client_of(alice)).get(MODELS)

    assert answer.json() == [{"name": "offline-analyst", "label": "Offline analyst"}, {"name": "kimi", "label": "Kimi"}]


async def test_model_that_the_endpoint_chooses_is_listed_by_its_name(alice, upstream, settings):
    settings.OPENAI_MODEL = None
    upstream.script([], models={"first-model": "openai-chat"})

    answer = await (await client_of(alice)).get(MODELS)

    assert answer.json() == [{"name": "first-model", "label": "first-model"}]


@pytest.mark.parametrize("is_named", [False, True])
async def test_model_that_is_a_path_is_shown_by_its_last_part_and_asked_for_whole(
    alice, upstream, conversation, url, settings, is_named
):
    path = "/home/operator/models/Tiny-Q4.gguf"
    settings.OPENAI_MODEL = path if is_named else None
    settings.CONNECT_TIMEOUT_S = 11  # another endpoint, which has not found its model in an earlier test
    upstream.script([{"content": "One."}, {"content": "Two."}], models={path: "openai-chat"})
    client = await client_of(alice)

    listed = (await client.get(MODELS)).json()
    _status, form = await _posted(alice, url, text="a", model=listed[0]["name"])
    browser = await owner_of(conversation)
    page = (await browser.get(f"/chats/{conversation.pk}/")).content.decode()
    exported = [
        (await browser.get(f"/chats/{conversation.pk}/export/?format={kind}")).content.decode()
        for kind in ("md", "json")
    ]

    assert listed == [{"name": "Tiny-Q4.gguf", "label": "Tiny-Q4.gguf"}]
    assert form["model"] == "Tiny-Q4.gguf"
    assert all("Q4.gguf" in text for text in (page, *exported))
    assert "/home/operator" not in "".join((page, *exported, json.dumps(form)))
    assert upstream.requests()[0]["body"]["model"] == path


async def test_endpoint_that_offers_another_model_by_now_is_asked_again(alice, upstream, url, settings):
    settings.OPENAI_MODEL, settings.CONNECT_TIMEOUT_S = None, 12
    upstream.script([{"content": "One."}], models={"old-model": "openai-chat"})
    await _posted(alice, url, text="a")
    upstream.script([{"content": "Two."}], models={"new-model": "openai-chat"})

    (_, failed), (_, found) = await _posted(alice, url, text="b"), await _posted(alice, url, text="c")

    assert (failed["status"], failed["error"]["code"]) == ("error", "refused")
    assert (found["status"], found["model"]) == ("complete", "new-model")


@pytest.mark.parametrize("is_staff", [True, False])
async def test_path_of_an_unknown_model_is_shown_in_no_error(alice, upstream, url, settings, is_staff):
    settings.OPENAI_MODEL = "/home/operator/models/nothing.gguf"
    alice.is_staff = is_staff
    await alice.asave()

    _status, form = await _posted(alice, url, text="a")

    assert form["status"] == "error"
    assert ("nothing.gguf" in form["error"]["message"]) is is_staff
    assert "/home" not in json.dumps(form)


async def test_message_is_answered_by_the_model_it_names_and_so_is_the_next(alice, upstream, conversation, url):
    upstream.script([{"content": "One."}, {"content": "Two."}, {"content": "Three."}])
    await offer("other", base_url=upstream.base_url, model="generic-openai-compatible")

    named = await _posted(alice, url, text="a", model="other")
    kept = await _posted(alice, url, text="b")
    back = await _posted(alice, url, text="c", model="plain-model")

    assert [form["model"] for _status, form in (named, kept, back)] == [
        "generic-openai-compatible",
        "generic-openai-compatible",
        "plain-model",
    ]
    assert await _profile(conversation) is None


@pytest.mark.parametrize("model", ["nobody", "retired", 7, [], {"name": "other"}, True])
async def test_unknown_model_is_refused_with_the_field_and_those_there_are(alice, conversation, url, model):
    await offer("other")
    await offer("retired", is_enabled=False)

    status, form = await _posted(alice, url, text="a", model=model)

    assert (status, form["error"]["code"], form["error"]["field"]) == (400, "unknown_model", "model")
    assert form["error"]["message"] == "model: one of offline-analyst, other."
    assert await _profile(conversation) is None
    assert not await conversation.turns.aexists()


async def test_refused_message_chooses_no_model(alice, upstream, conversation, url):
    await offer("other")
    await conversation.turns.acreate(number=1)

    status, form = await _posted(alice, url, text="a", model="other")

    assert (status, form["error"]["code"]) == (409, "turn_running")
    assert await _profile(conversation) is None
