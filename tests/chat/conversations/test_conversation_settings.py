"""Settings of one conversation, set by a command, a form or a script: what they change, for whom, and when."""

import json
from typing import Any

import pytest
from django.test import Client

from accounts import preferences
from accounts.access.tokens import create_token
from accounts.models import User
from chat import eventlog
from chat.conversations import commands, reasoning_settings
from chat.conversations.commands import parse
from chat.models import Conversation
from chat.validation import InvalidInputError
from tests.factories import THINKING_CANARY, client_of, make_answer, make_conversation, make_profile

pytestmark = pytest.mark.django_db


def obey(text: str, conversation: Conversation) -> commands.CommandAnswer:
    order = parse(text)
    assert order is not None
    answer = commands.execute(order, conversation.owner, conversation.pk)
    conversation.refresh_from_db()
    return answer


def row_of(name: str, conversation: Conversation) -> commands.CommandRow:
    return next(row for row in obey("/set", conversation).rows if row.code == name)


@pytest.mark.spec("001 BR-008")
def test_each_layer_in_its_turn_decides_and_an_unset_value_falls_through(settings, conversation):
    name = "reasoning.effort"
    assert row_of(name, conversation).cells[:2] == ("Automatic", "default")
    settings.REASONING_DEFAULTS = {name: "minimal"}
    assert row_of(name, conversation).cells[:2] == ("Minimal", "site")
    conversation.profile = make_profile("big", reasoning={name: "medium"})
    conversation.save()
    assert row_of(name, conversation).cells[:2] == ("Medium", "model")
    conversation.owner.reasoning = {name: "high"}
    conversation.owner.save()
    assert row_of(name, conversation).cells[:2] == ("High", "you")
    obey("/set reasoning.effort low", conversation)
    assert row_of(name, conversation).cells[:2] == ("Low", "this conversation")

    answer = obey("/set reasoning.effort unset", conversation)

    assert row_of(name, conversation).cells[:2] == ("High", "you")
    assert answer.text == "Effort set to High (you), from the next message"
    assert conversation.reasoning == {}


@pytest.mark.spec("product 13")
def test_site_without_reasoning_says_that_it_decides(settings, conversation):
    settings.REASONING_ENABLED = False
    obey("/set reasoning.enabled true", conversation)

    assert row_of("reasoning.enabled", conversation).cells[:2] == ("Off", "site")


@pytest.mark.spec("001 EC-004")
def test_change_in_mid_conversation_leaves_what_is_stored_as_it_was(conversation):
    make_answer(conversation)
    before = eventlog.history(conversation.pk)

    obey("/set reasoning.includeInContext true", conversation)
    obey("/set reasoning.stripFromContext all", conversation)

    assert eventlog.history(conversation.pk) == before
    assert reasoning_settings.effective_settings(conversation.owner, conversation).strip_from_context == "all"


@pytest.mark.spec("001 EC-005")
def test_loaded_profile_is_all_that_is_set_here(conversation):
    obey("/set reasoning.effort low", conversation)
    obey("/set reasoning.includeInResponse false", conversation)
    obey("/profile save quiet", conversation)
    obey("/set reasoning.includeInResponse unset", conversation)
    obey("/set reasoning.summary auto", conversation)

    obey("/profile load quiet", conversation)

    assert conversation.reasoning == {"reasoning.effort": "low", "reasoning.includeInResponse": False}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/profile load nowhere", "There is no profile nowhere; there are openai, deepseek"),
        ("/profile delete nowhere", "You have saved no profiles yet."),
        ("/profile delete kimi", "kimi is built in and can't be deleted."),
        ("/profile save kimi", "kimi is a built-in profile; choose another name."),
        (f"/profile save {'x' * 41}", "A name is 1 to 40 letters"),
        ("/profile save <b>", "A name is 1 to 40 letters"),
    ],
)
def test_profile_that_cannot_be_is_refused_and_nothing_changes(conversation, text, said):
    with pytest.raises(InvalidInputError) as refused:
        obey(text, conversation)

    assert refused.value.message.startswith(said)
    assert not conversation.owner.reasoning_profiles.exists()
    assert conversation.reasoning == {}


