"""The addresses of a turn's trace and thinking return what the viewer sees on the card, and 404 to others."""

from typing import Any

import pytest
from django.test import Client

from chat.models import Turn
from reasoning.visibility import EXCERPT_CHARS, TRUNCATED
from tests.factories import SECRET, THINKING_CANARY, client_of, make_answer, make_conversation, open_turn

NO_REASONING: dict[str, Any] = {"REASONING_ENABLED": False}
NOT_SHOWN: dict[str, Any] = {"REASONING_SHOW_SUMMARY_DEFAULT": False}
NO_TRACE: dict[str, Any] = {"REASONING_TOOL_TRACE_DEFAULT": False}
WITHHELD: dict[str, Any] = {"REASONING_THINKING_FOR_USERS": "hidden"}


@pytest.fixture
def turn(alice):
    return make_answer(make_conversation(owner=alice))


def url(turn: Turn, part: str) -> str:
    return f"{turn.conversation.get_absolute_url()}turns/{turn.pk}/{part}/"


def status(client: Client, turn: Turn, part: str) -> int:
    return client.get(url(turn, part)).status_code


@pytest.mark.spec("product 15")
@pytest.mark.parametrize(
    ("flags", "trace", "thinking"),
    [({}, 200, 200), (NO_REASONING, 404, 404), (NOT_SHOWN, 404, 404), (NO_TRACE, 404, 200), (WITHHELD, 200, 404)],
)
def test_flags_of_the_site_apply_to_addresses_too(alice, turn, settings, flags, trace, thinking):
    for name, value in flags.items():
        setattr(settings, name, value)
    client = client_of(alice)

    assert (status(client, turn, "trace"), status(client, turn, "thinking")) == (trace, thinking)
    assert status(client, turn, "copy") == 200


@pytest.mark.spec("004 flags")
def test_trace_that_was_asked_for_is_returned(alice, turn, settings):
    settings.REASONING_TOOL_TRACE_DEFAULT = False
    client = client_of(alice)

    client.post("/accounts/toggles/show-trace/", {"on": "true"})

    assert status(client, turn, "trace") == 200


@pytest.mark.spec("001 BR-003")
@pytest.mark.parametrize("layer", ["person", "conversation"])
def test_personal_setting_holds_for_the_address_of_thinking(alice, turn, layer):
    holder = alice if layer == "person" else turn.conversation
    holder.reasoning = {"reasoning.includeInResponse": False}
    holder.save()
    client = client_of(alice)

    assert (status(client, turn, "thinking"), status(client, turn, "trace")) == (404, 200)


@pytest.mark.spec("product 4")
def test_address_returns_an_excerpt_to_users_and_all_of_it_to_administrators_redacted(alice, ada):
    thought = f"use {SECRET} " + "word " * 400
    hers, theirs = (make_answer(make_conversation(owner=owner), thought=thought) for owner in (ada, alice))

    whole = client_of(ada).get(url(hers, "thinking")).content.decode()
    excerpt = client_of(alice).get(url(theirs, "thinking")).content.decode()

    assert whole == f"use [redacted] {'word ' * 400}"
    assert excerpt == whole[:EXCERPT_CHARS].rstrip() + TRUNCATED


@pytest.mark.parametrize("part", ["trace", "thinking", "copy"])
def test_turn_that_was_replaced_is_not_found(alice, turn, part):
    open_turn(turn.conversation_id, text="Why?", replaces=turn)

    assert status(client_of(alice), turn, part) == 404


@pytest.mark.spec("product 4")
def test_page_links_the_thinking_only_for_those_who_may_read_it(alice, turn, settings):
    client = client_of(alice)
    shown = client.get(turn.conversation.get_absolute_url()).content.decode()
    settings.REASONING_THINKING_FOR_USERS = "hidden"

    hidden = client.get(turn.conversation.get_absolute_url(), {"open": turn.public_id}).content.decode()

    assert [url(turn, "thinking") in html for html in (shown, hidden)] == [True, False]
    assert THINKING_CANARY not in hidden
    assert "Reasoning is hidden for your account" in hidden
