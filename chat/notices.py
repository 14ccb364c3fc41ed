"""What a running turn tells those who watch its conversation, and what else an open page must learn."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chat.log import TurnRows

if TYPE_CHECKING:
    from django.utils.safestring import SafeString

    from chat.live import LiveTurn
    from chat.models import Conversation


@dataclass(frozen=True, slots=True)
class Started:
    """A turn began. ``conversation``: as it is then, where it was read in this process."""

    turn: LiveTurn
    replaced: uuid.UUID | None = None
    conversation: Conversation | None = None


@dataclass(frozen=True, slots=True)
class OpenText:
    """Append ``text`` to the open block; ``n`` counts the pieces since the block began."""

    turn: LiveTurn
    n: int
    text: str


@dataclass(frozen=True, slots=True)
class BlockDone:
    """Blocks are finished: their HTML, and the text of the new open block. ``text`` is what came with it.

    ``before`` is the text of the open block before that.
    """

    turn: LiveTurn
    html: SafeString
    tail: str
    text: str
    before: str


@dataclass(frozen=True, slots=True)
class ThinkingText:
    """Append ``text`` to the redacted thinking. ``before`` characters of it came earlier."""

    turn: LiveTurn
    n: int
    before: int
    text: str


@dataclass(frozen=True, slots=True)
class StatusChanged:
    """Another status line: the turn carries it. ``aloud``: worth telling somebody who can't see it."""

    turn: LiveTurn
    aloud: bool


@dataclass(frozen=True, slots=True)
class StepsChanged:
    """A step of the trace started or ended: the turn carries them."""

    turn: LiveTurn


@dataclass(frozen=True, slots=True)
class Finished:
    """The turn ended and is in the log, as these rows say."""

    turn: LiveTurn
    rows: TurnRows


@dataclass(frozen=True, slots=True)
class QueueChanged:
    """Another set of messages waits."""

    waiting: tuple[tuple[str, str], ...]  # (client id or row id, text)


@dataclass(frozen=True, slots=True)
class Behind:
    """The watcher fell behind: draw everything again."""


@dataclass(frozen=True, slots=True)
class ModelChanged:
    """Another model answers from the next request on."""


@dataclass(frozen=True, slots=True)
class SettingsChanged:
    """Other ``reasoning.*`` settings hold from the next request on, and for what is shown at once."""


Grown = OpenText | BlockDone | ThinkingText | StatusChanged | StepsChanged
Notice = Started | Grown | Finished | QueueChanged | ModelChanged | SettingsChanged | Behind
