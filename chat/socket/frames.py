"""What one viewer's page is sent: HTML frames for htmx to swap, JSON frames for ``static/js/frames.js``.

The answer travels as JSON: text for the tip of the open block, or what of the HTML up to the tip has changed. Parts of
a card travel as HTML under their own ids, drawn by the templates of the page. The elements that a person opens and
closes are in no frame, so that they stay as they are. What the viewer may not see is not sent (product 15).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import msgspec
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat.cards import build, pagination
from chat.cards.view_models import AnswerView, ContextView, ModelView, dom_id
from chat.conversations.commands import CommandAnswer
from chat.eventlog import TurnRecord
from chat.html import OpenBlock
from chat.live.state import Event, TurnState
from chat.models import Conversation, QueuedMessage
from reasoning.visibility import EXCERPT_CHARS, Visibility

_LIVE_PARTS = ("history", "head", "status", "answer", "approval")
_SUMMARY_PARTS = ("points", "points_note")
_FINAL_PARTS = ("history", "head", "status", "approval", "sources", "actions", "notice", *_SUMMARY_PARTS)
TOKENS_EVERY_S = 1.0
STEPS_EVERY_S = 1.0
FEW_STEPS = 20
ANNOUNCE_EVERY_S = 10.0


class Frame(
    msgspec.Struct,
    omit_defaults=True,
    rename="camel",
    tag_field="type",
    tag=lambda name: name.removesuffix("Frame").lower(),
):
    """A JSON frame: its type and named fields. ``static/js/frames.js`` has a handler for each type."""

    def encode(self) -> str:
        """Return the JSON text. It has no "<": a page that missed its listener would swap a frame with markup."""
        return msgspec.json.encode(self).decode().replace("<", "\\u003c")


class TextFrame(Frame):
    """More text at the tip of the open block. ``n`` counts the changes of the block.

    ``beside``: it is of the second of two answers side by side.
    """

    n: int
    text: str
    beside: bool = False


class BlockFrame(Frame):
    """A change of the HTML of the open block up to its tip.

    ``same``: how many characters stay, before ``html``. ``finished``: how many of both are no part of the block any
    more. ``end``: the end tags behind the tip, where they have changed. ``id``: of the element, with the whole block.
    """

    n: int
    html: str
    same: int = 0
    finished: int = 0
    end: str | msgspec.UnsetType = msgspec.UNSET
    id: str = ""
    beside: bool = False


class ThinkingFrame(Frame):
    """Thinking of a card that the page has opened: with ``n`` 0 all of it, else more."""

    id: str
    n: int
    text: str


class EndingFrame(Frame):
    """The end of the answer in this card follows."""

    card: str


class CardFrame(Frame):
    """The status of a card, and how long its thinking is."""

    card: str
    status: str = ""
    tokens_est: int | msgspec.UnsetType = msgspec.UNSET


class TurnFrame(Frame):
    """Whether a turn is running."""

    running: bool


class SwitchFrame(Frame):
    """The state of a switch in the top bar, and whether this viewer may use it."""

    name: str
    on: bool
    possible: bool


class EffortOption(msgspec.Struct, frozen=True):
    """An option of the pickers of effort and of the second model."""

    value: str
    label: str
    chosen: bool


class ModelFrame(Frame):
    """The model that answers next, the efforts that can be chosen for it, and the models that may answer beside it."""

    model: str
    label: str
    efforts: tuple[EffortOption, ...]
    others: tuple[EffortOption, ...]


class TitleFrame(Frame):
    """The title of the conversation. ``goes_up``: its entry in the list follows, for the top of its group."""

    conversation: str
    title: str
    goes_up: bool


class AnnounceFrame(Frame):
    """A text for screen readers."""

    text: str
    assertive: bool = False


class AcceptedFrame(Frame):
    """The message with this id was accepted. ``appears``: it comes as a card or in the queue."""

    id: str
    appears: bool = False


class DraftFrame(Frame):
    """A text for the composer."""

    text: str


class LiveFrame(Frame):
    """Whether events of the conversation reach the page at once."""

    live: bool


class PageFrames:
    """The frames of one open page. Remembers what the page subscribed to, and when it was last sent a figure.

    Of two answers side by side each has its own; ``beside``: those of the second.
    """

    def __init__(self, sees: Visibility, *, beside: bool = False) -> None:
        self.sees = sees
        self._beside = beside
        self._open_thinking: dict[str, int] = {}  # public id to the number of the last piece
        self._open_html = ""  # of the open block up to its tip, as the page has it
        self._open_end = ""  # what follows its tip
        self._tokens_at = 0.0
        self._steps_at = 0.0
        self._announced_at = -ANNOUNCE_EVERY_S

    def draw(self, turn: TurnState, event: Event) -> list[str]:
        """Return the frames for an event of a running turn. ``turn``: its state, perhaps after later events."""
        match event["kind"]:
            case "text":
                return self._open_block(event)
            case "block":
                return [self._redraw(0, OpenBlock(*event["open"]), event["html"])]
            case "thinking":
                return self._thinking(turn, event)
            case "status":
                return self._status(turn, announce=event["announce"])
            case "approval":
                card = build.live_answer_card(turn, self.sees)
                return [_parts(card, ("approval",)), *self._steps(card)]
            case "history":
                return [_parts(build.live_answer_card(turn, self.sees), ("history",))]
            case "step" if self._may_draw_steps(len(turn.steps)):
                return self._steps(build.live_answer_card(turn, self.sees))
        return []

    def snapshot(self, turn: TurnState) -> list[str]:
        """Return the parts of a running card that the page has already."""
        card = build.live_answer_card(turn, self.sees)
        frames = [
            _parts(card, (*_LIVE_PARTS, *_thinking_parts(card))),
            self.whole_open_block(turn),
            *self._steps(card),
        ]
        frames.append(CardFrame(card=card.id, status=card.status, tokens_est=_tokens(card)).encode())
        if card.id in self._open_thinking:
            frames += self.open_thinking(turn)
        return [*frames, TurnFrame(running=True).encode()]

    def append_live(self, turn: TurnState, beside: TurnState | TurnRecord | None = None) -> list[str]:
        """Return the whole card of a running turn that the page doesn't have; ``beside``: with that of the second."""
        html = _append([build.live_item(turn, beside, self.sees)])
        return [html, self.whole_open_block(turn), TurnFrame(running=True).encode()]

    def replace_live(self, turn: TurnState) -> list[str]:
        """Return the card of a turn that runs again, to be put in the place of its ended one."""
        html = render_to_string("chat/card/_card.html", {"card": build.live_answer_card(turn, self.sees), "oob": True})
        return [html, self.whole_open_block(turn), TurnFrame(running=True).encode()]

    def append_cards(self, records: Iterable[TurnRecord], beside: TurnState | None = None) -> list[str]:
        """Return whole cards of finished turns that the page doesn't have; ``beside``: a second one that still runs."""
        items = build.items(list(records), self.sees, beside=beside)
        return [_append(items)] if items else []

    def replace_all(self, records: Iterable[TurnRecord], beside: TurnState | None = None) -> list[str]:
        """Return every card again; ``beside`` as of ``append_cards``."""
        records = list(records)
        context = {
            "items": build.items(records, self.sees, beside=beside),
            "earlier": pagination.previous_page(records),
        }
        html = render_to_string("chat/card/_messages.html", context)
        return [format_html('<div id="messages" hx-swap-oob="innerHTML">{}</div>', html)]

    def finished(self, record: TurnRecord, blocks: str | None = None, *, other_runs: bool = False) -> list[str]:
        """Return the end of a turn: each part under its own id, then its status.

        ``blocks``: HTML of the finished blocks that the page shows, where it was sent all of them. An answer that
        begins with them is not replaced: its reader may have selected text. ``other_runs``: the one beside it.
        """
        card = build.answer_card(record, self.sees)
        if blocks is not None and card.answer_html.startswith(blocks):
            answer = _last_blocks(card.id, card.answer_html[len(blocks) :])
        else:
            answer = _parts(card, ("answer",))
        html = [_parts(card, [name for name in _FINAL_PARTS if self.sees.summary or name not in _SUMMARY_PARTS])]
        html += self._steps(card)
        html.append(_parts(card, _thinking_parts(card)))
        if not self._beside:
            question = {"question": build.question_card(record), "oob": True}
            html.append(render_to_string("chat/card/_question_tools.html", question))
        self._open_thinking.pop(card.id, None)
        return [
            EndingFrame(card=card.id).encode(),
            answer,
            "".join(html),
            CardFrame(card=card.id, status=card.status, tokens_est=_tokens(card)).encode(),
            TurnFrame(running=other_runs).encode(),
            AnnounceFrame(text=_ending(card), assertive=card.status == "error").encode(),
        ]

    def open_thinking(self, turn: TurnState) -> list[str]:
        """Subscribe to the thinking of a running card: what it holds now, then what comes."""
        if not self.sees.may_open_thinking:
            return []
        self._open_thinking[turn.public_id] = 0
        text, _cut = self.sees.thinking_text(turn.thinking)
        return [ThinkingFrame(id=dom_id(turn.public_id, "thinking-text"), n=0, text=text).encode()]

    def is_thinking_open(self, message_id: str) -> bool:
        return message_id in self._open_thinking

    def close_thinking(self, message_id: str) -> None:
        """Unsubscribe from the thinking of a card."""
        self._open_thinking.pop(message_id, None)

    def _open_block(self, event: Event) -> list[str]:
        if event["open"]:
            return [self._redraw(event["n"], OpenBlock(*event["open"]))]
        if not event["added"]:
            return []
        self._open_html += escape(event["added"], quote=False)
        return [TextFrame(n=event["n"], text=event["added"], beside=self._beside).encode()]

    def _redraw(self, n: int, block: OpenBlock, finished: str = "") -> str:
        """Return what has changed of the open block; ``finished``: HTML that is not part of it any more.

        How many characters stay, how many are finished: in UTF-16 units, as a browser counts them. An unchanged end is
        left out.
        """
        html = finished + block.before
        same = _same_chars(self._open_html, html)
        end = msgspec.UNSET if block.after == self._open_end else block.after
        self._open_html, self._open_end = block.before, block.after
        same_units, finished_units = _utf16_units(html[:same]), _utf16_units(finished)
        frame = BlockFrame(n=n, html=html[same:], same=same_units, finished=finished_units, end=end)
        frame.beside = self._beside
        return frame.encode()

    def whole_open_block(self, turn: TurnState) -> str:
        """Return the open block; the changes after it are of this one."""
        self._open_html, self._open_end = turn.open_block.before, turn.open_block.after
        element_id = dom_id(turn.public_id, "tail")
        frame = BlockFrame(n=turn.tail_n, html=self._open_html, end=self._open_end, id=element_id, beside=self._beside)
        return frame.encode()

    def _may_draw_steps(self, count: int) -> bool:
        """Draw each change of a few steps, of many at most once a second: the end draws them all once more."""
        now = time.monotonic()
        if count > FEW_STEPS and now - self._steps_at < STEPS_EVERY_S:
            return False
        self._steps_at = now
        return True

    def _status(self, turn: TurnState, *, announce: bool) -> list[str]:
        card = build.live_answer_card(turn, self.sees)
        frames = [_parts(card, ("head", "status", *_thinking_parts(card)))]
        now = time.monotonic()
        if announce and now - self._announced_at > ANNOUNCE_EVERY_S:
            self._announced_at = now
            frames.append(AnnounceFrame(text=card.status_text).encode())
        return frames

    def _steps(self, card: AnswerView) -> list[str]:
        return [_parts(card, ("trace_label", "steps"))] if self.sees.trace and card.steps else []

    def _thinking(self, turn: TurnState, event: Event) -> list[str]:
        if not self.sees.may_open_thinking:
            return []
        frames = []
        offset, chars = event["offset"], event["chars"]
        # From the state, not the event: in the process of the turn it holds what only administrators may read.
        text = self.sees.thinking_piece(turn.thinking[offset:chars], offset=offset, chars=chars)
        if text and turn.public_id in self._open_thinking:
            self._open_thinking[turn.public_id] += 1
            n = self._open_thinking[turn.public_id]
            frames.append(ThinkingFrame(id=dom_id(turn.public_id, "thinking-text"), n=n, text=text).encode())
        now = time.monotonic()
        if offset == 0 or now - self._tokens_at > TOKENS_EVERY_S:
            self._tokens_at = now
            frames.append(CardFrame(card=turn.public_id, tokens_est=turn.thinking_tokens).encode())
        if offset <= EXCERPT_CHARS < chars:  # some viewers read no more of it
            card = build.live_answer_card(turn, self.sees)
            frames.append(_parts(card, _thinking_parts(card)))
        return frames


