"""Deleting a question with its answer: it leaves everything at once, can be undone, and is gone for good afterwards."""

import json
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db.models import F
from django.utils import timezone

from chat import eventlog
from chat.conversations import actions
from chat.eventlog import attachments, branches
from chat.eventlog.link_tokens import token_of
from chat.models import Attachment, Event, QueuedMessage, StoredCard, Turn
from chat.sharing.export import Choice
from chat.sharing.links import create_link
from chat.turns import queue
from reasoning.events import AssistantMessage, Compaction, UserMessage
from tests.chat.attached import attach
from tests.factories import client_of, end_turn, make_turn, open_turn

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.stored]
CANARY = "zebrafish"


@pytest.fixture
def talk(conversation):
    """Three questions, the second of which is to be deleted."""
    make_turn(conversation, question="First?", answer="One.")
    make_turn(conversation, question=f"Second {CANARY}?", answer=f"Two {CANARY}.")
    make_turn(conversation, question="Third?", answer="Three.")
    return conversation


def second_of(conversation) -> Turn:
    return conversation.turns.get(events__type=UserMessage.type, events__public__text=f"Second {CANARY}?")


def delete(person, turn: Turn):
    return client_of(person).post(f"/chats/{turn.conversation_id}/turns/{turn.pk}/delete/")


def shown_to(person, conversation) -> dict[str, str]:
    """Return what the owner gets of a conversation, by where they get it."""
    client, url = client_of(person), f"/chats/{conversation.pk}/"
    paths = {
        "page": url,
        "Markdown": f"{url}export/?format=md",
        "JSON": f"{url}export/?format=json",
        "search": f"/chats/?q={CANARY}",
        "API": f"/api{url}messages/",
    }
    return {name: client.get(path).content.decode() for name, path in paths.items()}


def test_deleted_message_leaves_pages_exports_search_shares_and_requests(alice, bob, talk):
    link = create_link(alice, talk, Choice(), days=7)
    answer = delete(alice, second_of(talk))

    assert (answer.status_code, answer["Location"]) == (303, f"/chats/{talk.pk}/?undo={second_of(talk).pk}")
    shown = shown_to(alice, talk)
    without_form = shown.pop("search").replace(f'value="{CANARY}"', "")
    assert [name for name, html in {**shown, "search": without_form}.items() if f"Second {CANARY}" in html] == []
    assert all("First?" in shown[name] and "Third?" in shown[name] for name in ("page", "Markdown", "JSON", "API"))
    assert CANARY not in client_of(bob).get(f"/s/{token_of(link)}/").content.decode()
    asked = [event.text for event in eventlog.history(talk.pk) if isinstance(event, UserMessage) and event.active]
    assert asked == ["First?", "Third?"]


def test_others_and_running_turns_are_left_alone(alice, bob, talk):
    assert delete(bob, second_of(talk)).status_code == 404
    running = open_turn(talk.pk, text="Fourth?")

    refused = client_of(alice).post(
        f"/chats/{talk.pk}/turns/{second_of(talk).pk}/delete/", headers={"HX-Request": "true"}
    )

    assert (refused.status_code, refused.content.decode()) == (409, "An answer is being written; stop it first.")
    end_turn(running, [AssistantMessage(text="Four.")])
    assert second_of(talk).is_active


def test_deletion_is_undone_in_its_place(alice, talk):
    before = shown_to(alice, talk)["API"]
    turn = second_of(talk)
    delete(alice, turn)
    notice = client_of(alice).get(f"/chats/{talk.pk}/?undo={turn.pk}").content.decode()

    client_of(alice).post(f"/chats/{talk.pk}/turns/{turn.pk}/restore/")

    assert f"/turns/{turn.pk}/restore/" in notice
    assert json.loads(shown_to(alice, talk)["API"]) == json.loads(before)


def test_deletion_is_not_undone_while_an_answer_before_it_is_continued(alice, conversation):
    first = open_turn(conversation.pk, text="First?")
    end_turn(first, [AssistantMessage(text="One", partial=True)], status="aborted")
    second = make_turn(conversation, question="Second?", answer="Two.")
    delete(alice, second)
    running = queue.resume(first)

    refused = client_of(alice).post(f"/chats/{conversation.pk}/turns/{second.pk}/restore/", follow=True)
    end_turn(running.turn, [AssistantMessage(text=" and more.")])
    client_of(alice).post(f"/chats/{conversation.pk}/turns/{second.pk}/restore/")

    assert "An answer is being written; stop it first." in refused.content.decode()
    assert "Two." in client_of(alice).get(f"/chats/{conversation.pk}/").content.decode()


