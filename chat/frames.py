"""Notices to frames: what one viewer's page is sent as a turn grows.

Open text travels as JSON with ``<``, ``>`` and ``&`` escaped, so that a page that missed its listener can't be made to
swap it; whole parts of a card travel as HTML under their own ids, drawn by the templates that draw the page. Shells
that a person may have opened are in no frame. What the viewer may not see is not sent (product 15).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat import cards, windows
from chat.begun import begun_card
from chat.cardviews import AnswerView, QueuedView, dom_id
from chat.grown import growth
from chat.live import LiveTurn
from chat.log import TurnRows
from chat.notices import (
    BlockDone,
    Finished,
    Notice,
    OpenText,
    QueueChanged,
    Started,
    StatusChanged,
    StepsChanged,
    ThinkingText,
)
from chat.templatetags.cards import draw_question
from chat.textframes import TextFrames, json_frame
from reasoning.policy import EXCERPT_CHARS, TRUNCATED, Visibility

_LIVE_PARTS = ("head", "status", "answer")
_FINAL_PARTS = ("head", "status", "answer", "sources", "actions", "notice", "points")
TOKENS_EVERY_S = 1.0
STEPS_EVERY_S = 1.0
FEW_STEPS = 20
ANNOUNCE_EVERY_S = 10.0


class PageFrames:
    """The frames of one open page. Holds what the page subscribed to, and when it was last told a figure."""

    def __init__(self, sees: Visibility) -> None:
        self.sees = sees
        self._texts = TextFrames()
        self._open_thinking: set[str] = set()
        self._thinking_n: dict[str, int] = {}
        self._tokens_at = 0.0
        self._steps_at = 0.0
        self._announced_at = -ANNOUNCE_EVERY_S
        self._head = ("", "")  # of the running card, as it was drawn last: its id and its model
        self._drawn_steps = ""  # of it, as they were drawn last
        self._growing = ""  # its id, while the page has all that was told of it

    def draw(self, notice: Notice) -> list[str]:
        """Return the frames for one notice, in order."""
        match notice:
            case OpenText(turn, n, text):
                return [self._texts.piece(dom_id(turn.public_id, "tail"), n, text)]
            case BlockDone():
                return [self._texts.block(notice)]
            case ThinkingText():
                return self._thinking(notice)
            case Started(turn, replaced, _conversation):
                return self._started(turn, replaced.hex if replaced else None)
            case Finished(turn, rows):
                return self.finished(rows, turn)
            case QueueChanged(waiting):
                return [queue_frame(waiting)]
        return self._progress(notice)

    def snapshot(self, turn: LiveTurn) -> list[str]:
        """Return the parts of a running card that the page already holds, as they stand now."""
        card = cards.live_answer_card(turn, self.sees)
        self._begin(card)
        frames = [_parts(card, _LIVE_PARTS), *self._steps(card)]
        frames.append(json_frame(card=card.id, status=card.status, tokensEst=_tokens(card)))
        if card.id in self._open_thinking:
            frames += self.open_thinking(turn)
        return [*frames, json_frame(running=True)]

    def finished(self, rows: TurnRows, live: LiveTurn | None = None) -> list[str]:
        """Return the end of a turn: each part under its own id, then its status.

        A page that saw ``live`` grow is sent what it lacks, any other one all.
        """
        card = cards.answer_card(rows, self.sees)
        grown = growth(live, card.answer_html) if live is not None and self._growing == card.id else None
        if grown is None:
            self._drawn_steps = ""
        html = [grown.changed if grown else "", _parts(card, self._final_parts(card, is_grown=grown is not None))]
        html += self._steps(card)
        if card.thinking is not None:
            html.append(_parts(card, ("thinking_label",)))
        question = {"question": cards.question_card(rows), "oob": True}
        html.append(render_to_string("chat/_question_tools.html", question))
        self._open_thinking.discard(card.id)
        self._growing = ""
        return [
            json_frame(settles=card.id),
            *([grown.frame] if grown else ()),
            "".join(html),
            json_frame(card=card.id, status=card.status, tokensEst=_tokens(card)),
            json_frame(running=False),
            json_frame(announce=_ending(card), assertive=card.status == "error"),
        ]

    def append_cards(self, rows: Iterable[TurnRows]) -> list[str]:
        """Return whole cards of finished turns that the page does not hold."""
        items = cards.items(list(rows), self.sees)
        return [_append(items)] if items else []

    def append_live(self, turn: LiveTurn) -> list[str]:
        """Return the whole card of a running turn that the page does not hold."""
        card = cards.live_answer_card(turn, self.sees)
        self._begin(card)
        question = cards.live_question_card(turn)
        if begun := begun_card(turn, self.sees):
            return [_appended(draw_question(question) + begun), json_frame(running=True)]
        return [_append([{"question": question, "answer": card}]), json_frame(running=True)]

    def replace_all(self, rows: Iterable[TurnRows]) -> list[str]:
        """Return every card again, for a page whose own have nothing in common with the branch any more."""
        rows = list(rows)
        self._growing = ""
        context = {"items": cards.items(rows, self.sees), "earlier": windows.earlier(rows)}
        html = render_to_string("chat/_messages.html", context)
        return [format_html('<div id="messages" hx-swap-oob="innerHTML">{}</div>', html)]

    def open_thinking(self, turn: LiveTurn) -> list[str]:
        """Subscribe to the thinking of a running card: what it holds now, then what comes."""
        if not self.sees.may_open_thinking:
            return []
        self._open_thinking.add(turn.public_id)
        self._thinking_n[turn.public_id] = 0
        text, _cut = self.sees.thinking_text(turn.thinking_so_far)
        return [self._texts.piece(dom_id(turn.public_id, "thinking-text"), 0, text)]

    def close_thinking(self, message_id: str) -> None:
        """Unsubscribe from the thinking of a card."""
        self._open_thinking.discard(message_id)

    def _begin(self, card: AnswerView) -> None:
        self._head = (card.id, card.model)
        self._growing, self._drawn_steps = card.id, ""
        self._texts = TextFrames()  # the next piece says where it stands

    def _progress(self, notice: Notice) -> list[str]:
        match notice:
            case StatusChanged(turn, aloud):
                return self._status(turn, aloud=aloud)
            case StepsChanged(turn) if self._may_draw_steps(len(turn.steps)):
                return self._steps(cards.live_answer_card(turn, self.sees))
        return []

    def _may_draw_steps(self, count: int) -> bool:
        """Draw each change of a few steps, of many at most once a second: the end draws them all once more."""
        now = time.monotonic()
        if count > FEW_STEPS and now - self._steps_at < STEPS_EVERY_S:
            return False
        self._steps_at = now
        return True

    def _started(self, turn: LiveTurn, replaced: str | None) -> list[str]:
        gone = [dom_id(replaced), dom_id(f"{replaced}-q")] if replaced else []
        deleted = [format_html('<div id="{}" hx-swap-oob="delete"></div>', name) for name in gone]
        return [*deleted, *self.append_live(turn), json_frame(announce=_("Working on the answer"))]

    def _status(self, turn: LiveTurn, *, aloud: bool) -> list[str]:
        card = cards.live_answer_card(turn, self.sees)
        head, self._head = self._head, (card.id, card.model)
        frames = [_parts(card, ("status",) if head == self._head else ("head", "status"))]
        now = time.monotonic()
        if aloud and now - self._announced_at > ANNOUNCE_EVERY_S:
            self._announced_at = now
            frames.append(json_frame(announce=card.status_text))
        return frames

    def _steps(self, card: AnswerView) -> list[str]:
        before, self._drawn_steps = self._drawn_steps, ""
        if self.sees.trace and card.steps:
            self._drawn_steps = _parts(card, ("trace_label", "steps"))
        return [self._drawn_steps] if self._drawn_steps != before else []

    def _final_parts(self, card: AnswerView, *, is_grown: bool) -> list[str]:
        """Return the names of the parts that the end of a turn draws; of a card that was seen growing few are new."""
        is_new = {
            "answer": not is_grown,
            "head": not is_grown or self._head != (card.id, card.model),
            "notice": not is_grown or card.has_notice,
            "points": self.sees.summary and (not is_grown or bool(card.points)),
            "sources": not is_grown or bool(card.sources or card.found_label or card.unfound),
        }
        return [name for name in _FINAL_PARTS if is_new.get(name, True)]

    def _thinking(self, notice: ThinkingText) -> list[str]:
        if not self.sees.may_open_thinking:
            return []
        frames = []
        message_id = notice.turn.public_id
        text = visible_thinking(notice, self.sees)
        if message_id in self._open_thinking and text:
            n = self._thinking_n[message_id] = self._thinking_n[message_id] + 1
            frames.append(self._texts.piece(dom_id(message_id, "thinking-text"), n, text))
        now = time.monotonic()
        if notice.before == 0 or now - self._tokens_at > TOKENS_EVERY_S:
            self._tokens_at = now
            frames.append(json_frame(card=message_id, tokensEst=notice.turn.thinking_tokens))
        return frames


def visible_thinking(notice: ThinkingText, sees: Visibility) -> str:
    """Return what of a piece of thinking this viewer may read: an excerpt ends with its mark, once. Product 4."""
    if not sees.may_open_thinking:
        return ""
    if sees.thinking == "whole":
        return notice.text
    room = EXCERPT_CHARS - notice.before
    if room < 0:
        return ""
    return notice.text if len(notice.text) <= room else notice.text[:room] + TRUNCATED


def queue_frame(waiting: Sequence[tuple[str, str]]) -> str:
    """Return the messages that wait, as the page shows them."""
    queued = [QueuedView(message_id, text) for message_id, text in waiting]
    html = render_to_string("chat/_queued.html", {"queued": queued})
    return format_html('<div id="queue" hx-swap-oob="innerHTML">{}</div>', html)


def scratchpad_frame(message_id: str, text: str, *, is_first: bool) -> str:
    """Return the debug panel of one card, later only its text: what a person closed stays closed.

    Only ``accounts.scratchpad`` reveals what goes in here.
    """
    if is_first:
        return render_to_string("chat/_scratchpad.html", {"message_id": message_id, "text": text, "oob": True})
    return format_html('<pre id="{}" hx-swap-oob="innerHTML">{}</pre>', dom_id(message_id, "pad-text"), text)


def error_frame(message: str, client_id: str = "") -> str:
    """Return the composer's error: what was wrong and what is allowed."""
    return render_to_string("chat/_error.html", {"message": message, "client_id": client_id, "oob": True})


def _parts(card: AnswerView, names: Sequence[str]) -> str:
    context = {"card": card, "oob": True}
    return "".join(render_to_string(f"chat/_{name}.html", context) for name in names)


def _append(items: Sequence[dict[str, Any]]) -> str:
    return _appended(render_to_string("chat/_messages.html", {"items": items}))


def _appended(html: SafeString) -> str:
    return format_html('<div hx-swap-oob="beforeend:#messages">{}</div>', html)


def _tokens(card: AnswerView) -> int:
    return card.thinking.tokens_est if card.thinking else 0


def _ending(card: AnswerView) -> str:
    match card.status:
        case "complete" if card.steps:
            count = len(card.steps)
            return ngettext("Answer ready, %(count)s step", "Answer ready, %(count)s steps", count) % {"count": count}
        case "complete":
            return _("Answer ready")
        case "error":
            return card.error
    return card.ended_label or card.notice
