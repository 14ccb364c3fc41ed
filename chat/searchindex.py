# ruff: noqa: S608 - only constant names are put into statements
"""The full-text index of conversations: their titles, and the public text of their questions and answers.

The database keeps it itself, in the transaction that writes the log. On SQLite triggers feed an FTS5 table that holds
words and no text; a title is filed with the first event of its conversation. On PostgreSQL it is a generated column,
made by a migration. Django can't rebuild a table that the triggers of another one name, so they go before migrations
and come back after them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django.core.checks import CheckMessage, Warning
from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.utils.translation import gettext as _

from chat.triggeredindex import TriggeredIndex

TALK_TABLE: Final = "chat_talk_fts"
TALK_COLUMN: Final = "search_vector"

_EVENTS, _CONVERSATIONS = "chat_event", "chat_conversation"
_SAID = "type IN ('user_message', 'assistant_message')"
_CREATE = (
    f"CREATE VIRTUAL TABLE IF NOT EXISTS {TALK_TABLE} USING fts5(title, text, content='', tokenize='porter unicode61')"
)
_TITLE_OF = f"(SELECT title FROM {_CONVERSATIONS} WHERE id = {{0}}.conversation_id)"
_TITLE = f"CASE {{0}}.seq WHEN 1 THEN coalesce({_TITLE_OF}, '') ELSE '' END"
_TEXT = "coalesce(json_extract({0}.public, '$.text'), '')"
_FIRST = f"FROM {_EVENTS} AS e WHERE e.conversation_id = old.id AND e.seq = 1 AND e.{_SAID}"
_LEARN = f"INSERT INTO {TALK_TABLE}(rowid, title, text)"
_FORGET = f"INSERT INTO {TALK_TABLE}({TALK_TABLE}, rowid, title, text)"
_TEXT_OF_E = _TEXT.format("e")


def _learn(row: str) -> str:
    return f"{_LEARN} VALUES ({row}.id, {_TITLE.format(row)}, {_TEXT.format(row)});"


def _forget(row: str) -> str:
    return f"{_FORGET} VALUES ('delete', {row}.id, {_TITLE.format(row)}, {_TEXT.format(row)});"


def _retitle(title: str) -> str:
    """File the first event under another title: what is forgotten must be what was learnt."""
    return (
        f"{_FORGET} SELECT 'delete', e.id, old.title, {_TEXT_OF_E} {_FIRST};"
        f" {_LEARN} SELECT e.id, {title}, {_TEXT_OF_E} {_FIRST};"
    )


_TRIGGERS = {
    f"{TALK_TABLE}_insert": f"AFTER INSERT ON {_EVENTS} WHEN new.{_SAID} BEGIN {_learn('new')} END",
    f"{TALK_TABLE}_delete": f"AFTER DELETE ON {_EVENTS} WHEN old.{_SAID} BEGIN {_forget('old')} END",
    f"{TALK_TABLE}_update": (
        f"AFTER UPDATE OF public ON {_EVENTS} WHEN old.{_SAID} BEGIN {_forget('old')} {_learn('new')} END"
    ),
    f"{TALK_TABLE}_title": (
        f"AFTER UPDATE OF title ON {_CONVERSATIONS} WHEN old.title <> new.title BEGIN {_retitle('new.title')} END"
    ),
    f"{TALK_TABLE}_gone": f"BEFORE DELETE ON {_CONVERSATIONS} BEGIN {_retitle(chr(39) * 2)} END",
}


_INDEX = TriggeredIndex(TALK_TABLE, _CREATE, _TRIGGERS, source=_EVENTS, where=_SAID)


def drop_triggers(sender: object = None, *, using: str = DEFAULT_DB_ALIAS, plan: Any = (), **kwargs: Any) -> None:
    """Take the triggers away while tables change. A receiver of ``pre_migrate``."""
    connection = connections[using]
    if connection.vendor != "sqlite" or not plan:
        return
    with connection.cursor() as cursor:
        for name in _TRIGGERS:
            cursor.execute(f"DROP TRIGGER IF EXISTS {name}")


def ensure_talk_index(sender: object = None, *, using: str = DEFAULT_DB_ALIAS, **kwargs: Any) -> None:
    """Make the index and its triggers where they are missing, and fill it. A receiver of ``post_migrate``."""
    connection = connections[using]
    if not _INDEX.belongs_to(connection):
        return
    is_behind = _INDEX.missing(connection) or not _INDEX.is_in_step(connection)
    _INDEX.make(connection)
    if is_behind:
        rebuild_talk_index(using)


def rebuild_talk_index(using: str = DEFAULT_DB_ALIAS) -> int:
    """Build the index anew from the log and return how many questions and answers it holds."""
    connection = connections[using]
    with transaction.atomic(using), connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(f"INSERT INTO {TALK_TABLE}({TALK_TABLE}) VALUES ('delete-all')")
            cursor.execute(
                f"{_LEARN} SELECT e.id, {_TITLE.format('e')}, {_TEXT_OF_E} FROM {_EVENTS} AS e WHERE e.{_SAID}"
            )
        else:
            cursor.execute("REINDEX INDEX chat_event_search")
    return _INDEX.count(connection)


def check_talk_index(app_configs: object, databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Warn where the index lacks its triggers or does not hold every question and answer."""
    ours = [one for one in map(connections.__getitem__, databases or ()) if _INDEX.belongs_to(one)]
    stale = [one for one in ours if _INDEX.missing(one) or not _INDEX.is_in_step(one)]
    text = _("The search index of conversations is not in step.")
    return [Warning(text, hint=_("Run: python manage.py reindex"), id="chat.W002") for _each in stale]
