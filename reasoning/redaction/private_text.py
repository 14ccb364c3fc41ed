"""Mask what a model wrote in private inside a tool's name, its arguments or an error that quotes them. Product 36.

Delimiters and headings are those of the normaliser. The rules for them are stricter than in an answer, since such a
text is no prose: nothing in it is code, and a block lasts until every tag that was opened in it is closed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from reasoning.delimiters.headings import ScratchpadHeadings
from reasoning.delimiters.tags import NAMES, Tag, TagScanner, Token, blunt
from reasoning.redaction.policy import REDACTED
from reasoning.unseen import clean

_MAX_ROUNDS: Final = 4
# Nearly no argument has any of these.
_MAY_BE_PRIVATE = re.compile(r"[<&]|\\u[0-9a-f]{4}|scratchpad|notizblock|%3c|\\x3c", re.IGNORECASE)
# In JSON in a string, however often it was escaped: a character, a line break before a heading, a bracket. A run of
# backslashes is looked at once, from its beginning.
_JSON_ESCAPE = re.compile(
    r"(?<!\\)\\++(?:u(?P<code>[0-9a-f]{4})|[nr](?=[\s#*_>\d.)\\]{0,16}(?:scratchpad|notizblock))"
    r"|(?<=\\\\)(?P<bracket>[<>]))",
    re.IGNORECASE,
)
# A tag as an address, a string of a program or HTML in HTML has it, however often it was encoded.
_ENCODED_TAG = re.compile(
    r"(?:%(?:25){0,3}3c|(?<!\\)\\++x3c|&(?:amp;){1,3}(?:lt|\#60|\#x3c);)(?P<slash>/|%(?:25){0,3}2f|\\++(?:/|x2f))?"
    rf"(?P<name>{'|'.join(NAMES)})(?:%(?:25){{0,3}}3e|\\++x3e|&(?:amp;){{1,3}}(?:gt|\#62|\#x3e);)",
    re.IGNORECASE,
)


def mask_private(text: str) -> str:
    """Return ``text`` without scratchpads, with ``[redacted]`` for thoughts and without any delimiter.

    What is left open is private to the end. An opener that nothing follows, a lone closer and the opener of a thought
    that is left open are shown with ``›`` for ``>``. A second call changes nothing.
    """
    if not _MAY_BE_PRIVATE.search(text):
        return text
    # Whoever reads the JSON in a text, and redaction, would join a delimiter that is hidden so.
    text = clean(_JSON_ESCAPE.sub(_unescape, text))
    text = _ENCODED_TAG.sub(lambda tag: f"<{'/' if tag['slash'] else ''}{tag['name']}>", text)
    # What is left of a text beside a scratchpad may be a delimiter or a heading once it is joined.
    for _ in range(_MAX_ROUNDS):
        masked = _mask_blocks(text)
        if masked == text:
            return masked
        text = masked.strip()
    return REDACTED


def _mask_blocks(text: str) -> str:
    shown: list[str] = []
    opener: Tag | None = None
    body: list[str] = []
    open_tags: Counter[str] = Counter()
    for token in _tokens(text):
        if isinstance(token, str):
            (shown if opener is None else body).append(token)
            continue
        # A heading that opens a scratchpad is closed by the next section, or by a scratchpad's closer.
        name = "section" if token.is_heading else token.name
        if token.kind == "open":
            if opener is None:
                opener, body = token, []
            open_tags[name] = 1 if token.is_heading else open_tags[name] + 1
        elif opener is None:
            shown.append(blunt(token.raw))
        elif token.kind == "close":
            name = "section" if name == "scratchpad" and not open_tags[name] else name
            open_tags[name] = max(0, open_tags[name] - 1)
            if not open_tags.total():
                is_thought = opener.name != "scratchpad" and not _is_blank(body)
                shown += [REDACTED] if is_thought else []
                shown += [token.raw] if token.name == "section" else []
                opener = None
    if opener is not None and (opener.name != "scratchpad" or _is_blank(body)):
        rest = "".join(body)
        blanks = rest[: len(rest) - len(rest.lstrip())]
        shown += [blunt(opener.raw), blanks, *([] if _is_blank(body) else [REDACTED])]
    return "".join(shown)


def _unescape(escape: re.Match[str]) -> str:
    if not escape["code"]:
        return f"\\{escape['bracket']}" if escape["bracket"] else "\n"
    char = chr(int(escape["code"], 16))
    is_structure = char < " " or char in '"\\' or "\ud800" <= char <= "\udfff"
    return escape[0] if is_structure else char


def _is_blank(pieces: list[str]) -> bool:
    return not "".join(pieces).strip()


def _tokens(text: str) -> Iterator[Token]:
    scanner, headings = TagScanner(), ScratchpadHeadings()
    tokens = (*scanner.feed(text), *scanner.finish())
    for token in tokens:
        yield from headings.feed(token)
    yield from headings.finish()
