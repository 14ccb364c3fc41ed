"""Make room in a long conversation: what is summarised, from which text, and whether the summary is worth taking.

The border lies between turns, or between finished steps where a running turn alone is too long. The summariser reads
text, calls and results: no reasoning, no ciphertext. History itself stays whole (replay 2.8).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reasoning.events import AssistantMessage, Compaction, Event, ToolCall, ToolResult, UserMessage
from reasoning.replay.history import read_history
from reasoning.replay.plan import EgressPlan, RequestTarget
from reasoning.replay.tokens import event_tokens

KEEP_SHARE = 0.25  # of the limit: newest turns that stay as they are
TRANSCRIPT_SHARE = 0.7  # the rest is for the summary, and for estimates that were too small
MAX_RESULT_CHARS = 2_000
WORTH_SHARE = 0.9  # of the request's size before: more than this is not worth what it loses
_CUT = " […]"


def choose_border(events: Sequence[Event], target: RequestTarget, *, is_overflow: bool) -> int | None:
    """Return the seq up to which history is to be summarised; None where there is nothing to summarise.

    ``is_overflow``: the service refused the request as too long, so nothing that can go stays, and a running turn may
    be cut between its steps.
    """
    turns = read_history(events).turns
    ended = [turn for turn in turns if not turn.is_running]
    # The newest turns stay word for word as far as they fit: the next question is likely about them.
    room = 0 if is_overflow else round(target.limit * KEEP_SHARE)
    while ended and (cost := sum(event_tokens(event) for event in ended[-1].events())) <= room:
        room -= cost
        ended.pop()
    if ended:
        return max((event.seq for event in ended[-1].events()), default=ended[-1].question_seq)
    running = next((turn for turn in turns if turn.is_running), None)
    if not (is_overflow and running):
        return None
    return max((event.seq for step in running.steps[:-1] for event in step.events()), default=None)


def transcript(events: Sequence[Event], border: int, target: RequestTarget) -> str:
    """Return what the summariser reads: an earlier summary, and the end of what came since up to ``border``."""
    active = sorted((event for event in events if event.active), key=lambda event: event.seq)
    earlier = next((event for event in reversed(active) if isinstance(event, Compaction)), None)
    before = f"Summary of what came before: {earlier.summary}\n\n" if earlier else ""
    start = earlier.to_seq if earlier else 0
    text = "\n\n".join(line for event in active if start < event.seq <= border for line in spoken_lines(event))
    # The end is what the next question continues from, so the beginning is cut.
    most = max(0, 4 * round(target.limit * TRANSCRIPT_SHARE) - len(before))
    return before + (text if len(text) <= most else _CUT + text[len(text) - most :])


def is_worth_it(before: EgressPlan, after: EgressPlan) -> bool:
    """Say whether a summary makes the request really smaller."""
    return after.effective_tokens < WORTH_SHARE * before.effective_tokens


def spoken_lines(event: Event) -> Iterator[str]:
    match event:
        case UserMessage():
            yield f"User: {event.text}"
        case AssistantMessage() if event.text:
            yield f"Assistant: {event.text}"
        case ToolCall():
            yield f"Assistant called {event.name} with {shorten(event.arguments)}"
        case ToolResult():
            yield f"Result: {shorten(event.output)}"


def shorten(text: str) -> str:
    return text if len(text) <= MAX_RESULT_CHARS else text[:MAX_RESULT_CHARS] + _CUT
