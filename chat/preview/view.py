"""What the page shows of the next request: ready values, redacted; the template decides nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat import upstream
from chat.preview.masking import Piece, masked_body
from chat.preview.request import NextRequest
from chat.preview.rows import LeftOutRow, SentRow, left_out_rows, sent_rows
from chat.preview.words import told
from chat.providers import OPENAI_URL
from reasoning.contextsize import entry_tokens, text_tokens
from reasoning.dialects import AS_IT_CAME, dialect_named
from reasoning.policy import Visibility
from reasoning.providerfields import NATIVE_FIELDS

_OPENAI_HOST = urlsplit(OPENAI_URL).netloc
_GAP = 0.25  # percent of the bar between two parts
_THINKING = frozenset({*NATIVE_FIELDS, "reasoning_details"})


@dataclass(frozen=True, slots=True)
class Share:
    """A part of the bar. ``x`` and ``width`` are percent, as text that no locale changes."""

    name: str
    label: str
    tokens: int
    x: str
    width: str


@dataclass(frozen=True, slots=True)
class PreviewView:
    """See the module. ``goes``, ``left_out``, ``stored`` and ``limit`` are tokens."""

    model: str
    host: str
    api: str
    dialect: str
    goes: int
    left_out: int
    stored: int
    limit: int
    shares: tuple[Share, ...]
    sent_rows: tuple[SentRow, ...]
    left_out_rows: tuple[LeftOutRow, ...]
    notes: tuple[str, ...]
    should_compact: bool
    hides_reasoning: bool
    body: tuple[Piece, ...]


def view(found: NextRequest, sees: Visibility) -> PreviewView:
    """Return the page's view of a request, as this viewer may see it."""
    plan = found.plan
    config = found.chosen.config
    return PreviewView(
        model=found.target.model,
        host=_("this server, offline") if config.is_offline else upstream.host_of(config) or _OPENAI_HOST,
        api=found.target.api,
        dialect=dialect_named(found.target.dialect).name,
        goes=plan.effective_tokens,
        left_out=plan.stored_tokens - plan.effective_tokens,
        stored=plan.stored_tokens,
        limit=found.target.limit,
        shares=tuple(_shares(found)),
        sent_rows=sent_rows(found, sees),
        left_out_rows=left_out_rows(found),
        notes=tuple(_notes(found)),
        should_compact=plan.should_compact,
        hides_reasoning=not (sees.show_reasoning and sees.may_open_thinking),
        body=masked_body(found.body, sees),
    )


def _notes(found: NextRequest) -> Iterator[str]:
    yield from (told(note) for note in found.plan.notes)
    if blanks := _placeholders(found):
        words = ngettext(
            "One message carries a blank where this service wants thinking and there was none.",
            "%(count)s messages carry a blank where this service wants thinking and there was none.",
            blanks,
        )
        yield words % {"count": blanks}
    if repaired := len(found.plan.repairs):
        words = ngettext(
            "One entry was mended, so that the service accepts it.",
            "%(count)s entries were mended, so that the service accepts them.",
            repaired,
        )
        yield words % {"count": repaired}


def _placeholders(found: NextRequest) -> int:
    dialect = dialect_named(found.target.dialect)
    if not dialect.placeholder or dialect.text_field in ("", AS_IT_CAME):
        return 0
    return sum(entry.get(dialect.text_field) == dialect.placeholder for entry in found.plan.entries)


def _shares(found: NextRequest) -> Iterator[Share]:
    """Share out what goes among its parts by estimate, so that the parts add up to the figure above them."""
    goes, limit = found.plan.effective_tokens, found.target.limit
    parts = _parts(found)
    whole, before, start = sum(parts.values()) or 1, 0, 0
    for name, label in _labels():
        before += parts[name]
        end = round(goes * before / whole)
        if end > start:
            yield _share(name, label, start, end, most=max(goes, limit))
        start = end
    if goes < limit:
        yield _share("free", _("Free"), goes, limit, most=limit)


def _share(name: str, label: str, start: int, end: int, *, most: int) -> Share:
    x, width = 100 * start / most, 100 * (end - start) / most
    return Share(name, label, end - start, f"{x:.2f}", f"{max(0.0, width - _GAP):.2f}")


def _labels() -> tuple[tuple[str, str], ...]:
    return (
        ("instructions", _("Instructions")),
        ("tools", _("Tools and their results")),
        ("messages", _("Messages")),
        ("thinking", _("Thinking")),
    )


def _parts(found: NextRequest) -> dict[str, int]:
    parts = dict.fromkeys((name for name, _label in _labels()), 0)
    parts["instructions"] = text_tokens(found.instructions)
    parts["tools"] = entry_tokens(list(found.tools))
    for entry in found.plan.entries:
        for name, part in _split(entry):
            parts[name] += entry_tokens(part)
    return parts


def _split(entry: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[Mapping[str, Any]]]]:
    """Yield an entry's parts: a message of chat completions may hold thinking and calls beside its text."""
    kind = entry.get("type", "")
    if kind == "reasoning":
        yield "thinking", [entry]
    elif entry.get("role") == "tool" or kind in ("function_call", "function_call_output"):
        yield "tools", [entry]
    else:
        named = {key: _part_of(key) for key in entry}
        for name in ("messages", "tools", "thinking"):
            part = {key: entry[key] for key in entry if named[key] == name}
            if part:
                yield name, [part]


def _part_of(key: str) -> str:
    if key in _THINKING:
        return "thinking"
    return "tools" if key == "tool_calls" else "messages"