@pytest.mark.spec("product 14")
def test_profile_of_somebody_else_is_not_found(conversation, bob):
    preferences.save_profile(bob, "secretive", {"reasoning.effort": "max"})

    with pytest.raises(InvalidInputError):
        obey("/profile load secretive", conversation)
    assert "secretive" not in json.dumps(commands.completions(conversation.owner))


@pytest.mark.spec("001 BR-003")
@pytest.mark.parametrize(("person_has", "here", "is_shown"), [(True, False, False), (False, True, True)])
def test_conversation_governs_its_own_cards_everywhere(alice, person_has, here, is_shown):
    alice.reasoning = {"reasoning.includeInResponse": person_has}
    alice.save()
    conversation = make_conversation(owner=alice)
    turn = make_answer(conversation)
    reasoning_settings.change(conversation.pk, {"reasoning.includeInResponse": here})
    client, url = client_of(alice), conversation.get_absolute_url()

    assert ("data-ai-reasoning" in client.get(url).text) is is_shown
    assert (THINKING_CANARY in client.get(f"{url}?open={turn.public_id}").text) is is_shown
    assert ("data-ai-reasoning" in client.get(f"{url}messages/").text) is is_shown
    assert (client.get(f"{url}turns/{turn.pk}/thinking/").status_code == 200) is is_shown
    assert (THINKING_CANARY in client.get(f"/api{url}messages/").text) is is_shown


# The composer's form, without JavaScript.


def test_form_carries_a_command_out_and_says_so_after_a_303(alice, conversation):
    client, url = client_of(alice), conversation.get_absolute_url()

    answer = client.post(f"{url}messages/", {"text": "/set reasoning.effort low"})

    assert (answer.status_code, answer["Location"]) == (303, url)
    assert "Effort set to Low (this conversation)" in client.get(url).text
    assert not conversation.turns.exists()


# The JSON API.


def _patch(conversation: Conversation, form: Any, *, by: User | None = None) -> Any:
    _row, token = create_token(by or conversation.owner)
    client = Client(headers={"authorization": f"Bearer {token}"})
    return client.patch(f"/api/chats/{conversation.pk}/settings/", json.dumps(form), content_type="application/json")


def test_script_reads_sets_and_unsets(conversation):
    reasoning_settings.change(conversation.pk, {"reasoning.format": "native"})

    answer = _patch(conversation, {"reasoning.effort": "low", "reasoning.format": None}).json()

    assert (answer["reasoning.effort"], answer["layers"]["reasoning.effort"]) == ("low", "conversation")
    assert (answer["reasoning.format"], answer["layers"]["reasoning.format"]) == ("field", "default")
    assert answer["allowed"]["reasoning.summary"] == ["auto", "concise", "detailed", "none"]
    conversation.refresh_from_db()
    assert conversation.reasoning == {"reasoning.effort": "low"}
    assert client_of(conversation.owner).get(f"/api/chats/{conversation.pk}/settings/").json() == answer


@pytest.mark.spec("001 ERR-001")
@pytest.mark.parametrize(
    ("form", "code", "field", "said"),
    [
        (
            {"reasoning.effort": "low", "reasoning.format": "xml"},
            *("invalid_setting", "reasoning.format", "'field' or 'native' only"),
        ),
        ({"reasoning.effort": "low", "colour": "red"}, "unknown_field", "colour", "there are reasoning.enabled"),
        ({"reasoning.maxTokens": True}, "invalid_setting", "reasoning.maxTokens", "a whole number from 1"),
        ({"reasoning.effort": "low", "effort": "high"}, "invalid_setting", "reasoning.effort", "occurs twice"),
    ],
)
def test_script_is_refused_by_field_and_nothing_is_changed(conversation, form, code, field, said):
    answer = _patch(conversation, form)

    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["field"]) == (400, code, field)
    assert said in error["message"]
    conversation.refresh_from_db()
    assert conversation.reasoning == {}