def scratchpad_switch_frame(sees: Visibility) -> str:
    """Return the state of the scratchpad's switch in the top bar."""
    return SwitchFrame(name="show-scratchpad", on=sees.scratchpad, possible=sees.scratchpad_possible).encode()


def start_frames(replaced: str) -> list[str]:
    """Return what precedes the card of a turn that starts: the removal of the cards whose place it takes."""
    names = [dom_id(replaced), dom_id(f"{replaced}-q")] if replaced else []
    return [format_html('<div id="{}" hx-swap-oob="delete"></div>', name) for name in names]


def queue_frame(queued: Sequence[QueuedMessage]) -> str:
    """Return the queued messages."""
    html = render_to_string("chat/composer/_queued.html", {"queued": queued})
    return format_html('<div id="queue" hx-swap-oob="innerHTML">{}</div>', html)


def error_frame(message: str, client_id: str = "") -> str:
    """Return the composer's error: what was wrong and what is allowed."""
    return render_to_string("chat/card/_error.html", {"message": message, "client_id": client_id, "oob": True})


def confirm_frames(client_id: str, *, appears: bool = False) -> list[str]:
    """Return the frames that confirm a message, and clear the composer's error."""
    return [error_frame(""), AcceptedFrame(id=client_id, appears=appears).encode()]


