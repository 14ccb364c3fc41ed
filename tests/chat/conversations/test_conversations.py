"""Titles, deletion with undo, purging, and temporary conversations."""

from datetime import timedelta

import pytest
from django.utils import timezone

from chat.conversations import actions, titles
from chat.models import Checkpoint, Conversation, Event, Share, Turn
from chat.validation import InvalidInputError
from reasoning.events import AssistantMessage, TurnStatus
from tests.factories import SECRET, end_turn, make_conversation, make_turn, open_turn

pytestmark = pytest.mark.django_db


def finish(conversation: Conversation, answer: str, *, status: TurnStatus = "completed") -> str:
    turn = open_turn(conversation.pk, text="What would breach the covenants?")
    end_turn(turn, [AssistantMessage(text=answer)], status=status)
    conversation.refresh_from_db()
    return conversation.title


def test_first_question_names_its_conversation_for_good(alice):
    conversation = make_conversation(owner=alice)

    assert finish(conversation, "# Debt covenants\n\nThree tests apply.") == "What would breach the covenants?"
    assert finish(conversation, "Nothing else applies.") == "What would breach the covenants?"


def test_long_question_is_cut_at_a_word():
    title = titles.title_from("All of the " + "very " * 40 + "long sentence.")

    assert title.endswith("very…")
    assert len(title) <= titles.TITLE_CHARS + 1


def test_long_address_is_cut_where_few_words_are_before_it():
    address = "https://example.com/filings/2024/10-k/item-7/covenants-and-other-terms"

    assert titles.title_from(f"See {address}.") == f"See {address[:56]}…"
    assert titles.title_from(address) == f"{address[:60]}…"


def test_title_by_its_owner_is_not_replaced(alice):
    conversation = make_conversation(owner=alice)
    actions.rename(conversation, "  Mine\n ")

    assert finish(conversation, "Three tests apply.") == "Mine"


@pytest.mark.spec("product 12")
def test_secret_in_a_title_is_masked_before_it_is_stored(alice):
    conversation = make_conversation(owner=alice)

    actions.rename(conversation, f"Why does {SECRET} fail?")

    assert Conversation.objects.get().title == "Why does [redacted] fail?"


@pytest.mark.parametrize("title", ["", "  \n", "x" * 121, None, 7, ["a"]])
def test_title_that_is_none_is_refused(alice, title):
    with pytest.raises(InvalidInputError) as refused:
        actions.rename(make_conversation(owner=alice, title="Before"), title)

    assert refused.value.field == "title"
    assert Conversation.objects.get().title == "Before"


def test_deleted_conversation_is_found_by_no_look_up_and_comes_back_whole(alice, bob):
    conversation = make_conversation(owner=alice, title="Ferries")
    make_turn(conversation)

    actions.delete(conversation)

    assert not alice.conversations.exists()
    assert not Conversation.objects.exists()
    assert actions.restore(bob, conversation.pk) is None
    assert actions.restore(alice, conversation.pk) == conversation
    assert alice.conversations.get().turns.count() == 1


def test_old_deletion_cannot_be_undone_and_is_purged_completely(alice):
    conversation = make_conversation(owner=alice)
    turn = make_turn(conversation)
    Share.objects.create(conversation=conversation, last_turn=turn)
    kept = make_conversation(owner=alice)
    conversation.deleted_at = timezone.now() - actions.UNDO_FOR
    conversation.save()

    assert actions.restore(alice, conversation.pk) is None
    assert actions.purge() == 1
    assert [*Conversation.all_objects.all()] == [kept]
    assert not any(model.objects.exists() for model in (Turn, Event, Checkpoint, Share))


def test_recent_deletions_and_running_turns_are_not_purged(alice):
    just_now, running = make_conversation(owner=alice), make_conversation(owner=alice)
    actions.delete(just_now)
    turn = open_turn(running.pk, text="Why?")
    running.deleted_at = timezone.now() - timedelta(hours=1)
    running.save()

    assert actions.purge() == 0
    assert actions.still_running() == [running.pk]

    end_turn(turn, [AssistantMessage(text="Because.", partial=True)], status="aborted")
    assert actions.still_running() == []
    assert actions.purge() == 1


def test_new_conversations_are_limited(client, alice, monkeypatch):
    monkeypatch.setattr(actions, "CHATS_ALLOWED", 2)
    client.force_login(alice)

    codes = [client.get("/").status_code, *(client.post("/chats/").status_code for _ in range(2))]
    refused = client.post("/api/chats/")
    alice.conversations.all().delete()

    assert codes == [302, 303, 429]
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many_chats")
    assert client.get("/").status_code == 429


def test_temporary_conversation_ends_after_a_day(alice):
    conversation = actions.start(alice, temporary=True)
    assert alice.conversations.get() == conversation
    assert conversation.is_temporary

    Conversation.objects.update(expires_at=timezone.now())

    assert not alice.conversations.exists()
    assert actions.purge() == 1


def test_temporary_conversation_ends_when_its_owner_signs_out(client, alice, bob):
    kept, others = actions.start(alice), actions.start(bob, temporary=True)
    actions.start(alice, temporary=True)
    client.force_login(alice)

    client.post("/accounts/logout/")

    assert set(Conversation.objects.all()) == {kept, others}
