"""What the normaliser costs a character, beside pydantic-ai's parts manager: ``python -m tests.benchmarks.normaliser``.

Both get the same deltas in the same rounds. The parts manager stores the parts and finds a tag only where it is a delta
of its own, so the normaliser does more. Without that package (``make bench`` installs it) the comparison is left out.
"""

from collections.abc import Callable, Sequence
from importlib.metadata import version
from importlib.util import find_spec

from reasoning.stream.normalizer import Normalizer
from tests.benchmarks.helpers import Figure, answer, best_seconds, pieces, show

_NS = 1e9
_PEER = "pydantic-ai-slim"


def measure(chars: int = 1_000_000, *, rounds: int = 5) -> list[Figure]:
    """Return the figures for an answer of ``chars`` characters in deltas of 4; four times as many for the growth."""
    text = answer(chars)
    deltas = pieces(text, 4)
    works = {
        "answer": normalise(deltas),
        "  live: no word waits for the next": normalise(deltas, live=True),
        "  in one delta": normalise([text]),
        "  tagged thought": normalise(["<think>", *deltas, "</think>", "Done."]),
        "  REASONING block": normalise(["<REASONING>", *deltas, "</REASONING>", "Done."]),
        "  native thinking": normalise(deltas, field="reasoning_content"),
    }
    if find_spec("pydantic_ai"):
        works[f"  parts manager of {_PEER} {version(_PEER)}"] = parts_manager(deltas)
    costs = best_seconds(*works.values(), rounds=rounds)
    [fourfold] = best_seconds(normalise(pieces(answer(4 * chars), 4)), rounds=min(rounds, 3))
    return [
        *(
            Figure(name, seconds / chars * _NS, "ns/char", ratio=seconds / costs[0], beside="the first")
            for name, seconds in zip(works, costs, strict=True)
        ),
        Figure("cost of four times as many characters", fourfold / costs[0], "times", aim=4.6),
    ]


def normalise(contents: Sequence[str], *, live: bool = False, field: str = "content") -> Callable[[], None]:
    deltas = [{field: content} for content in contents]

    def run() -> None:
        normalizer = Normalizer(live=live)
        for delta in deltas:
            normalizer.feed(delta)
        normalizer.finish()

    return run


def parts_manager(contents: Sequence[str]) -> Callable[[], None]:
    from pydantic_ai._parts_manager import ModelResponsePartsManager  # noqa: PLC0415 - installed by `make bench` only
    from pydantic_ai.models import ModelRequestParameters  # noqa: PLC0415

    def run() -> None:
        manager = ModelResponsePartsManager(model_request_parameters=ModelRequestParameters())
        for content in contents:
            for _event in manager.handle_text_delta(
                vendor_part_id="content",
                content=content,
                thinking_tags=("<think>", "</think>"),
                ignore_leading_whitespace=True,
            ):
                pass

    return run


if __name__ == "__main__":
    show("Normaliser", measure())