def test_message_is_restored_as_a_version_where_another_was_asked_meanwhile(alice, talk):
    last = talk.turns.get(number=3)
    delete(alice, last)
    make_turn(talk, question="Instead?", answer="So.")

    client_of(alice).post(f"/chats/{talk.pk}/turns/{last.pk}/restore/")

    page = client_of(alice).get(f"/chats/{talk.pk}/").content.decode()
    assert "Instead?" in page
    assert "Third?" not in page
    assert "2/2" in page


def test_question_after_a_deleted_one_keeps_its_place_when_it_is_asked_again(alice, talk):
    third = talk.turns.get(number=3)
    delete(alice, second_of(talk))

    again = open_turn(talk.pk, text="Third again?", replaces=third)
    end_turn(again, [AssistantMessage(text="Again.")])

    third.refresh_from_db()
    assert (again.number, again.parent_id) == (third.number, third.parent_id)
    assert branches.versions([again])[again.pk] == ((third.pk,), (again.pk,))
    branches.select(third)
    assert not second_of(talk).is_active


def test_deleted_text_and_files_are_purged_and_what_follows_stays(alice, talk):
    stored = attach(talk, "notes.txt", CANARY.encode())
    turn = open_turn(talk.pk, text="Fourth?", attached=[stored.pk])
    end_turn(turn, [AssistantMessage(text=f"Four {CANARY}.")])
    make_turn(talk, question="Fifth?", answer="Five.")
    delete(alice, turn)
    actions.purge()
    assert attachments.text_of(Attachment.objects.get()) == CANARY  # it can still be restored

    Turn.objects.filter(pk=turn.pk).update(deleted_at=timezone.now() - timedelta(minutes=5))
    actions.purge()
    late = client_of(alice).post(f"/chats/{talk.pk}/turns/{turn.pk}/restore/", follow=True)

    assert not Event.objects.filter(turn=turn).exists()
    assert not Attachment.objects.exists()
    assert "Fifth?" in late.content.decode()
    assert "This message was deleted for good." in late.content.decode()
    call_command("audit_storage")


def test_summaries_of_earlier_messages_go_with_a_deleted_one(alice, talk):
    third = open_turn(talk.pk, text="Fourth?")
    eventlog.append(third, [Compaction(summary=f"They spoke of {CANARY}.", to_seq=1)])
    end_turn(third, [AssistantMessage(text="Four.")])

    delete(alice, second_of(talk))

    assert not any(isinstance(event, Compaction) for event in eventlog.history(talk.pk))


def test_title_made_from_a_deleted_question_is_made_from_the_next(alice, talk):
    talk.title = "First?"
    talk.save()

    delete(alice, talk.turns.get(number=1))
    talk.refresh_from_db()
    assert talk.title == f"Second {CANARY}?"

    actions.rename(talk, "My own")
    delete(alice, second_of(talk))
    talk.refresh_from_db()
    assert talk.title == "My own"


def test_title_of_a_model_stays_when_a_later_message_is_deleted(alice, talk):
    talk.title = "Three short words"
    talk.save()

    delete(alice, second_of(talk))

    talk.refresh_from_db()
    assert talk.title == "Three short words"


def questions_of(talk) -> list[str]:
    return [eventlog.question_of(turn) for turn in talk.turns.filter(is_active=True).order_by("number")]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_numbers_of_the_others_have_no_gap(alice, talk, number):
    turn = talk.turns.get(number=number)
    delete(alice, turn)

    page = client_of(alice).get(f"/chats/{talk.pk}/").content.decode()
    assert list(talk.turns.filter(is_active=True).order_by("number").values_list("number", flat=True)) == [1, 2]
    assert 'id="earlier"' not in page
    client_of(alice).post(f"/chats/{talk.pk}/turns/{turn.pk}/restore/")

    assert list(talk.turns.order_by("number").values_list("number", "is_active")) == [(1, True), (2, True), (3, True)]