def context_frame(context: ContextView) -> str:
    """Return the context meter."""
    return render_to_string("chat/composer/_context.html", {"context": context, "oob": True})


def model_frame(model: ModelView) -> str:
    """Return the model that answers next. The picker updates in place, so that nobody loses their place in it."""
    efforts, others = (
        tuple(EffortOption(option.value, option.label, option.is_chosen) for option in options)
        for options in (model.efforts, model.others)
    )
    return ModelFrame(model=model.value, label=model.label, efforts=efforts, others=others).encode()


def command_frames(answer: CommandAnswer) -> list[str]:
    """Return the answer of a command."""
    said = render_to_string("chat/composer/_command.html", {"answer": answer})
    return [
        format_html('<div id="command" hx-swap-oob="innerHTML">{}</div>', said),
        *([DraftFrame(text=answer.draft).encode()] if answer.draft else ()),
    ]


def title_frames(conversation: Conversation, *, is_new: bool) -> list[str]:
    """Return a conversation's title for header, window and list; a new one is put on top of its group."""
    goes_up = is_new and not (conversation.is_temporary or conversation.is_pinned)
    frames = [TitleFrame(conversation=conversation.pk.hex, title=conversation.title, goes_up=goes_up).encode()]
    if goes_up:
        item = render_to_string("chat/sidebar/_conversation.html", {"one": conversation, "current_id": conversation.pk})
        group = f"project-{conversation.project_id.hex}" if conversation.project_id else "today"
        frames.append(format_html('<ul hx-swap-oob="afterbegin:#{}">{}</ul>', group, item))
    return frames


