"""Arguments of a tool call that are no JSON object as they came, but certainly were meant as one. Product 37.

Arguments that are one are never changed (product 10), and what could be read in two ways is left to the model, which
is told. A repair is chosen by all pieces together: a single piece may repeat another one by chance.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

_FENCE = re.compile(r"```[\w-]*+(.*)```", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f]")
# What may follow the last object: brackets that are too many, and tokens of a template.
_LEFTOVER = re.compile(r"(?:\s|[}\]]|\[/?[A-Z_]{1,40}\]|<\|[^<>|]{0,40}\|>|</?[^<>\s\"{}]{1,40}>|```)*")
_BLANKS = re.compile(r"\s*")
# A string that is not closed ends with the text: else each quote in it would be tried as the beginning of another, in
# quadratic time.
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
# What JSON writes in another way than Python and JavaScript; its own strings are passed over.
_LITERAL_TOKEN = re.compile(
    r"'(?P<quoted>(?:[^'\\]|\\.)*+)(?:'|\\?\Z)|\"(?:[^\"\\]|\\.)*+(?:\"|\\?\Z)"
    r"|(?P<key>[A-Za-z_]\w*+)(?=\s*+:)|[A-Za-z_]\w*+|,(?=\s*+[}\]])",
    re.DOTALL,
)
_ESCAPE_OR_QUOTE = re.compile(r"\\.|\"", re.DOTALL)
_QUOTES = {"\\'": "'", '"': '\\"'}  # in a string between single quotes, and as JSON has them
_JSON_WORDS = {"True": "true", "False": "false", "None": "null"}
_NOTHING: tuple[Any, ...] = ({}, None, "")


def join_arguments(pieces: Sequence[str]) -> str:
    """Return the arguments of a call: the pieces as they came, or what is certain to be meant by them."""
    joined = "".join(pieces)
    if not joined or is_json_object(joined):
        return joined
    found = (text for repair in REPAIRS for text in repair.read(pieces, joined))
    escaped = (each for text in found for each in (text, escape_controls(text)))
    return next((text for text in escaped if is_json_object(text)), joined)


def is_json_object(text: str) -> bool:
    """Say whether a text is one JSON object, by the letter."""
    if not (text.lstrip()[:1] == "{" and text.rstrip()[-1:] == "}"):
        return False
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def without_byte_order_mark(_pieces: Sequence[str], joined: str) -> Iterator[str]:
    """Yield the text without the mark that may precede it; of all repairs raw control characters are escaped."""
    yield joined.removeprefix("\ufeff")


def cumulative(pieces: Sequence[str], _joined: str) -> Iterator[str]:
    """Yield the last piece if each piece begins with the whole piece before it."""
    spoken = [piece for piece in pieces if piece]
    if len(spoken) > 1 and all(after.startswith(before) for before, after in pairwise(spoken)):
        yield spoken[-1]


def repeated_whole(pieces: Sequence[str], _joined: str) -> Iterator[str]:
    """Yield the last piece if it begins with all earlier pieces together, which need not be complete."""
    *before, last = [piece for piece in pieces if piece]  # there is one, since they are no JSON
    start = "".join(before)
    if start and last.startswith(start):
        yield last


def repeated_start(_pieces: Sequence[str], joined: str) -> Iterator[str]:
    """Yield the second of two objects of which the first breaks off, if it begins with all of the first."""
    start = joined[: joined.find(":") + 1]
    at = joined.find(start, 1) if start else -1
    if at > 0 and joined.startswith(joined[:at], at):
        yield joined[at:]


def list_of_one(_pieces: Sequence[str], joined: str) -> Iterator[str]:
    """Yield what is inside of a list."""
    text = joined.strip()
    if text.startswith("[") and text.endswith("]"):
        yield text[1:-1].strip()


def last_object(_pieces: Sequence[str], joined: str) -> Iterator[str]:
    """Yield the last object of several complete ones that isn't empty."""
    decoder = json.JSONDecoder(strict=False)
    at, found = 0, ""
    while True:
        start = _skip(_BLANKS, joined, at)
        if start == len(joined) or (at and _skip(_LEFTOVER, joined, at) == len(joined)):
            break
        try:
            value, at = decoder.raw_decode(joined, start)
        except (ValueError, RecursionError):
            return
        if not isinstance(value, dict) and value not in _NOTHING:
            return
        if value or (isinstance(value, dict) and not found):
            found = joined[start:at]
    yield found