def test_deleted_version_gives_way_to_another_and_comes_back(alice, talk):
    second = second_of(talk)
    other = open_turn(talk.pk, text="Second otherwise?", replaces=second)
    end_turn(other, [AssistantMessage(text="Otherwise.")])

    delete(alice, other)
    assert questions_of(talk) == ["First?", f"Second {CANARY}?", "Third?"]
    client_of(alice).post(f"/chats/{talk.pk}/turns/{other.pk}/restore/")

    assert questions_of(talk) == ["First?", "Second otherwise?"]
    delete(alice, other)
    delete(alice, second)
    assert questions_of(talk) == ["First?", "Third?"]


def test_questions_after_a_deleted_version_are_reached_as_a_version(alice, talk):
    second = second_of(talk)
    other = open_turn(talk.pk, text="Second otherwise?", replaces=second)
    end_turn(other, [AssistantMessage(text="Otherwise.")])
    branches.select(second)

    delete(alice, second)

    third = talk.turns.get(pk=talk.turns.get(parent=second).pk)
    assert questions_of(talk) == ["First?", "Second otherwise?"]
    assert branches.versions([other])[other.pk] == ((third.pk,), (other.pk,))
    branches.select(third)
    assert questions_of(talk) == ["First?", "Third?"]


def test_file_is_gone_with_the_last_message_that_has_it(alice, conversation):
    file = attach(conversation, "notes.txt", CANARY.encode())
    first = open_turn(conversation.pk, text="With a file?", attached=[file.pk])
    end_turn(first, [AssistantMessage(text="Yes.")])
    same = open_turn(conversation.pk, text="With a file?", replaces=first, attached=[file.pk])
    end_turn(same, [AssistantMessage(text="Yes, again.")])
    url = f"/chats/{conversation.pk}/attachments/{file.pk}/"

    delete(alice, same)
    assert client_of(alice).get(url).status_code == 200
    delete(alice, first)
    assert [client_of(alice).get(one).status_code for one in (url, f"{url}file/")] == [404, 404]
    client_of(alice).post(f"/chats/{conversation.pk}/turns/{first.pk}/restore/")

    assert client_of(alice).get(url).status_code == 200


def test_link_whose_messages_are_all_deleted_is_gone_with_its_title(alice, conversation):
    turn = make_turn(conversation, question=f"{CANARY}?")
    link = create_link(alice, type(conversation).objects.get(pk=conversation.pk), Choice(), days=7)
    delete(alice, turn)
    answer = client_of(alice).get(f"/s/{token_of(link)}/")

    link.refresh_from_db()
    assert (answer.status_code, link.title) == (404, "")
    assert CANARY not in answer.content.decode()


@pytest.mark.parametrize("renamed", ["", "My own"])
@pytest.mark.parametrize("is_restored", [False, True])
def test_link_is_named_by_the_first_question_that_it_shows(alice, conversation, renamed, is_restored):
    first = make_turn(conversation, question="First?")
    then = make_turn(conversation, question="Then?")
    conversation.title = "First?"
    conversation.save()
    link = create_link(alice, conversation, Choice(), days=7)
    end_turn(open_turn(conversation.pk, text=f"Later {CANARY}?", replaces=then), [AssistantMessage(text="Yes.")])
    if renamed:
        actions.rename(conversation, renamed)
    delete(alice, first)
    if is_restored:
        client_of(alice).post(f"/chats/{conversation.pk}/turns/{first.pk}/restore/")

    link.refresh_from_db()
    conversation.refresh_from_db()
    assert link.title == ("First?" if is_restored else "Then?")
    assert conversation.title == (renamed or ("First?" if is_restored else f"Later {CANARY}?"))
    assert CANARY not in client_of(alice).get(f"/s/{token_of(link)}/").content.decode()


def test_link_keeps_the_name_that_its_owner_gave_the_conversation(alice, conversation):
    first = make_turn(conversation, question="First?")
    make_turn(conversation, question="Then?")
    actions.rename(conversation, "My own")
    link = create_link(alice, conversation, Choice(), days=7)
    delete(alice, first)

    link.refresh_from_db()
    assert link.title == "My own"


