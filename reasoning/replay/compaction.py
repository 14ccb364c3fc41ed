"""Make room in a long conversation: what is summarised or left out, from which text, and whether a summary is worth it.

The border lies between turns, or between finished steps where a running turn alone is too long. The summariser reads
text, calls and results: no reasoning, no ciphertext. History itself stays whole (replay 2.8, product 23).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reasoning.events import AssistantMessage, Compaction, Event, ToolCall, ToolResult, UserMessage
from reasoning.replay.history import HistoryTurn, read_history
from reasoning.replay.plan import EgressPlan, RequestTarget
from reasoning.replay.tokens import event_tokens, question_tokens, text_tokens

KEEP_SHARE = 0.25  # of the limit: newest turns that stay as they are
SUMMARY_SHARE, MAX_SUMMARY_TOKENS = 0.2, 4_096  # of the limit: what a summary may have
TRANSCRIPT_SHARE = 0.85  # of what is left then: estimates may be too small
OVERFLOW_SHARE = 0.6  # of a refused request's size: estimates were too small
MAX_RESULT_CHARS = 2_000
WORTH_SHARE = 0.9  # of the request's size before: more than this is not worth what it loses
_CUT = " […]"


def choose_border(events: Sequence[Event], target: RequestTarget, *, is_overflow: bool) -> int | None:
    """Return the seq up to which history is to be summarised; None where there is nothing to summarise.

    ``is_overflow``: the service refused the request as too long, so nothing that can go stays. Where no earlier turn
    can go, a running turn is cut between its steps.
    """
    turns = read_history(events).turns
    ended = ended_turns(turns)
    # The newest turns stay word for word as far as they fit: the next question is likely about them.
    room = 0 if is_overflow else round(target.limit * KEEP_SHARE)
    while ended and (cost := tokens_of(ended[-1])) <= room:
        room -= cost
        ended.pop()
    if ended:
        return end_of(ended[-1])
    return next((border for border, _tokens in reversed([*step_borders(turns)])), None)


def choose_cut(events: Sequence[Event], target: RequestTarget, before: EgressPlan, *, is_overflow: bool) -> int | None:
    """Return the seq up to which history is left out, so that the rest fits; None where nothing can go.

    The oldest whole turns go first, then the oldest finished steps of a running turn; as few as needed, by estimate.
    """
    turns = read_history(events).turns
    room = min(target.room, round(OVERFLOW_SHARE * before.effective_tokens)) if is_overflow else target.room
    left, border = before.full_tokens, None
    ended = [(end_of(turn), tokens_of(turn)) for turn in ended_turns(turns)]
    for at, tokens in (*ended, *step_borders(turns)):
        if left <= room:
            break
        border, left = at, left - tokens
    return border


def ended_turns(turns: Sequence[HistoryTurn]) -> list[HistoryTurn]:
    # Of a turn before the border of a compaction its end may be left, which is nothing that is sent.
    return [turn for turn in turns if not turn.is_running and (turn.question or turn.steps)]


def step_borders(turns: Sequence[HistoryTurn]) -> Iterator[tuple[int, int]]:
    """Yield where a running turn may be cut, and the tokens of each step before: behind all its steps but the last."""
    for turn in turns:
        if turn.is_running:
            for step in turn.steps[:-1]:
                events = list(step.events())
                yield max(event.seq for event in events), sum(map(event_tokens, events))


def end_of(turn: HistoryTurn) -> int:
    return max((event.seq for event in turn.events()), default=turn.question_seq)


def tokens_of(turn: HistoryTurn) -> int:
    return question_tokens(turn.question, turn.attachments) + sum(map(event_tokens, turn.events()))


def summary_tokens(target: RequestTarget) -> int:
    """Return how many tokens a summary may have; so many of the limit are left for it."""
    return min(MAX_SUMMARY_TOKENS, round(target.limit * SUMMARY_SHARE))


def transcript(events: Sequence[Event], border: int, target: RequestTarget, *, overhead_tokens: int = 0) -> str:
    """Return what the summariser reads: an earlier summary, and the end of what came since up to ``border``.

    It fits, with ``overhead_tokens`` of instructions, into what the limit leaves beside the summary.
    """
    room = round(TRANSCRIPT_SHARE * (target.limit - summary_tokens(target) - overhead_tokens))
    active = sorted((event for event in events if event.active), key=lambda event: event.seq)
    earlier = next((event for event in reversed(active) if isinstance(event, Compaction)), None)
    before = f"Summary of what came before: {earlier.summary}\n\n" if earlier and earlier.summary else ""
    before = newest_part(before, room // 2)
    start = earlier.to_seq if earlier else 0
    text = "\n\n".join(line for event in active if start < event.seq <= border for line in spoken_lines(event))
    # The end is what the next question continues from, so the beginning is cut.
    return before + newest_part(text, room - text_tokens(before))


def newest_part(text: str, tokens: int) -> str:
    """Return the end of a text that has at most so many tokens, by estimate."""
    cut = text
    while (size := text_tokens(cut)) > max(tokens, 1) and len(cut) > 1:
        # Characters differ in what they cost, so the remaining share is measured again.
        cut = cut[-max(1, len(cut) * max(tokens, 1) // (size + 1)) :]
    return text if cut is text else _CUT + cut


def is_worth_it(before: EgressPlan, after: EgressPlan) -> bool:
    """Say whether a summary makes the request really smaller."""
    return after.full_tokens < WORTH_SHARE * before.full_tokens


def spoken_lines(event: Event) -> Iterator[str]:
    match event:
        case UserMessage():
            yield f"User: {event.text}"
            for file in event.attachments:
                yield f"User attached {file.name}: {shorten(file.text) if file.text else file.media_type}"
        case AssistantMessage() if event.text:
            yield f"Assistant: {event.text}"
        case ToolCall():
            yield f"Assistant called {event.name} with {shorten(event.arguments)}"
        case ToolResult():
            yield f"Result: {shorten(event.output)}"


def shorten(text: str) -> str:
    return text if len(text) <= MAX_RESULT_CHARS else text[:MAX_RESULT_CHARS] + _CUT
