"""Answers as HTML: rendered once per language when their turn ends, and stored with it.

An answer that has no HTML in the viewer's language, or HTML of an older version, is rendered when it is first shown.
What is stored holds only what every viewer of the conversation may see: the answer and its citations.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

from channels.db import database_sync_to_async
from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import prefetch_related_objects
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from chat.eventlog import TurnRecord
from chat.eventlog.user_texts import user_text_of
from chat.html import arender, render_answer, render_policy
from chat.link_check import EMPTY, UNKNOWN, UserText, may_contain_link
from chat.models import StoredCard, Turn
from reasoning.citations import citation_numbers
from reasoning.envelope import AnswerRecord
from reasoning.events import AssistantMessage

VERSION = 3  # raise it with a change of the rendering that stored answers are to follow
logger = logging.getLogger(__name__)


def render_version() -> str:
    """Return the version of the HTML that is rendered now: ours, and a digest of the settings that decide on links."""
    return f"{VERSION}-{blake2b(repr(render_policy()).encode(), digest_size=8).hexdigest()}"


def answer_html(turn: Turn, record: AnswerRecord) -> SafeString:
    """Return the stored HTML of an answer.

    One that ``load`` has not seen is rendered without a query, and so without links that may repeat a question.
    """
    stored = _card(turn) if Turn._meta.get_field("stored_card").is_cached(turn) else None
    if stored is not None and _is_current(stored):
        return SafeString(stored.answer_html[_language()])
    return _render(record, UNKNOWN)


def load(records: Sequence[TurnRecord], *, again: bool = False) -> None:
    """Read the stored HTML of these turns of one conversation; render and store what is missing in this language.

    ``again``: render all of it. Reads and writes the database. The HTML of a running turn isn't stored.
    """
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
    version, language = render_version(), _language()
    for turn_record in missing:
        card = _card(turn_record.turn) or StoredCard(turn=turn_record.turn)
        # Other languages stay if they were rendered by the same version.
        others = card.answer_html if card.render_version == version else {}
        card.answer_html = {
            **others,
            language: _render(turn_record.answer_record(), asked.get(turn_record.turn.pk, EMPTY)),
        }
        card.render_version = version
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
        html = await arender(owner_id, [record.answer], _render, record, asked)
        card.render_version, card.answer_html = render_version(), {_language(): html}
    except Exception:
        logger.exception("answer not rendered", extra={"turn": turn.public_id})
    await database_sync_to_async(save)([card])


def save(cards: Sequence[StoredCard]) -> None:
    """Store cards, in one statement. Where that fails they are rendered again when they are needed again."""
    fields = ["render_version", "answer_html", "context_key", "context_tokens", "unsent_tokens"]
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


def _render(record: AnswerRecord, asked: UserText) -> SafeString:
    return render_answer(record.answer, record.citations, numbers=citation_numbers(record.citations), user_text=asked)


def _language() -> str:
    return get_language() or settings.LANGUAGE_CODE