def test_conversation_is_found_by_its_title_after_a_purge(alice, talk):
    actions.rename(talk, "Quokkas")
    delete(alice, talk.turns.get(number=1))
    Turn.objects.filter(deleted_at__isnull=False).update(deleted_at=timezone.now() - timedelta(minutes=5))
    actions.purge()

    assert f"/chats/{talk.pk}/" in client_of(alice).get("/chats/?q=Quokkas").content.decode()


@pytest.mark.parametrize("questions", [1, 3])
def test_conversation_opens_after_its_first_question_is_purged(alice, conversation, questions):
    for number in range(questions):
        make_turn(conversation, question=f"Question {number}?", answer="Yes: https://example.org/a?q=question")
    delete(alice, conversation.turns.get(number=1))
    Turn.objects.update(deleted_at=F("deleted_at") - timedelta(minutes=5))
    actions.purge()
    StoredCard.objects.all().delete()  # as a new version does

    assert client_of(alice).get(f"/chats/{conversation.pk}/").status_code == 200
    assert [event.text for event in eventlog.history(conversation.pk) if isinstance(event, UserMessage)] == [
        f"Question {number}?" for number in range(1, questions)
    ]


def test_message_that_two_pages_delete_is_deleted_once(alice, talk):
    turn = second_of(talk)
    other_page = second_of(talk)  # has read it before the first one deletes it

    branches.delete(turn)
    branches.delete(other_page)

    assert list(talk.turns.filter(is_active=True).order_by("number").values_list("number", flat=True)) == [1, 2]
    branches.restore(Turn.objects.get(pk=turn.pk))
    assert list(talk.turns.filter(is_active=True).order_by("number").values_list("number", flat=True)) == [1, 2, 3]


def test_purged_message_is_not_restored(alice, talk):
    turn = second_of(talk)
    delete(alice, turn)
    Turn.objects.filter(pk=turn.pk).update(deleted_at=timezone.now() - timedelta(minutes=5))
    late = Turn.objects.get(pk=turn.pk)  # as a page has read it that waits for the lock
    actions.purge()

    branches.restore(late)

    assert not Turn.objects.filter(pk=turn.pk, deleted_at=None).exists()


def test_queued_message_keeps_the_file_that_a_deleted_one_had_too(alice, conversation):
    stored = attach(conversation, "notes.txt", b"notes")
    first = open_turn(conversation.pk, text="First?", attached=[stored.pk])
    end_turn(first, [AssistantMessage(text="One.")])
    file = {"id": stored.pk.hex, "name": "notes.txt", "media_type": "text/plain", "size": 5}
    QueuedMessage.objects.create(conversation=conversation, text="Second?", attachments=[file])
    delete(alice, first)

    started = queue.start_next(conversation.pk)

    assert started is not None
    assert eventlog.question_of(started.turn) == "Second?"
    assert [file.id for file in started.attachments] == [stored.pk.hex]


def test_queued_message_whose_file_is_gone_is_held_for_its_user(alice, conversation):
    gone = {"id": "6b1c0f0e-3a52-4f57-9d0b-0d5a2c0f6a11", "name": "notes.txt", "media_type": "text/plain", "size": 5}
    QueuedMessage.objects.create(conversation=conversation, text="First?", attachments=[gone])
    QueuedMessage.objects.create(conversation=conversation, text="Second?")

    started = queue.start_next(conversation.pk)

    assert started is not None
    assert eventlog.question_of(started.turn) == "Second?"
    assert QueuedMessage.objects.get().priority == queue.HELD


def test_deleted_message_is_not_rendered_again(alice, conversation, capsys):
    make_turn(conversation, question="First?", answer="One.")
    make_turn(conversation, question="Second?", answer="Two.")
    for left in (1, 0):
        delete(alice, conversation.turns.filter(deleted_at=None).latest("number"))
        call_command("rerender")
        assert capsys.readouterr().out.startswith(f"{left} answers rendered")


def test_api_deletes_a_message_once(alice, talk):
    url = f"/api/chats/{talk.pk}/messages/{second_of(talk).pk}/"

    answers = [client_of(alice).delete(url).status_code for _time in range(2)]

    assert answers == [204, 404]
    assert client_of(alice).get(url).status_code == 404
