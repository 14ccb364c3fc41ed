"""Greetings, thanks, and questions about who answers: what no filing can be searched for."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORDS = frozenset(
    """hello hi hey thanks thank good morning evening afternoon night day ok okay bye goodbye cool great nice test
    testing ping help helpful welcome sorry yes yeah yep no nope sure fine name model version bot chatbot robot human
    real work joke awesome perfect excellent amazing wonderful brilliant fantastic super interesting lovely useful
    cheers greetings understood right well lot lots much wow lol haha hmm weekend language based made built
    ai assistant there everyone alright appreciate appreciated job clear exactly pleasure speak able""".split()  # noqa: SIM905
)
_ABOUT_ITSELF = re.compile(
    r"\b(?:who|what|how) are you\b|\bwhat can (?:you|i) (?:do|ask)\b|\bhow (?:do|can) (?:you|i) (?:work|use)\b"
    r"|\bare you (?:an?|real|human|there|ok|okay|sure|smart|chat\w*)\b|\bwhat do you do\b"
    r"|\b(?:which|what) (?:language )?model are you\b|\byour (?:name|model|version)\b|\bwho (?:made|built) you\b",
    re.I,
)
_GOES_ON = re.compile(
    r"^\W*(?:and|or|but|so|why|when|where|who|which|what about|how about|how (?:so|come|many|much|long)|more|else"
    r"|go on|continue|elaborate|tell me more)\b",
    re.I,
)
_POLITE_OPENING = re.compile(
    r"^\s*(?:(?:thanks|thank you|thx|hi|hello|hey|dear)(?:\s+(?:a lot|so much|very much|there|again|everyone))?\b"
    r"[\s,.!;:–—-]*|(?:ok|okay|great|cool|nice|perfect|good|alright|awesome|excellent|interesting|please|got it|i see)"
    r"[,.!;:–—-]+\s*)+",
    re.I,
)


def is_small_talk(text: str, topics: Iterable[str], *, has_more: bool) -> bool:
    """Say whether nothing is asked that a filing could answer. ``has_more``: it names a company, a year, or frames."""
    if set(topics) - _WORDS:
        return False
    return not has_more or bool(_ABOUT_ITSELF.search(text))


def goes_on(text: str) -> bool:
    """Say whether a text without words of its own still asks something about what went before: *Why?*, *and?*."""
    return bool(_GOES_ON.match(text)) and not _ABOUT_ITSELF.search(text)


def without_opening(text: str) -> str:
    """Return what follows a greeting or thanks; all of it where nothing follows."""
    rest = text[found.end() :] if (found := _POLITE_OPENING.match(text)) else text
    return rest if re.search(r"\w", rest) else text
