# ruff: noqa: S608 - only constant names are put into statements
"""The full-text index of conversations: titles, and the public text of questions and answers.

The database updates it in the transaction that writes the log. Its FTS5 table stores words and no text, so a row must
be removed with the values that it was added with. A title is indexed with the first event of its conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django.core.checks import CheckMessage
from django.utils.translation import gettext as _

from chat.search.fts5 import SearchIndex

TALK_TABLE: Final = "chat_talk_fts"
TALK_COLUMN: Final = "search_vector"

_EVENTS, _CONVERSATIONS = "chat_event", "chat_conversation"
_IS_MESSAGE = "type IN ('user_message', 'assistant_message')"
_TITLE_OF = f"(SELECT title FROM {_CONVERSATIONS} WHERE id = {{0}}.conversation_id)"
_TITLE = f"CASE {{0}}.seq WHEN 1 THEN index_text(coalesce({_TITLE_OF}, '')) ELSE '' END"
_TEXT = "index_text(coalesce(json_extract({0}.public, '$.text'), ''))"
_ADD = f"INSERT INTO {TALK_TABLE}(rowid, title, text)"
_REMOVE = f"INSERT INTO {TALK_TABLE}({TALK_TABLE}, rowid, title, text)"
_ADD_NEW = f"{_ADD} VALUES (new.id, {_TITLE.format('new')}, {_TEXT.format('new')});"
_REMOVE_OLD = f"{_REMOVE} VALUES ('delete', old.id, {_TITLE.format('old')}, {_TEXT.format('old')});"


def change_title(title: str) -> str:
    """Return statements that index the first event of the conversation ``old`` with another title."""
    first_event = f"FROM {_EVENTS} AS e WHERE e.conversation_id = old.id AND e.seq = 1 AND e.{_IS_MESSAGE}"
    text = _TEXT.format("e")
    return (
        f"{_REMOVE} SELECT 'delete', e.id, index_text(old.title), {text} {first_event};"
        f" {_ADD} SELECT e.id, index_text({title}), {text} {first_event};"
    )


_TRIGGERS = {
    f"{TALK_TABLE}_insert": f"AFTER INSERT ON {_EVENTS} WHEN new.{_IS_MESSAGE} BEGIN {_ADD_NEW} END",
    f"{TALK_TABLE}_delete": f"AFTER DELETE ON {_EVENTS} WHEN old.{_IS_MESSAGE} BEGIN {_REMOVE_OLD} END",
    f"{TALK_TABLE}_update": (
        f"AFTER UPDATE OF public ON {_EVENTS} WHEN old.{_IS_MESSAGE} BEGIN {_REMOVE_OLD} {_ADD_NEW} END"
    ),
    f"{TALK_TABLE}_title": (
        f"AFTER UPDATE OF title ON {_CONVERSATIONS} WHEN old.title <> new.title BEGIN {change_title('new.title')} END"
    ),
    f"{TALK_TABLE}_gone": f"""BEFORE DELETE ON {_CONVERSATIONS} BEGIN {change_title("''")} END""",
}
INDEX = SearchIndex(
    TALK_TABLE,
    f"CREATE VIRTUAL TABLE IF NOT EXISTS {TALK_TABLE} USING fts5(title, text, content='', tokenize='porter unicode61')",
    _TRIGGERS,
    source=_EVENTS,
    where=_IS_MESSAGE,
    fill=(
        f"INSERT INTO {TALK_TABLE}({TALK_TABLE}) VALUES ('delete-all')",
        f"{_ADD} SELECT e.id, {_TITLE.format('e')}, {_TEXT.format('e')} FROM {_EVENTS} AS e WHERE e.{_IS_MESSAGE}",
    ),
    reindex=("REINDEX INDEX chat_event_search",),
)


def check_talk_index(app_configs: object, databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Warn if the index lacks its triggers or a question or answer."""
    return INDEX.check(databases, _("The search index of conversations is not in step."), "chat.W002")
