"""The questions of a campaign and the scripted replies to them.

Every reply thinks, has a scratchpad and is paced; some call a tool first. The private texts are canaries.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.browser.upstream import calls, opening, reply, says, thinks

THOUGHT = "canary-of-the-thinking"
PAD = "canary-of-the-scratchpad"
PACE_MS = 20
QUICK_TEXT = "The rest is short."
_LONG_TEXT = "\n\n".join(
    f"Paragraph {n} says what the filing says, **word for word**, and no more than that." for n in range(1, 13)
)
_BEFORE_TOOL = "I look this up first.\n\n"
_NOTE = f"<scratchpad>\nprivate: {PAD}\n</scratchpad>\n\n"


@dataclass(frozen=True, slots=True)
class Question:
    """One message. ``name`` is in its text and nowhere else."""

    name: str
    conversation_id: str
    uses_tool: bool = False
    is_quick: bool = False

    @property
    def text(self) -> str:
        return f"[{self.name}] What does the filing say?"

    @property
    def client_id(self) -> str:
        return f"id-{self.name}"

    @property
    def whole_answer(self) -> str:
        """All that the model says to the reader."""
        if self.is_quick:
            return QUICK_TEXT
        return (_BEFORE_TOOL if self.uses_tool else "") + _LONG_TEXT

    def replies(self, pace_ms: float) -> list[dict[str, Any]]:
        """Return the script for this question; the reply after the tool is first, because it fits fewer requests."""
        paced: dict[str, Any] = {"delay_ms": pace_ms}
        match = {"last_user_contains": f"[{self.name}]"}
        if self.is_quick:
            return [reply(says(opening(), QUICK_TEXT), match=match)]
        thought = thinks(*_cut(f"I weigh {THOUGHT} against the rest. " * 4, 12))
        last = says(*_cut(_NOTE + opening() + _LONG_TEXT, 9))
        if not self.uses_tool:
            return [reply(thought, last, match=match, **paced)]
        query = _cut(json.dumps({"query": "covenants"}), 5)
        first = reply(
            thought, says(*_cut(_NOTE + _BEFORE_TOOL, 7)), calls("searchFilings", *query), match=match, **paced
        )
        then = {**match, "tool_outputs_at_least": 1}
        return [reply(thought, last, match=then, **paced), first]


def script_of(questions: Sequence[Question], pace_ms: float = PACE_MS) -> list[dict[str, Any]]:
    """Return the replies to these questions, in whatever order they are asked.

    The newest are first: a question that got no answer is sent again, in one message with the next.
    """
    return [one for question in reversed(questions) for one in question.replies(pace_ms)]


def length_s(questions: Sequence[Question]) -> float:
    """Return how long the longest reply takes to be sent."""
    events = [
        sum(len(one["deltas"]) for one in question.replies(PACE_MS)) for question in questions if not question.is_quick
    ]
    return max(events) * PACE_MS / 1000


def _cut(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]
