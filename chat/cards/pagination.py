"""Pages of a long conversation: the newest fifty messages, earlier ones on request.

Turns of a branch are numbered without gaps, so a page is two numbers. ``?before=7`` asks for the messages before turn 7
(the full page shows them with all that follows, a fragment only them), ``?since=7`` for all from turn 7 on,
``?open=<id>`` for all from that card on; never more than MAX_TURNS of them. A shared page, which anybody may ask for,
shows TURNS of them at a time.

A page ends earlier where its cards pass MAX_PAGE_BYTES of HTML: one that is as long as its texts would fill the memory
of the server with a few views. Product 45.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Case, F, OuterRef, Q, QuerySet, Subquery, Sum, TextField, Value, When
from django.db.models.functions import Cast, Length
from django.urls import reverse

from chat.cards import rendering
from chat.eventlog import branches
from chat.eventlog.read import turns
from chat.eventlog.serialization import TurnRecord, load_records
from chat.models import Event, Turn
from chat.url_converters import parse_id, parse_number

TURNS = 25  # fifty messages: a question and an answer each
MAX_TURNS = 100
MAX_PAGE_BYTES = 2_000_000  # of the stored cards; one that is larger alone is on a page of its own


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


def fitting(found: QuerySet[Turn], most: int = TURNS) -> list[int]:
    """Return the numbers of the first of these turns that fit on a page, in their order; one at least, if there is any.

    Cards of which no size is stored, as after an import, are rendered and stored, as many as their texts let expect to
    fit.
    """
    chars = Sum(Length(Cast("public", TextField())))
    text = Event.objects.filter(turn=OuterRef("pk")).order_by().values("turn").annotate(chars=chars).values("chars")
    is_measured = Q(stored_card__render_version=rendering.render_version())
    columns = {
        "drawn_bytes": Case(When(is_measured, then=F("stored_card__drawn_bytes"))),
        # so that the texts of cards with a size aren't looked at
        "expected_bytes": Case(When(is_measured, then=Value(0)), default=Subquery(text)),
    }
    rows = found.annotate(**columns).values_list("pk", "number", "status", *columns)[:most]
    sizes = {pk: (expected or 0) if drawn is None else drawn for pk, _number, _status, drawn, expected in rows}
    # nothing is stored of a running turn
    unknown = {pk for pk, _n, status, drawn, _e in rows if drawn is None and status != Turn.Status.RUNNING}
    while True:
        room, count = MAX_PAGE_BYTES, 0
        for size in sizes.values():
            room -= size
            if room < 0 and count:
                break
            count += 1
        missing = [pk for pk in list(sizes)[:count] if pk in unknown]
        if not missing:
            return [number for _pk, number, *_more in rows[:count]]
        sizes |= rendering.measure(missing)
        unknown.difference_update(missing)


def read_newest(conversation_id: uuid.UUID) -> tuple[TurnRecord, ...]:
    """Read the page of the newest messages."""
    numbers = fitting(_selected(conversation_id).order_by("-number"))
    return turns(conversation_id, since=numbers[-1]) if numbers else ()


def read_page(
    conversation_id: uuid.UUID, query: Mapping[str, str], *, is_part: bool
) -> tuple[TurnPage, tuple[TurnRecord, ...]]:
    """Read the page that a request asks for."""
    found = _selected(conversation_id)
    before, since = parse_number(query.get("before")), parse_number(query.get("since"))
    earlier = fitting(found.filter(number__lt=before).order_by("-number")) if before else []
    if before and is_part:
        page = TurnPage(earlier[-1] if earlier else before, before)
        return page, turns(conversation_id, since=page.since, before=page.before)
    newest = fitting(found.order_by("-number"))
    if not newest:
        return TurnPage(), ()
    wanted = [
        number
        for number in (*earlier[-1:], since, _number_of(query.get("open"), conversation_id))
        if number is not None
    ]
    first = min([newest[-1], *wanted])
    if first == newest[-1]:
        page = TurnPage(first)
    elif is_part:  # a fragment replaces what the page shows, which ends with the newest messages
        page = TurnPage(fitting(found.filter(number__gte=first).order_by("-number"), MAX_TURNS)[-1])
    else:
        numbers = fitting(found.filter(number__gte=first).order_by("number"), MAX_TURNS)
        page = TurnPage(numbers[0], None if numbers[-1] >= newest[0] else numbers[-1] + 1)
    return page, turns(conversation_id, since=page.since, before=page.before)


def read_shared_page(last: Turn, query: Mapping[str, str]) -> tuple[TurnRecord, ...]:
    """Read the page that a request asks for of the branch that ends with this turn; none where all was deleted."""
    found = branches.path_to(last)
    backwards = found.order_by("-number")
    newest = backwards.values_list("number", flat=True).first()
    if newest is None:
        return ()
    before, since = parse_number(query.get("before")), parse_number(query.get("since"))
    if since is None and before is not None:
        numbers = fitting(backwards.filter(number__lt=max(2, before)))
    elif since is None:
        numbers = fitting(backwards)
        since = _number_of(query.get("open"), last.conversation_id)
        since = None if since in numbers else since
    if since is not None:
        numbers = fitting(found.filter(number__gte=min(since, newest)))
    return load_records([*found.filter(number__range=(min(numbers), max(numbers)))])


def previous_page(records: Sequence[TurnRecord]) -> PreviousPage | None:
    """Return the page before these turns, or None."""
    if not records or records[0].turn.number <= 1:
        return None
    turn = records[0].turn
    page, part = (reverse(f"chat:{name}", args=[turn.conversation_id]) for name in ("conversation", "messages"))
    query = f"?before={turn.number}"
    return PreviousPage(turn.number, f"{page}{query}#m-{turn.public_id}-q", f"{part}{query}")


def _selected(conversation_id: uuid.UUID) -> QuerySet[Turn]:
    return Turn.objects.filter(conversation_id=conversation_id, is_active=True)


def _number_of(public_id: str | None, conversation_id: uuid.UUID) -> int | None:
    turn_id = parse_id(public_id)
    found = Turn.objects.filter(pk=turn_id, conversation=conversation_id) if turn_id else Turn.objects.none()
    return found.values_list("number", flat=True).first()
