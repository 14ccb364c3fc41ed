"""Cases for parsers of model streams that separate thinking from the answer: data, and a way to cut it into pieces.

``CASES`` are read from ``cases.json``, whose form the README describes. ``RULES`` says what each rule id means.
"""

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

__all__ = ["CASES", "RULES", "Case", "read_document", "recut"]
__version__ = "0.1.0"


@dataclass(frozen=True, kw_only=True)
class Case:
    """The deltas of one response, and what a parser makes of them once the response has ended.

    ``starts_in_reasoning``: the chat template of the model wrote the opening tag. ``format``: the family of models
    whose marks count besides the tags of every model.
    """

    id: str
    group: str
    rules: Sequence[str]
    deltas: Sequence[Mapping[str, Any]]
    answer: str
    thinking: str = ""
    scratchpads: Sequence[str] = ()
    starts_in_reasoning: bool = False
    format: str | None = None


def read_document() -> dict[str, Any]:
    """Return the content of ``cases.json``."""
    document: dict[str, Any] = json.loads(files(__name__).joinpath("cases.json").read_text(encoding="utf-8"))
    return document


def recut(deltas: Iterable[Mapping[str, Any]], seed: int) -> Iterator[dict[str, Any]]:
    """Yield the same stream in other pieces: each text field cut by chance, in its order among the others.

    A seed always gives the same cuts. Deltas with several texts, calls or details stay whole.
    """
    chance = random.Random(seed)  # noqa: S311 - cuts are no secret
    for delta in deltas:
        cuttable = [name for name, value in delta.items() if isinstance(value, str) and name != "role"]
        if len(cuttable) == 1 and not delta.get("tool_calls") and not delta.get("reasoning_details"):
            yield from ({cuttable[0]: piece} for piece in _pieces(delta[cuttable[0]], chance))
        else:
            yield dict(delta)


def _pieces(text: str, chance: random.Random) -> Iterator[str]:
    at = 0
    while at < len(text):
        end = at + chance.choice((1, 1, 2, 3, 5, 9))
        yield text[at:end]
        at = end


_document = read_document()
RULES: Mapping[str, str] = _document["rules"]
CASES: Sequence[Case] = tuple(Case(**case) for case in _document["cases"])
