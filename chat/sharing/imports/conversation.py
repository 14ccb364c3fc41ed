"""A conversation of an export, whichever product wrote it, and how odd values of its JSON are read.

No value of an export refuses a conversation: a field of another type is as good as none. What has no place here is
counted by kind, and where somebody would miss it the text says so.
"""

from __future__ import annotations

import json
import re
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from reasoning.events import TurnStatus

EARLIEST = datetime(1970, 1, 2, tzinfo=UTC)
MAX_NAME_CHARS = 100  # of a file or a source
# From these on a number counts smaller units than seconds: as seconds it would be after the year 5000.
_UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
# Kinds of what is left out, as the page of an import names them.
LEFT_OUT: Mapping[str, str | Promise] = {
    "pictures": _("pictures"),
    "files": _("files"),
    "recordings": _("recordings"),
    "citations": _("citations"),
    "steps": _("steps of tools"),
    "thinking": _("thoughts of models"),
    "instructions": _("instructions to models"),
    "branches": _("answers of other branches, above the limits"),
    "other": _("parts of unknown kinds"),
}
_NOTES: Mapping[str, tuple[str | Promise, str | Promise]] = {
    "pictures": (_("[Picture, not imported]"), _("[Picture, not imported: %(name)s]")),
    "files": (_("[File, not imported]"), _("[File, not imported: %(name)s]")),
    "recordings": (_("[Recording, not imported]"), _("[Recording, not imported: %(name)s]")),
    "other": (_("[Part of an unknown kind, not imported]"), ""),
}
# What models of ChatGPT and LibreChat write for citations, whole or cut off, with a blank before it.
_MARK = re.compile(
    # Code, which stays as it is: a fence, or a span on one line.
    r"(?P<code>^[ \t>]*(?P<fence>`{3,}|~{3,})[^\n]*\n(?:.*\n)*?(?:[ \t>]*(?P=fence)|.*\Z)"
    r"|(?P<ticks>`{1,20})[^`\n]+(?P=ticks))"
    r"|[ \t]?(?:"
    "\ue200(?P<inner>[^\ue200\ue201\n]{0,4000})\ue201"
    "|\ue200(?:\\w*(?:\ue202[\\w.:-]+)+|(?:cite|filecite|navlist)\\b)"
    "|(?:\ue202[\\w.:-]+)+"
    r"|(?:\\ue202turn\d+[a-z]+\d+)+"
    r"|【\d+(?::\d+)?†[^【】\n]{0,300}】"
    r"|:{1,2}contentReference\[oaicite:\d+\]\{index=\d+\}"
    ")|[\ue200-\ue206]",
    re.MULTILINE,
)
_MARKUP = re.compile(r"[\[\]\\`*_<>\s]+")
_URL = re.compile(r"https?://[^\s<>\"\\]{1,2000}")
_FENCE = re.compile(r"`{3,}")
_NUMBER = re.compile(r"-?\d{1,20}(?:\.\d+)?(?:e[+-]?\d{1,3})?", re.IGNORECASE)
_LANGUAGE = re.compile(r"[A-Za-z0-9+#.-]{1,20}")

Side = Literal["question", "answer", "unknown", "none"]


@dataclass(slots=True)
class ExportedMessage:
    """A place in the tree of a conversation.

    ``parent`` None: it begins the conversation. A parent that doesn't exist: it follows what is before it in the
    file. ``side`` unknown: it answers a question, or asks; none: nothing of it is shown.
    """

    key: str
    parent: str | None
    side: Side
    text: str = ""
    at: datetime | None = None
    model: str = ""
    status: TurnStatus = "completed"


