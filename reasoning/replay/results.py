"""Cut the results of one response to what the context limit still holds.

A model may call a tool thirty times in one response. No summary makes room for the results, for the step is the newest,
so they share what is left: the longest are cut first, and each says how much it lacks. Nothing stored is changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reasoning.replay.tokens import text_tokens
from reasoning.replay.wire.base import SelectedTurn

MIN_TOKENS = 100  # of a result that is cut; less would say nothing
_LEFT_OUT = "\n[… {chars} of {total} characters left out: the results together exceed the context limit]"


def cut_results(turns: Sequence[SelectedTurn], excess: int) -> tuple[SelectedTurn, ...]:
    """Return the turns with the results of the newest step cut by about ``excess`` tokens."""
    if excess <= 0 or not turns or not turns[-1].steps:
        return tuple(turns)
    newest = turns[-1].steps[-1]
    sizes = {call_id: text_tokens(result.output) for call_id, result in newest.step.results.items()}
    cap = share(list(sizes.values()), sum(sizes.values()) - excess)
    results = {
        call_id: replace(result, output=shorten(result.output, cap)) if sizes[call_id] > cap else result
        for call_id, result in newest.step.results.items()
    }
    cut = replace(newest, step=replace(newest.step, results=results))
    return (*turns[:-1], replace(turns[-1], steps=(*turns[-1].steps[:-1], cut)))


def share(sizes: Sequence[int], room: int) -> int:
    """Return the size that each may have at most, so that all fit into ``room``; at least ``MIN_TOKENS``."""
    cap, left = room, room
    ordered = sorted(sizes)
    for index, size in enumerate(ordered):
        cap = left // (len(ordered) - index)
        if size > cap:
            break
        left -= size
    return max(cap, MIN_TOKENS)


def shorten(text: str, tokens: int) -> str:
    """Return the beginning of a text that has about so many tokens, with a note on the rest."""
    note = _LEFT_OUT.format(chars=len(text), total=len(text))
    room = max(tokens - text_tokens(note), 0)
    begin = text
    while (size := text_tokens(begin)) > room and begin:
        begin = begin[: len(begin) * room // (size + 1)]
    return begin + _LEFT_OUT.format(chars=len(text) - len(begin), total=len(text))