def _last_blocks(message_id: str, html: str) -> str:
    """Return the frame that puts the end of an answer in the place of its open block."""
    open_block = dom_id(message_id, "tail")
    before = format_html('<div hx-swap-oob="beforebegin:#{}">{}</div>', open_block, SafeString(html))
    return before + format_html('<div id="{}" hx-swap-oob="delete"></div>', open_block)


def _same_chars(one: str, other: str) -> int:
    """Return how many characters both texts begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:  # comparing slices is far quicker than comparing characters
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def _utf16_units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def _parts(card: AnswerView, names: Sequence[str]) -> str:
    context = {"card": card, "oob": True}
    return "".join(render_to_string(f"chat/card/_{name}.html", context) for name in names)


def _thinking_parts(card: AnswerView) -> tuple[str, ...]:
    return ("thinking_label",) if card.thinking else ()


def _append(items: Sequence[dict[str, Any]]) -> str:
    html = render_to_string("chat/card/_messages.html", {"items": items})
    return format_html('<div hx-swap-oob="beforeend:#messages">{}</div>', html)


def _tokens(card: AnswerView) -> int:
    return card.thinking.tokens_est if card.thinking else 0


def _ending(card: AnswerView) -> str:
    match card.status:
        case "complete" if card.steps:
            count = card.step_count
            return ngettext("Answer ready, %(count)s step", "Answer ready, %(count)s steps", count) % {"count": count}
        case "complete":
            return _("Answer ready")
        case "error":
            return card.error
    return card.ended_label or card.notice
