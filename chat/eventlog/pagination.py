"""Pages of a long conversation: the newest fifty messages, earlier ones on request.

Turns of a branch are numbered without gaps, so a page is two numbers. ``?before=7`` asks for the messages before turn 7
(the full page shows them with all that follows, a fragment only them), ``?since=7`` for all from turn 7 on,
``?open=<id>`` for all from that card on; never more than MAX_TURNS of them. A shared page, which anybody may ask for,
shows TURNS of them at a time.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse

from chat.eventlog.read import last_number, path_to, turns
from chat.eventlog.serialization import TurnRecord
from chat.models import Turn
from chat.url_converters import parse_id, parse_number

TURNS = 25  # fifty messages: a question and an answer each
MAX_TURNS = 400


@dataclass(frozen=True, slots=True)
class TurnPage:
    """Turns from ``since`` on, up to ``before`` (not included) where it is set."""

    since: int = 1
    before: int | None = None

    def __contains__(self, number: int) -> bool:
        return self.since <= number and (self.before is None or number < self.before)


@dataclass(frozen=True, slots=True)
class PreviousPage:
    """Links to the messages before turn ``before``, as a page and as a fragment."""

    before: int
    url: str
    part_url: str


def newest(conversation_id: uuid.UUID) -> TurnPage:
    """Return the page of the newest messages."""
    return TurnPage(max(1, last_number(conversation_id) - TURNS + 1))


def read_page(
    conversation_id: uuid.UUID, query: Mapping[str, str], *, is_part: bool
) -> tuple[TurnPage, tuple[TurnRecord, ...]]:
    """Read the page that a request asks for."""
    before = parse_number(query.get("before"))
    number = None
    if opened := parse_id(query.get("open")):
        found = Turn.objects.filter(pk=opened, conversation=conversation_id)
        number = found.values_list("number", flat=True).first()
    wanted = (parse_number(query.get("since")), before and before - TURNS, number)
    numbers = [number for number in wanted if number is not None]
    if before and is_part:
        page = TurnPage(max(1, before - TURNS), before)
    elif numbers:
        last = last_number(conversation_id)
        since = max(1, min([last - TURNS + 1, *numbers]))
        if last - since < MAX_TURNS:
            page = TurnPage(since)
        else:  # a fragment replaces what the page shows, which ends with the newest messages
            page = TurnPage(last - MAX_TURNS + 1) if is_part else TurnPage(since, since + MAX_TURNS)
    else:
        records = turns(conversation_id, newest=TURNS)
        return TurnPage(records[0].turn.number if records else 1), records
    return page, turns(conversation_id, since=page.since, before=page.before)


def read_shared_page(last: Turn, query: Mapping[str, str]) -> tuple[TurnRecord, ...]:
    """Read the page that a request asks for of the branch that ends with this turn."""
    before = parse_number(query.get("before"))
    if before is None and (opened := parse_id(query.get("open"))):
        number = Turn.objects.filter(pk=opened, conversation=last.conversation_id).values_list("number", flat=True)
        before = (number.first() or last.number) + TURNS
    # a page has at least one turn, and none behind the last
    before = max(2, min(before or last.number + 1, last.number + 1))
    return path_to(last, since=before - TURNS, before=before)


def previous_page(records: Sequence[TurnRecord]) -> PreviousPage | None:
    """Return the page before these turns, or None."""
    if not records or records[0].turn.number <= 1:
        return None
    turn = records[0].turn
    page, part = (reverse(f"chat:{name}", args=[turn.conversation_id]) for name in ("conversation", "messages"))
    query = f"?before={turn.number}"
    return PreviousPage(turn.number, f"{page}{query}#m-{turn.public_id}-q", f"{part}{query}")
