"""What the normaliser costs a character, beside pydantic-ai's parts manager: ``python -m tests.benchmarks.normaliser``.

Both get the same deltas in the same rounds. Theirs keeps the parts that it made, ours gives each delta on; theirs finds
a tag only where it is a delta of its own, so ours does more. Without that package (``make bench`` installs it) the
comparison is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from importlib.util import find_spec

from reasoning.stream.normalizer import Normalizer
from tests.benchmarks.figures import Figure, best_seconds, load, show
from tests.benchmarks.texts import answer, pieces

MEGABYTE = 1_000_000
_SIZE = 4  # characters in a delta
_NS = 1e9
_PEER = "pydantic-ai-slim"
_TAGS = ("<think>", "</think>")


def measure(chars: int = MEGABYTE, *, rounds: int = 5) -> list[Figure]:
    """Return the figures for an answer of ``chars`` characters; four times as many for the growth."""
    text = answer(chars)
    deltas = pieces(text, _SIZE)
    peer = [_peer_work(deltas)] if find_spec("pydantic_ai") else []
    best = best_seconds(_work(deltas), _work(deltas, live=True), _work([text]), *peer, rounds=rounds)
    plain, live, whole, *others = (seconds / chars * _NS for seconds in best)
    ratio, beside = (plain / others[0], "the parts manager") if others else (None, "")
    return [
        Figure("answer, deltas of 4 characters", plain, "ns/char", aim=250, ratio=ratio, beside=beside),
        *(Figure(f"  parts manager of {_PEER} {version(_PEER)}", other, "ns/char") for other in others),
        Figure("  live: no word waits for the next", live, "ns/char", aim=250, ratio=live / plain, beside="the first"),
        Figure("  in one delta", whole, "ns/char", ratio=whole / plain, beside="the first"),
        *_other_streams(deltas, plain, rounds),
        _growth(chars, rounds),
    ]


def _other_streams(deltas: Sequence[str], plain: float, rounds: int) -> list[Figure]:
    works = (
        _work(["<think>", *deltas, "</think>", "Done."]),
        _work(["<REASONING>", *deltas, "</REASONING>", "Done."]),
        _work(deltas, field="reasoning_content"),
    )
    names = ("tagged thought, deltas of 4 characters", "REASONING block", "native thinking")
    chars = sum(map(len, deltas))
    costs = [seconds / chars * _NS for seconds in best_seconds(*works, rounds=rounds)]
    return [
        Figure(name, cost, "ns/char", ratio=cost / plain, beside="the first")
        for name, cost in zip(names, costs, strict=True)
    ]


def _growth(chars: int, rounds: int) -> Figure:
    small, large = (pieces(answer(size), _SIZE) for size in (chars, 4 * chars))
    once, fourfold = best_seconds(_work(small), _work(large), rounds=min(rounds, 3))
    name = f"cost of {4 * chars / MEGABYTE:g} MB over cost of {chars / MEGABYTE:g} MB"
    return Figure(name, fourfold / once, "times", aim=4.6)


def _work(contents: Sequence[str], *, live: bool = False, field: str = "content") -> Callable[[], None]:
    deltas = [{field: content} for content in contents]

    def run() -> None:
        normalizer = Normalizer(live=live)
        for delta in deltas:
            normalizer.feed(delta)
        normalizer.finish()

    return run


def _peer_work(contents: Sequence[str]) -> Callable[[], None]:
    from pydantic_ai._parts_manager import ModelResponsePartsManager  # noqa: PLC0415 - there only for `make bench`
    from pydantic_ai.models import ModelRequestParameters  # noqa: PLC0415

    def run() -> None:
        manager = ModelResponsePartsManager(model_request_parameters=ModelRequestParameters())
        for content in contents:
            for _event in manager.handle_text_delta(
                vendor_part_id="content", content=content, thinking_tags=_TAGS, ignore_leading_whitespace=True
            ):
                pass
        manager.get_parts()

    return run


if __name__ == "__main__":
    show("Normaliser", measure(), load())
