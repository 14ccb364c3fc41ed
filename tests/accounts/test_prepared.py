"""Queries that are compiled once give what the queryset gives, for the values of each run."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.db.models import BigIntegerField, CharField, DateTimeField, UUIDField
from django.db.models.sql.compiler import SQLCompiler
from django.utils import timezone

from accounts.models import User
from accounts.prepared import Given, Prepared, PreparedUpdate
from chat import owned
from chat.models import Conversation
from tests.factories import make_conversation, make_profile

pytestmark = pytest.mark.django_db


def titles() -> Prepared[str]:
    everything = Conversation.everything.order_by("title")
    return Prepared(
        lambda: everything.filter(owner_id=Given("owner", BigIntegerField())).values_list("title", flat=True)
    )


def by_pk() -> Prepared[Conversation]:
    kept = Conversation.objects.at(Given("now", DateTimeField()))
    return Prepared(
        lambda: (
            kept.filter(pk=Given("conversation", UUIDField()))
            .select_related("owner", "profile")
            .select_for_update(of=("self",))
        )
    )


def test_each_run_takes_its_own_values(alice: User, bob: User) -> None:
    for owner, title in ((alice, "First"), (bob, "Other"), (alice, "Second")):
        make_conversation(owner=owner, title=title)
    prepared = titles()

    assert prepared.run(owner=alice.pk) == ["First", "Second"]
    assert prepared.run(owner=bob.pk) == ["Other"]
    assert prepared.run(owner=-1) == []


def test_later_runs_see_what_was_written_since(alice: User) -> None:
    prepared = titles()
    assert prepared.first(owner=alice.pk) is None

    make_conversation(owner=alice, title="New")

    assert prepared.first(owner=alice.pk) == "New"


def test_rows_are_models_with_what_was_joined(alice: User, django_assert_num_queries: pytest.FixtureRequest) -> None:
    mine = make_conversation(owner=alice, title="Mine")
    theirs = make_conversation(owner=alice, title="With a model")
    Conversation.objects.filter(pk=theirs.pk).update(profile=make_profile("careful"), reasoning={"effort": "low"})
    prepared = by_pk()

    with transaction.atomic(), django_assert_num_queries(2):  # type: ignore[operator]
        found = [prepared.first(conversation=one.pk, now=timezone.now()) for one in (mine, theirs)]
        assert [
            (one.title, one.owner.username, one.profile and one.profile.name, one.reasoning) for one in found if one
        ] == [
            ("Mine", "alice", None, {}),
            ("With a model", "alice", "careful", {"effort": "low"}),
        ]


def test_time_is_that_of_the_run_not_of_the_first_one(alice: User) -> None:
    soon = timezone.now() + timedelta(minutes=5)
    conversation = make_conversation(owner=alice)
    Conversation.objects.filter(pk=conversation.pk).update(expires_at=soon)
    prepared = by_pk()

    with transaction.atomic():
        assert prepared.first(conversation=conversation.pk, now=timezone.now()) == conversation
        assert prepared.first(conversation=conversation.pk, now=soon + timedelta(seconds=1)) is None


def test_sql_is_made_once(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    make = SQLCompiler.as_sql
    monkeypatch.setattr(SQLCompiler, "as_sql", lambda *args, **named: made.append(1) or make(*args, **named))
    prepared = titles()

    for _ in range(3):
        prepared.run(owner=alice.pk)

    assert len(made) == 1


def test_value_that_is_missing_is_named() -> None:
    with pytest.raises(KeyError, match="owner"):
        titles().run(conversation=1)


@pytest.mark.django_db(transaction=True)
def test_each_thread_asks_over_its_own_connection(alice: User) -> None:
    make_conversation(owner=alice, title="Mine")
    prepared = titles()
    found = [prepared.run(owner=alice.pk)]

    def ask() -> None:
        try:
            found.append(prepared.run(owner=alice.pk))
        finally:
            connection.close()

    other = threading.Thread(target=ask)
    other.start()
    other.join()

    assert found == [["Mine"], ["Mine"]]


def test_open_conversation_is_its_owners_alone(alice: User, bob: User) -> None:
    conversation = make_conversation(owner=alice)

    found = owned.open_conversation(alice, conversation.pk)
    assert found == conversation
    assert found.owner is alice
    assert owned.open_conversation(bob, conversation.pk) is None
    Conversation.objects.filter(pk=conversation.pk).update(deleted_at=timezone.now())
    assert owned.open_conversation(alice, conversation.pk) is None


def test_update_changes_the_rows_that_each_run_names(alice: User) -> None:
    one, other = (make_conversation(owner=alice, title=title) for title in ("One", "Other"))
    rename = PreparedUpdate(
        lambda: (
            Conversation.everything.filter(pk=Given("conversation", UUIDField()), is_renamed=False),
            {"title": Given("title", CharField()), "is_pinned": True},
        )
    )

    assert [rename.run(conversation=each.pk, title=each.title.upper()) for each in (one, other)] == [1, 1]
    Conversation.objects.filter(pk=one.pk).update(is_renamed=True)
    assert rename.run(conversation=one.pk, title="Not this one") == 0
    with pytest.raises(KeyError, match="title"):
        rename.run(conversation=one.pk)

    assert set(Conversation.objects.values_list("title", "is_pinned")) == {("ONE", True), ("OTHER", True)}
