"""Search over one's own conversations: titles, questions and answers, with the engines of ``chat.searchindex``.

Only public halves are indexed, only the selected branch is shown, and only what its owner can open is found: nothing
deleted, nothing temporary, nobody else's. All words are wanted in one place; where that finds nothing, any of them.
The last word may be unfinished, for it is searched while it is typed. The engines rank.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from django.contrib.postgres.search import SearchQuery, SearchRank, SearchVector, SearchVectorField
from django.db import connection
from django.db.models import F, FloatField, QuerySet
from django.db.models.expressions import RawSQL

from accounts.models import User
from chat.models import Conversation, Event
from chat.models.search import search_terms, words_of
from chat.searchindex import TALK_COLUMN, TALK_TABLE
from chat.snippets import Part, marked

MOST_FOUND = 30
_MESSAGES_LOOKED_AT = 5000  # keys only: a long conversation must not crowd the others out
_MOST_WORDS = 12
QUERY_MOST_CHARS = 200
Join = Literal["AND", "OR"]


@dataclass(frozen=True, slots=True)
class Found:
    """A conversation that was found, with the passage that says why: parts of a text, each a match or not."""

    conversation: Conversation
    title: tuple[Part, ...]
    snippet: tuple[Part, ...] = ()
    message_id: str = ""  # of the card that holds it
    number: int = 0  # of its turn


def search(person: User, text: str) -> tuple[Found, ...]:
    """Return what of this person's conversations matches, best first: by title, then by what was said."""
    text = text[:QUERY_MOST_CHARS]
    words = (search_terms(text) or words_of(text))[:_MOST_WORDS]
    if not words:
        return ()
    return _found(person, words, "AND") or (_found(person, words, "OR") if len(words) > 1 else ())


def _found(person: User, words: Sequence[str], join: Join) -> tuple[Found, ...]:
    said = _messages(person, words, join)
    named = {found.pk: found for found in _titles(person, words, join)}
    spoken = {event.conversation_id: event.conversation for event in said.values()}
    everything = {**named, **spoken}
    return tuple(_one(found, said.get(key), words) for key, found in list(everything.items())[:MOST_FOUND])


def _one(conversation: Conversation, event: Event | None, words: Sequence[str]) -> Found:
    title = marked(conversation.title, words)
    if event is None:
        return Found(conversation, title)
    snippet = marked(str(event.public.get("text", "")), words)
    message_id = event.turn.public_id + ("-q" if event.type == "user_message" else "")
    return Found(conversation, title, snippet, message_id, event.turn.number)


def _titles(person: User, words: Sequence[str], join: Join) -> Sequence[Conversation]:
    mine = person.conversations.filter(expires_at=None)
    if connection.vendor == "postgresql":
        vector = SearchVector("title", config="english")
        found = mine.filter(turns__isnull=False).distinct().alias(vector=vector).filter(vector=_tsquery(words, join))
        return list(found.order_by("-updated_at")[:MOST_FOUND])
    matching = _fts(Event.objects.filter(conversation__in=mine, seq=1), "title", words, join)
    order = list(matching.values_list("conversation_id", flat=True)[:MOST_FOUND])
    listed = mine.in_bulk(order)
    return [listed[pk] for pk in order]


def _messages(person: User, words: Sequence[str], join: Join) -> dict[uuid.UUID, Event]:
    """Return the best message of each conversation, the best conversation first."""
    mine = person.conversations.filter(expires_at=None)
    said = Event.objects.filter(conversation__in=mine, turn__is_active=True)
    found = _vector(said, words, join) if connection.vendor == "postgresql" else _fts(said, "text", words, join)
    best: dict[uuid.UUID, int] = {}
    for conversation, event in found.values_list("conversation_id", "pk")[:_MESSAGES_LOOKED_AT]:
        best.setdefault(conversation, event)
    shown = dict(list(best.items())[:MOST_FOUND])
    events = Event.objects.select_related("conversation", "turn").in_bulk(shown.values())
    return {conversation: events[event] for conversation, event in shown.items()}


def _fts(events: QuerySet[Event], column: str, words: Sequence[str], join: Join) -> QuerySet[Event]:
    match = f" {join} ".join([*(f'"{word}"' for word in words[:-1]), f'"{words[-1]}" *'])
    joined = events.extra(  # noqa: S610 - constant names, the query is a parameter
        tables=[TALK_TABLE],
        where=[f"{TALK_TABLE}.rowid = chat_event.id", f"{TALK_TABLE} MATCH %s"],
        params=[f"{column} : ({match})"],
    )
    score = RawSQL(f"-bm25({TALK_TABLE})", [], output_field=FloatField())  # noqa: S611
    ranked: QuerySet[Event] = joined.annotate(score=score).order_by(F("score").desc(), "-pk")
    return ranked


def _vector(events: QuerySet[Event], words: Sequence[str], join: Join) -> QuerySet[Event]:
    vector = RawSQL(f'"chat_event"."{TALK_COLUMN}"', [], output_field=SearchVectorField())  # noqa: S611
    query = _tsquery(words, join)
    ranked = events.alias(vector=vector).filter(vector=query).annotate(score=SearchRank(vector, query, normalization=1))
    return ranked.order_by(F("score").desc(), "-pk")


def _tsquery(words: Sequence[str], join: Join) -> SearchQuery:
    sign = {"AND": " & ", "OR": " | "}[join]
    terms = [*(f"'{word}'" for word in words[:-1]), f"'{words[-1]}':*"]  # a word holds neither quote nor backslash
    return SearchQuery(sign.join(terms), config="english", search_type="raw")
