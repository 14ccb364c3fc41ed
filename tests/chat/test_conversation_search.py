"""Search finds titles, questions and answers of the user, follows the log, and leaks nothing."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.utils import timezone

from accounts.models import User
from chat import eventlog
from chat.conversations import actions, search_index
from chat.conversations.search import ConversationMatch, search
from chat.models import Conversation, Turn
from reasoning.events import AssistantMessage, Reasoning, ToolCall, ToolResult
from tests.factories import end_turn, make_conversation, make_turn, open_turn

pytestmark = [pytest.mark.django_db, pytest.mark.engine]


def answered(owner: User, question: str = "Why?", answer: str = "Because.", **fields: object) -> Conversation:
    conversation = Conversation.objects.create(owner=owner, **fields)
    make_turn(conversation, question=question, answer=answer)
    return conversation


def names(found: tuple[ConversationMatch, ...]) -> list[Conversation]:
    return [one.conversation for one in found]


def snippet(found: ConversationMatch) -> str:
    return "".join(f"[{text}]" if is_match else text for text, is_match in found.snippet)


@pytest.mark.parametrize("words", ["ammonia", "AMMONIA leaks", "leak", "ammon"])
def test_answer_is_found_by_its_words_their_forms_and_what_is_typed_so_far(alice, words):
    conversation = answered(alice, answer="Ammonia leaks cost 4.1 million.")
    answered(alice, answer="Turbines were replaced.")

    assert names(search(alice, words)) == [conversation]


def test_question_is_found_with_the_card_that_holds_it(alice):
    conversation = answered(alice, question="Who audits the ferry?")

    (found,) = search(alice, "ferry")

    assert found.message_id == conversation.turns.get().public_id + "-q"
    assert snippet(found) == "Who audits the [ferry]?"


def test_title_is_found_after_a_rename_and_the_old_one_no_more(alice):
    conversation = answered(alice, question="Who audits the ferry?", answer="Pellworm Partners do.")
    actions.rename(conversation, "Lighthouse papers")

    assert names(search(alice, "lighthouse")) == [conversation]
    assert search(alice, "Pellworm")[0].title == (("Lighthouse papers", False),)


def test_a_title_comes_before_a_mention(alice):
    mention = answered(alice, answer="The covenants are in the ferry filing.")
    named = answered(alice, question="Covenants?")
    actions.rename(named, "Ferry")

    assert names(search(alice, "ferry")) == [named, mention]


def test_all_words_are_wanted_before_any(alice):
    both = answered(alice, answer="Tidal turbines need grease.")
    answered(alice, answer="Tidal rates rose.")

    assert names(search(alice, "tidal turbines")) == [both]
    assert len(search(alice, "tidal zeppelin")) == 2


def test_strangers_deleted_and_temporary_conversations_are_never_found(alice, bob):
    answered(bob, answer="Ammonia leaks.")
    actions.delete(answered(alice, answer="Ammonia leaks."))
    answered(alice, answer="Ammonia leaks.", expires_at=timezone.now() + timedelta(hours=1))

    assert search(alice, "ammonia") == ()


def test_long_conversation_does_not_crowd_out_the_others(alice, django_assert_max_num_queries):
    long = answered(alice, answer="Ferry.")
    for _ in range(40):
        make_turn(long, question="Ferry?", answer="Ferry.")
    other = answered(alice, answer="A ferry is a ship, and this is a long sentence about many other things besides.")

    with django_assert_max_num_queries(4):
        found = search(alice, "ferry")

    assert set(names(found)) == {long, other}


def test_only_the_selected_branch_is_found(alice):
    conversation = answered(alice, question="Ferry?", answer="Ammonia leaks.")
    turn = open_turn(conversation.pk, text="Ferry?", replaces=conversation.turns.get())
    end_turn(turn, [AssistantMessage(text="Turbines.")])

    assert search(alice, "ammonia") == ()
    assert names(search(alice, "turbines")) == [conversation]


def test_private_channels_are_not_in_the_index(alice):
    conversation = make_conversation(owner=alice)
    turn = open_turn(conversation.pk, text="Why?")
    call = ToolCall(call_id="c1", name="search", arguments='{"query": "plovercanary"}', step=0)
    thinking = Reasoning(kind="text", text="plovercanary", source_field="thinking", model="m", provider="p", step=0)
    eventlog.append(turn, [thinking, call, ToolResult(call_id="c1", output="plovercanary", ok=True, step=0)])
    eventlog.close_turn(turn, [AssistantMessage(text="Because.")], status="completed")

    assert search(alice, "plovercanary") == ()


def test_what_is_typed_is_never_syntax(alice):
    answered(alice, answer="Rates rose.")

    for typed in ('"', "'", "a\\", "rates' OR 1=1", "rates NEAR(", "text:rates*", "NOT", "& | !", "(", "", " ", "\x00"):
        assert len(search(alice, typed)) <= 1


def test_snippet_is_masked_and_short(alice):
    secret = "sk-" + "a1B2c3D4" * 6
    answered(alice, question="Look at " + "x " * 300 + f"ferry {secret} " + "y " * 300)

    (found,) = search(alice, "ferry")

    assert secret not in snippet(found)
    assert snippet(found).startswith("…")
    assert len(snippet(found)) < 200


def test_purged_conversation_leaves_nothing_in_the_index(alice):
    conversation = answered(alice, answer="Ammonia leaks.")
    Conversation.objects.filter(pk=conversation.pk).update(deleted_at=timezone.now() - timedelta(minutes=1))

    assert actions.purge() == 1
    assert not Turn.objects.exists()
    assert search_index.check_talk_index(None, ["default"]) == []


@pytest.mark.sqlite
def test_lost_triggers_are_noticed_and_reindex_brings_all_back(alice):
    search_index.INDEX.drop_triggers(plan=["something"])
    conversation = answered(alice, question="Ferry?", answer="Ammonia leaks.")
    assert search(alice, "ammonia") == ()
    assert [message.id for message in search_index.check_talk_index(None, ["default"])] == ["chat.W002"]

    call_command("reindex", stdout=(said := StringIO()))

    assert "2 questions and answers indexed." in said.getvalue()
    assert names(search(alice, "ammonia")) == names(search(alice, "ferry")) == [conversation]
