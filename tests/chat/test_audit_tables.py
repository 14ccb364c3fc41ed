"""The audit of tables other than the log's: decoded where they are encoded, read in small pieces."""

from __future__ import annotations

import json
import pickle
import tracemalloc

import pytest
from django.conf import LazySettings
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.backends.db import SessionStore
from django.core.cache.backends.db import DatabaseCache
from django.core.management import CommandError, call_command
from django.db import connection

from accounts.models import User
from chat.models import Filing, Passage, QueuedMessage, Turn
from tests.chat.audits import SECRET, audit, make_whole_turn
from tests.factories import make_conversation, open_turn


@pytest.fixture
def turn(alice: User) -> Turn:
    return make_whole_turn(alice)


def test_sessions_are_decoded(db: None) -> None:
    session = SessionStore()
    session["notes"] = ["x" * 2000, "<scratchpad>private heron</scratchpad>", SECRET]
    session.save()

    said = audit("--canary", "private heron")

    assert {line.rpartition(": ")[2] for line in said.splitlines()[:-1]} == {"scratchpad", "secret", "canary"}
    assert session.session_key is not None
    assert session.session_key not in said


def test_entries_of_a_cache_table_are_decoded(db: None, settings: LazySettings) -> None:
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.db.DatabaseCache", "LOCATION": "kept_cache"}}
    call_command("createcachetable", verbosity=0)
    DatabaseCache("kept_cache", {}).set("k", {"notes": "</think> private heron"})

    assert "kept_cache sha256:" in audit()
    assert ": canary" in audit("--canary", "private heron")


def test_admin_log_is_looked_through(alice: User) -> None:
    entry = LogEntry.objects.create(
        user=alice, action_flag=2, object_repr="x", change_message=json.dumps([{"added": {"name": "<think>"}}])
    )

    assert audit().startswith(f"django_admin_log {entry.pk} change_message: delimiter")


def test_table_without_a_model_is_looked_through(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE leftover (id integer PRIMARY KEY, notes text)")
        cursor.execute("INSERT INTO leftover VALUES (7, '<scratchpad>x')")

    assert audit().startswith("leftover 7 notes: scratchpad")


def test_binary_column_is_looked_through(turn: Turn) -> None:
    turn.events.filter(type="tool_call").update(sealed=pickle.dumps({"text": "private heron"}))

    assert " sealed: canary" in audit("--canary", "private heron")


@pytest.mark.parametrize("canary", ["private heron", "Żółw 鷺"])
def test_canary_is_found_in_every_table_even_where_people_type(alice: User, canary: str) -> None:
    open_turn(make_conversation(owner=alice).pk, text=f"Mind the {canary}!")
    filing = Filing.objects.create(slug="f", company=canary, form="10-K", digest="d")
    Passage.objects.create(filing=filing, ordinal=1, section="1", anchor="#a", text=canary, context="")
    assert audit() == ""

    said = audit("--canary", canary)

    for place in ("public.text", "title", "company", "text"):
        assert f" {place}: canary" in said
    assert canary not in said


def test_canary_that_is_only_sealed_is_not_found(turn: Turn) -> None:
    assert audit("--canary", "quietly doubts") == ""


def test_memory_stays_bounded_whatever_the_size_of_a_table(alice: User) -> None:
    conversation = make_conversation(owner=alice)
    text = "word " * 2_000
    QueuedMessage.objects.bulk_create((QueuedMessage(conversation=conversation, text=text) for _ in range(2_000)), 200)
    assert audit() == ""  # what is imported and cached once doesn't count

    tracemalloc.start()
    assert audit() == ""
    _now, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak_bytes < 6_000_000  # of 20 MB


def test_empty_canary_is_refused(db: None) -> None:
    with pytest.raises(CommandError, match="--canary"):
        call_command("audit_storage", "--canary", " ")