@dataclass(slots=True)
class ExportedConversation:
    """A conversation as a reader found it. ``current`` names the message whose branch was shown.

    ``at``: when it began, for messages without a time.
    """

    id: str = ""
    title: str = ""
    at: datetime | None = None
    messages: list[ExportedMessage] = field(default_factory=list)
    current: str | None = None
    first_answer: uuid.UUID | None = None  # of an export of this product
    left_out: Counter[str] = field(default_factory=Counter)

    def leave_out(self, kind: str, name: object = "") -> str:
        """Count something that can't be imported; return what the text says in its place."""
        self.left_out[kind] += 1
        without_name, with_name = _NOTES.get(kind, ("", ""))
        name = one_line(as_text(name))
        return str(with_name) % {"name": name} if name and with_name else str(without_name)

    def with_links(self, text: str, links: Mapping[str, str] | None = None) -> str:
        """Replace the marks of citations: by ``links``, by what they say themselves, or by nothing."""

        def replaced(match: re.Match[str]) -> str:
            if match["code"]:
                return match[0]
            mark = match[0].strip(" \t")
            kind, *values = (match["inner"] or "").split("\ue202")
            if link := (links or {}).get(mark):
                return f" {link}"
            if kind == "entity" and values:
                return match[0][: -len(mark)] + name_of_entity(values[0])
            if kind == "url" and len(values) > 1:
                return match[0][: -len(mark)] + link_to(values[0], values[1])
            if len(mark) > 1:
                self.left_out["citations"] += 1
            return "" if len(mark) > 1 else match[0][: -len(mark)]

        return _MARK.sub(replaced, text)


def as_dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def as_text(value: object) -> str:
    """Return a text, or a number as text: ids may be either."""
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def parse_object(text: str) -> dict[str, Any]:
    """Return an object that is written as JSON in a text; an empty one where it isn't."""
    try:
        return as_dict(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def parsed_uuid(value: object) -> uuid.UUID | None:
    try:
        return uuid.UUID(as_text(value))
    except ValueError:
        return None


def join_paragraphs(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part.strip())


def one_line(text: str) -> str:
    return _MARKUP.sub(" ", text[: 2 * MAX_NAME_CHARS]).strip()[:MAX_NAME_CHARS]


def fence_code(text: str, language: str = "") -> str:
    """Return code as Markdown shows it, or nothing where there is none."""
    if not text.strip():
        return ""
    fence = "`" * max(3, 1 + max((len(run) for run in _FENCE.findall(text)), default=0))
    language = language if _LANGUAGE.fullmatch(language) and language != "unknown" else ""
    code = text.rstrip("\n")
    return f"{fence}{language}\n{code}\n{fence}"


def link_to(title: object, url: object) -> str:
    """Return a Markdown link; only the title where the address is none."""
    found, name = _URL.fullmatch(as_text(url)), one_line(as_text(title))
    if found is None:
        return name
    address = found[0].replace("(", "%28").replace(")", "%29")
    return f"[{name or one_line(address.partition('//')[2].partition('/')[0])}]({address})"


def name_of_entity(value: str) -> str:
    """Return the name in the mark of a person or a place: its JSON is a list of kind, name and more."""
    try:
        found = as_list(json.loads(value))
    except (ValueError, RecursionError):
        return ""
    return as_text(found[1]) if len(found) > 1 else ""


def time_of(value: object) -> datetime | None:
    """Return a time that is not in the future; None where there is none that can be, in any time zone."""
    while isinstance(value, dict):  # as MongoDB exports times
        value = value.get("$date", value.get("$numberLong"))
    text = as_text(value).strip()
    try:
        if _NUMBER.fullmatch(text):
            number = float(text)
            at = datetime.fromtimestamp(number / next((unit for least, unit in _UNITS if number >= least), 1), UTC)
        elif text[:1].isdigit():
            at = datetime.fromisoformat(re.sub(r" ?(?:UTC|GMT)$", "Z", text.replace("/", "-")))
        else:  # as mail and JavaScript write it
            at = parsedate_to_datetime(re.sub(r"GMT(?=[+-])| \(.*", "", text))
        at = at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return min(at, timezone.now()) if at >= EARLIEST else None
