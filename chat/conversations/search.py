"""Full-text search over a person's conversations: titles, questions and answers on the selected branch.

All words must match in one message or title; where nothing does, any of them may. The last word matches as a prefix,
because people search while they type. Ranking is the database engine's. See ``search_index`` for what is indexed.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.contrib.postgres.search import SearchVectorField
from django.db import connection
from django.db.models import QuerySet
from django.db.models.expressions import RawSQL

from accounts.models import User
from chat.conversations.search_index import TALK_COLUMN, TALK_TABLE
from chat.models import Conversation, Event
from chat.models.passages import search_terms, words_of
from chat.search.fts5 import Join, fts5_expression, match_fts5, match_vector, tsquery
from chat.search.search_text import marking_pattern, query_terms, vector_sql
from reasoning.redaction import redact_text

MAX_RESULTS = 30
MAX_QUERY_CHARS = 200
CHARS_BEFORE_MATCH, SNIPPET_CHARS, LONGEST_WORD = 48, 160, 30
_MAX_WORDS = 12
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_CITATION = re.compile(r"\s*\[\d{1,4}(?: ?[,;] ?\d{1,4})*\]")
_MARKUP = re.compile(
    r"^\s*(?:[>#]+|[-*+]|\d{1,3}[.)])\s+|\*{1,3}|~~|`+|\\(?=[^\w\s])|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)"
)
_MAX_MESSAGES = 5000  # keys only: one long conversation must not push the others out of the results
_CONTEXT_CHARS = 1000
# For marking only: the engines stem the words that they search for.
_WORD_ENDINGS = re.compile(r"(?:ies|ing|ed|es|s|y|ly)$")


class SnippetPart(NamedTuple):
    """A piece of a snippet."""

    text: str
    is_match: bool


@dataclass(frozen=True, slots=True)
class ConversationMatch:
    """A conversation with its marked title and the message that matched best, if one did."""

    conversation: Conversation
    title: tuple[SnippetPart, ...]
    snippet: tuple[SnippetPart, ...] = ()
    message_id: str = ""  # of the card with the message
    number: int = 0  # of its turn


def search(person: User, text: str) -> tuple[ConversationMatch, ...]:
    """Return this person's matching conversations, best first: by title, then by message."""
    text = text[:MAX_QUERY_CHARS]
    words = (search_terms(text) or words_of(text))[:_MAX_WORDS]
    if not words:
        return ()
    terms = query_terms(words)
    found = ranked_results(person, terms, "AND", marked=words)
    return found or (ranked_results(person, terms, "OR", marked=terms) if len(terms) > 1 else ())


def ranked_results(
    person: User, terms: Sequence[str], join: Join, *, marked: Sequence[str]
) -> tuple[ConversationMatch, ...]:
    by_message = best_messages(person, terms, join)
    # titles first: a dict preserves the order of insertion
    found = {conversation.pk: conversation for conversation in titles_matching(person, terms, join)}
    found |= {event.conversation_id: event.conversation for event in by_message.values()}
    results = []
    for pk, conversation in list(found.items())[:MAX_RESULTS]:
        title = marked_snippet(conversation.title, marked)
        if (event := by_message.get(pk)) is None:
            results.append(ConversationMatch(conversation, title))
            continue
        message_id = event.turn.public_id + ("-q" if event.type == "user_message" else "")
        snippet = marked_snippet(str(event.public.get("text", "")), marked)
        results.append(ConversationMatch(conversation, title, snippet, message_id, event.turn.number))
    return tuple(results)


def titles_matching(person: User, terms: Sequence[str], join: Join) -> list[Conversation]:
    own = person.conversations.filter(expires_at=None)
    if connection.vendor == "postgresql":
        vector = RawSQL(vector_sql('"chat_conversation"."title"'), [], output_field=SearchVectorField())  # noqa: S611 - constant
        titled = own.filter(turns__isnull=False).distinct().alias(vector=vector)
        titled = titled.filter(vector=tsquery(terms, join, is_typing=True))
        return list(titled.order_by("-updated_at")[:MAX_RESULTS])
    # a title is indexed with the first event of its conversation
    found = matching(Event.objects.filter(conversation__in=own, seq=1), "title", terms, join)
    ranked = list(found.values_list("conversation_id", flat=True)[:MAX_RESULTS])
    conversations = own.in_bulk(ranked)
    return [conversations[pk] for pk in ranked]


def best_messages(person: User, terms: Sequence[str], join: Join) -> dict[uuid.UUID, Event]:
    """Return the best matching message of each conversation, the best conversation first."""
    events = Event.objects.filter(conversation__in=person.conversations.filter(expires_at=None), turn__is_active=True)
    if connection.vendor == "postgresql":
        ranked = match_vector(events, TALK_COLUMN, tsquery(terms, join, is_typing=True))
    else:
        ranked = matching(events, "text", terms, join)
    best: dict[uuid.UUID, int] = {}
    for conversation_id, event_id in ranked.values_list("conversation_id", "pk")[:_MAX_MESSAGES]:
        best.setdefault(conversation_id, event_id)
    wanted = list(best.items())[:MAX_RESULTS]
    found = Event.objects.select_related("conversation", "turn").in_bulk([event_id for _pk, event_id in wanted])
    return {conversation_id: found[event_id] for conversation_id, event_id in wanted}


def matching(events: QuerySet[Event], column: str, terms: Sequence[str], join: Join) -> QuerySet[Event]:
    """Return the events that match in this column of the FTS5 table, best first."""
    return match_fts5(events, TALK_TABLE, f"{column} : ({fts5_expression(terms, join, is_typing=True)})")


def marked_snippet(text: str, words: Sequence[str]) -> tuple[SnippetPart, ...]:
    """Return the text around the first match as parts, without markup; secrets are masked first (product 12)."""
    # Words match with any ending, from their start, much as the engines' stemmers match them.
    stems = [_WORD_ENDINGS.sub("", word) if len(word) > 4 else word for word in words]
    pattern = re.compile(marking_pattern(stems), re.IGNORECASE)

    first = pattern.search(text)
    at = first.start() if first else 0
    # masked with its surroundings: a mask may depend on the words before a secret
    nearby = redact_text(text[max(0, at - _CONTEXT_CHARS) : at + _CONTEXT_CHARS])
    line = " ".join(" ".join(strip_markdown(line) for line in nearby.splitlines()).split())
    if len(line) > SNIPPET_CHARS:  # cut it around the first match, between words
        match = pattern.search(line)
        start = max(0, (match.start() if match else 0) - CHARS_BEFORE_MATCH)
        # languages without spaces are cut anywhere
        start = line.find(" ", start, start + LONGEST_WORD) + 1 or start if start else 0
        end = start + SNIPPET_CHARS
        cut = line.rfind(" ", end - LONGEST_WORD, end)
        rest = line[start:] if end >= len(line) else line[start : cut if cut > 0 else end] + "…"
        line = "…" + rest if start else rest

    parts, done = [], 0
    for match in pattern.finditer(line):
        parts += [SnippetPart(line[done : match.start()], is_match=False), SnippetPart(match[0], is_match=True)]
        done = match.end()
    return tuple(part for part in (*parts, SnippetPart(line[done:], is_match=False)) if part.text)


def strip_markdown(line: str) -> str:
    """Return a line of Markdown without its markup and citation numbers."""
    return _MARKUP.sub("", _CITATION.sub("", _LINK.sub(r"\1", line))).strip()