def fenced(_pieces: Sequence[str], joined: str) -> Iterator[str]:
    """Yield what is inside of a code fence."""
    if match := _FENCE.fullmatch(joined.strip()):
        yield match[1].strip()


def encoded_twice(_pieces: Sequence[str], joined: str) -> Iterator[str]:
    """Yield the text of a JSON string."""
    try:
        value = json.loads(joined, strict=False)
    except (ValueError, RecursionError):
        return
    if isinstance(value, str):
        yield value


def python_literal(pieces: Sequence[str], joined: str) -> Iterator[str]:
    """Yield an object that is written as Python or JavaScript writes one, as JSON."""
    for text in (joined, *fenced(pieces, joined), *encoded_twice(pieces, joined)):
        yield _LITERAL_TOKEN.sub(_token_as_json, text)


def _token_as_json(token: re.Match[str]) -> str:
    if token["quoted"] is not None:
        return '"' + _ESCAPE_OR_QUOTE.sub(lambda one: _QUOTES.get(one[0], one[0]), token["quoted"]) + '"'
    if token["key"]:
        return f'"{token["key"]}"'
    return _JSON_WORDS.get(token[0], token[0]) if token[0] != "," else ""


class ArgumentsRepair(NamedTuple):
    """A way in which services and models break arguments: an example of pieces, and what is meant by them."""

    read: Callable[[Sequence[str], str], Iterator[str]]
    example: tuple[str, ...]
    meant: str


REPAIRS = (
    ArgumentsRepair(without_byte_order_mark, ('{"q": "a\n', 'b"}'), '{"q": "a\\u000ab"}'),
    ArgumentsRepair(without_byte_order_mark, ("\ufeff", '{"q": "a"}'), '{"q": "a"}'),
    ArgumentsRepair(cumulative, ('{"q"', '{"q": "a', '{"q": "a"}'), '{"q": "a"}'),
    ArgumentsRepair(repeated_whole, ('{"q": ', '"a', '{"q": "a"}'), '{"q": "a"}'),
    ArgumentsRepair(repeated_start, ('{"q": "a"{"q": "a", "n": 1}',), '{"q": "a", "n": 1}'),
    ArgumentsRepair(list_of_one, ('[{"q": ', '"a"}]'), '{"q": "a"}'),
    ArgumentsRepair(last_object, ('{"q": ', '"a"}', '{"q": "a"}'), '{"q": "a"}'),
    ArgumentsRepair(last_object, ("{}", '{"q": ', '"a"}'), '{"q": "a"}'),
    ArgumentsRepair(last_object, ('{"q": "a"}', "}<|im_end|>"), '{"q": "a"}'),
    ArgumentsRepair(last_object, ('{"q": "a"}', "</seed:tool_call>"), '{"q": "a"}'),
    ArgumentsRepair(last_object, ('{"q": "a"}', "[/TOOL_CALLS]"), '{"q": "a"}'),
    ArgumentsRepair(fenced, ("```json\n", '{"q": "a"}', "\n```"), '{"q": "a"}'),
    ArgumentsRepair(python_literal, ("{'q': 'a', ", "'all': True, 'of': None}"), '{"q": "a", "all": true, "of": null}'),
    ArgumentsRepair(python_literal, ('{q: "it\'s", ', "n: [1, -2],}"), '{"q": "it\'s", "n": [1, -2]}'),
    ArgumentsRepair(encoded_twice, ('"{\\"q\\": ', '\\"a\\"}"'), '{"q": "a"}'),
)


def escape_controls(text: str) -> str:
    """Return JSON whose strings have no raw control characters."""
    return _STRING.sub(lambda string: _CONTROL.sub(lambda char: f"\\u{ord(char[0]):04x}", string[0]), text)


def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at
