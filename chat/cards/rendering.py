"""Answers as HTML: rendered once per language when their turn ends, and stored with it.

An answer that has no HTML in the viewer's language, or HTML of an older version, is rendered when it is first shown.
What is stored holds only what every viewer of the conversation may see: the answer and its citations. It is bounded: of
an answer that is too large for a page the first blocks are shown. Beside it rests the size of the cards, so that
``chat.cards.pagination`` knows how many fit on a page without reading them.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Collection, Mapping, Sequence
from hashlib import blake2b
from html import escape
from typing import Any, NamedTuple

from channels.db import database_sync_to_async
from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import prefetch_related_objects
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from chat.eventlog import TurnRecord
from chat.eventlog.serialization import load_records
from chat.eventlog.user_texts import user_text_of
from chat.html import arender, render_answer, render_policy, split_blocks
from chat.html.link_check import EMPTY, UNKNOWN, UserText, may_contain_link
from chat.models import StoredCard, Turn
from reasoning.citations import citation_numbers
from reasoning.envelope import AnswerRecord
from reasoning.events import AssistantMessage

MAX_ANSWER_BYTES = 1_000_000  # of HTML
# What a card has besides texts, and around each value of its steps and sources: measured with the templates.
CARD_BYTES, VALUE_BYTES = 5_000, 60
VERSION = 6  # raise it with a change of the rendering that stored answers are to follow
logger = logging.getLogger(__name__)


class ShownAnswer(NamedTuple):
    """The HTML of an answer. ``is_shortened``: of its first blocks, for all of it would be too large."""

    html: SafeString
    is_shortened: bool = False


def render_version() -> str:
    """Return the version of the HTML that is rendered now: ours, and a digest of the settings that decide on links."""
    return f"{VERSION}-{blake2b(repr(render_policy()).encode(), digest_size=8).hexdigest()}"


def shown_answer(turn: Turn, record: AnswerRecord) -> ShownAnswer:
    """Return the stored HTML of an answer.

    One that ``load`` has not seen is rendered without a query, so that any link may repeat a question.
    """
    if is_rendered(turn):
        stored = turn.stored_card
        return ShownAnswer(SafeString(stored.answer_html[_language()]), stored.is_shortened)
    return _render(record, UNKNOWN)


def is_rendered(turn: Turn) -> bool:
    """Say whether the card of a turn was read, or just written, and has HTML in this language."""
    card = _card(turn) if Turn._meta.get_field("stored_card").is_cached(turn) else None
    return card is not None and _is_current(card)


def load(records: Sequence[TurnRecord], *, again: bool = False) -> None:
    """Read the stored HTML of these turns of one conversation; render and store what is missing in this language.

    ``again``: render all of it. Reads and writes the database. The HTML of a running turn isn't stored.
    """
    records = [*records, *(turn_record.beside for turn_record in records if turn_record.beside)]
    prefetch_related_objects([turn_record.turn for turn_record in records], "stored_card")
    missing = [
        turn_record for turn_record in records if again or not ((card := _card(turn_record.turn)) and _is_current(card))
    ]
    if not missing:
        return
    linking = {
        turn_record.turn.pk
        for turn_record in missing
        if any(may_contain_link(event["text"]) for event in _messages(turn_record))
    }
    asked = user_text_of(missing[0].turn.conversation_id, linking)  # matters only to links
    for turn_record in missing:
        card = _card(turn_record.turn) or StoredCard(turn=turn_record.turn)
        _fill(card, turn_record, _render(turn_record.answer_record(), asked.get(turn_record.turn.pk, EMPTY)))
    save([turn_record.turn.stored_card for turn_record in missing if turn_record.turn.status != Turn.Status.RUNNING])


async def render_card(turn_record: TurnRecord, owner_id: int) -> None:
    """Render the answer of a turn with a new card and store it, off the event loop and off the database's thread.

    Where that fails the answer is rendered when it is needed.
    """
    turn, record = turn_record.turn, turn_record.answer_record()
    card, asked = turn.stored_card, EMPTY
    try:
        if any(may_contain_link(event["text"]) for event in _messages(turn_record)):
            asked_of = await database_sync_to_async(user_text_of)(turn.conversation_id, {turn.pk})
            asked = asked_of.get(turn.pk, EMPTY)
        _fill(card, turn_record, await arender(owner_id, [record.answer], _render, record, asked))
    except Exception:
        logger.exception("answer not rendered", extra={"turn": turn.public_id})
    await database_sync_to_async(save)([card])


def measure(turn_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, int]:
    """Return the size of the cards of turns that have no stored HTML: it is rendered and stored."""
    records = load_records([*Turn.objects.filter(pk__in=turn_ids).select_related("stored_card")])
    load(records)
    return {turn_record.turn.pk: turn_record.turn.stored_card.drawn_bytes for turn_record in records}


def save(cards: Sequence[StoredCard]) -> None:
    """Store cards, in one statement. Where that fails they are rendered again when they are needed again."""
    fields = [
        "render_version",
        "answer_html",
        "is_shortened",
        "drawn_bytes",
        "context_key",
        "context_tokens",
        "unsent_tokens",
    ]
    try:
        with transaction.atomic():
            StoredCard.objects.bulk_create(cards, update_conflicts=True, unique_fields=["turn"], update_fields=fields)
    except DatabaseError:
        logger.warning("cards not stored", exc_info=True)


def _card(turn: Turn) -> StoredCard | None:
    return getattr(turn, "stored_card", None)


def _is_current(card: StoredCard) -> bool:
    return card.render_version == render_version() and _language() in card.answer_html


def _messages(turn_record: TurnRecord) -> list[Mapping[str, Any]]:
    return [event for event in turn_record.events if event["type"] == AssistantMessage.type]


def _fill(card: StoredCard, turn_record: TurnRecord, answer: ShownAnswer) -> None:
    """Set the HTML of an answer on its card, in the language of this moment. The caller saves it."""
    # Other languages stay if they were rendered by the same version; a word of ours may make one of them too large.
    version = render_version()
    others = card.answer_html if card.render_version == version else {}
    card.is_shortened = answer.is_shortened or (card.is_shortened and bool(others))
    card.answer_html = {**others, _language(): answer.html}
    card.drawn_bytes = drawn_bytes(turn_record, answer)
    card.render_version = version


def drawn_bytes(turn_record: TurnRecord, answer: ShownAnswer) -> int:
    """Return about how many bytes of a page the cards of a turn are, for a viewer who may see all of them."""
    others = [
        {name: value for name, value in event.items() if name != "text" or event["type"] != AssistantMessage.type}
        for event in turn_record.events
    ]
    form = json.dumps(others)
    return CARD_BYTES + len(answer.html.encode()) + len(escape(form)) + VALUE_BYTES * form.count('":')


def _render(record: AnswerRecord, asked: UserText) -> ShownAnswer:
    shown, is_shortened, numbers = record.answer, False, citation_numbers(record.citations)
    while True:
        html = render_answer(shown, record.citations, numbers=numbers, user_text=asked)
        size = len(html.encode())
        if size <= MAX_ANSWER_BYTES:
            return ShownAnswer(html, is_shortened)
        # Blocks that were rendered are cached. How much HTML a text becomes is seen only afterwards: a page of MathML
        # is twenty times as long as its source.
        shown, is_shortened = _beginning(shown, int(0.9 * len(shown) * MAX_ANSWER_BYTES / size)), True


def _beginning(text: str, chars: int) -> str:
    """Return the first blocks of a text, at most so many characters; where they are few, with a part of the next."""
    end = 0
    for block in split_blocks(text[:chars]):
        if end + len(block) >= chars:
            break
        end += len(block)
    return text[: end if end > chars // 2 else chars]


def _language() -> str:
    return get_language() or settings.LANGUAGE_CODE
