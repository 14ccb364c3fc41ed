"""Secrets that are assigned: ``DB_PASSWORD=…``, ``"apiKey": "…"``, ``password => …``, ``<secret>…</secret>``.

The name is classified as a key is (``keys``), whatever its spelling; then its value is judged by how it is written:
between quotes, after an equals sign, or after a colon, as prose has it, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from urllib.parse import unquote

from reasoning.redaction.keys import KeyKind
from reasoning.redaction.names import CLOSERS, OPENERS, SEPARATOR
from reasoning.redaction.sentences import FAMILY, says_digits, several
from reasoning.redaction.spans import Rule, Span, secret
from reasoning.redaction.values import (
    is_expression,
    is_inert,
    is_mixed,
    is_number_like,
    is_random,
    is_word,
    trimmed,
)

Classify = Callable[[str], KeyKind]

_LEAD = re.compile(
    rf"(?P<name>(?:(?<![\w.\-])[A-Za-z]{{2,14}}[ ]){{0,2}}(?<![\w.\-])[\w.\-]{{1,80}}+){CLOSERS}[ \t]{{0,40}}"
    rf"(?P<sep>{SEPARATOR})(?P<open>{OPENERS})"
)
_SEPARATES = re.compile(r"[=:|→：＝&%\"',>–—-]")
_VALUE = re.compile(r"[^\s\"'`<>\\]{1,512}+")
_WEAK_VALUE = re.compile(r"[^\s\"'`<>\\=]{1,512}+={0,3}")
_QUOTES = re.compile(r"\\{0,3}([\"'`])\s*\Z")
_ENDS = re.compile(r"[,;&](?=\s|\Z|[\w.\-]{1,40}[=:]|[\"'{}\[\]])|[)\]}](?=[,;)\]}\s.]|\Z)")
_QUERY = re.compile(r"[?&;#](?:amp;)?(?P<name>[^\s=&#?;\"'<>]{1,64})=(?P<value>[^\s&#\"'<>]{1,2048}+)")
_FLAG = re.compile(
    r"(?<![\w-])--?(?P<name>[A-Za-z][\w\-]{0,40})(?:[ ]{1,4}|=)(?P<quote>[\"']?)(?P<value>[^\s\"'\-][^\s\"']{2,512}+)"
)
_XML = re.compile(r"<(?P<name>[A-Za-z][\w.\-:]{0,60}+)(?:\s[^<>]{0,80})?>\s{0,8}(?P<value>[^<\s][^<\n]{0,256})")
_PAIR = re.compile(
    r"(?P<name>(?<![\w.\-])[\w.\-]{2,64}+)[\"']?,?\s{1,24}-{0,2}\s{0,4}[\"']?(?:value|val|content|data|body)[\"']?"
    r"(?:\s{0,3}[=:]\s{0,3}|(?<=--body|-value)\s)[\"']?(?P<value>[^\s\"'<>][^\"'<>\n]{1,256})"
)
_CHILD = re.compile(
    r"(?i)(?P<name>(?<![\w.\-])[\w.\-]{2,64}+)(?:[\"'][^<>\n]{0,60}>|</key>)\s{0,40}<(?:value|val|string|data)>(?P<value>[^<>\n]{2,256})"
)
_CHANGED = re.compile(
    r"(?P<name>(?<![\w.\-])[\w.\-]{2,64}+)[\"']?\s{0,8}[:=]\s{0,3}[\"'][^\"'\n]{0,128}[\"']\s{0,3}[-=]>\s{0,3}"
    r"[\"'](?P<value>[^\"'\n]{2,256})"
)
_BLOCK = re.compile(
    r"[\"'](?P<name>[\w.\-]{2,64}+)[\"']\s{0,3}(?:[:=]\s{0,3})?\{[^{}]{0,300}?(?<![\w-])[\"']?(?:default|value|content|data)[\"']?"
    r"\s{0,8}[:=]\s{0,3}[\"'](?P<value>[^\"'<>\n]{2,256})"
)
_PAIRS = (("", _PAIR), ("{", _BLOCK), ("<", _CHILD), (">", _CHANGED))  # each with what it can't do without
_HUMP = re.compile(r"[a-z][A-Z]|[_\-.]")
_SHORTEST_RANDOM = 12  # characters of a value that alone makes a weak name a secret's
_LONG_ENOUGH = re.compile(rf"[^\s\"'`<>\\]{{{_SHORTEST_RANDOM}}}")
_COMPARING = ("==", "===", "!=", "!==")
_LOOSE = ('",', "',", '">', "'>")
_STRONG_SEPARATORS = ("=", "=>", ":=", "%3D", "%3d", "&#61;")


def rules(classify: Classify) -> tuple[Rule, ...]:
    """Return the rules, with names judged by ``classify``."""
    return (
        Rule(frozenset({"name"}), lambda text: _assigned(text, classify)),
        Rule(frozenset({"query"}), lambda text: _queried(text, classify)),
        Rule(frozenset({"name"}), lambda text: _flagged(text, classify)),
        Rule(frozenset({"name"}), lambda text: _tagged(text, classify)),
        Rule(frozenset({"name"}), lambda text: _paired(text, classify)),
    )


def _assigned(text: str, classify: Classify) -> Iterator[Span]:
    start = 0
    while _SEPARATES.search(text, start) and (lead := _LEAD.search(text, start)):
        start = lead.end()
        kind = classify(lead["name"])
        if kind in (KeyKind.SECRET, KeyKind.WEAK) and lead["name"].lower() != "authorization":
            span = _value_after(text, lead, kind)
            if span:
                start = max(start, span.end)
                yield span


def _value_after(text: str, lead: re.Match[str], kind: KeyKind) -> Span | None:
    quote = _QUOTES.search(lead["open"])
    start = lead.end()
    if (quote and _closes_span(text, lead, quote[1])) or (lead["sep"] == "|" and "\n" in lead["open"]):
        return None
    if kind is KeyKind.WEAK and not quote and not _LONG_ENOUGH.match(text, start):
        return None
    if quote:
        value = _quoted(text, start, quote[1], escaped=quote[0].startswith("\\"))
    else:
        value = _unquoted(text, start, _VALUE if kind is KeyKind.SECRET else _WEAK_VALUE)
        if FAMILY.search(lead["name"]) and (phrase := several(text, start)):
            return phrase
    if is_inert(value) or not _is_assigned(lead, kind, value, quoted=bool(quote)):
        return None
    return Span(start, start + len(value), "", "secret")


def _closes_span(text: str, lead: re.Match[str], quote: str) -> bool:
    """Tell `` `name=` ``, where the quote ends what was opened before the name."""
    before = text[lead.start() - 1 : lead.start()]
    return before == quote and quote not in text[lead.end("name") : lead.end("sep")]


def _quoted(text: str, start: int, quote: str, *, escaped: bool) -> str:
    """Return what stands before the closing quote; without one, the rest of the line."""
    line_end = text.find("\n", start, start + 512)
    limit = line_end if line_end >= 0 else min(len(text), start + 512)
    end = text.find(quote, start, limit)
    while not escaped and end > start and text[end - 1] == "\\":
        end = text.find(quote, end + 1, limit)
    return text[start : end if end >= 0 else limit].rstrip("\\")


def _unquoted(text: str, start: int, pattern: re.Pattern[str]) -> str:
    found = pattern.match(text, start)
    if not found:
        return ""
    if "\n" in text[max(start - 8, 0) : start] and text[found.end() - 1] == ":":
        return ""  # a name on a line of its own
    end = _ENDS.search(found.group())
    return trimmed(found.group()[: end.start()] if end else found.group())


def _is_assigned(lead: re.Match[str], kind: KeyKind, value: str, *, quoted: bool) -> bool:
    name, separator = lead["name"], lead["sep"]
    if kind is KeyKind.WEAK:
        return is_random(value, least=_SHORTEST_RANDOM) and not is_expression(value)
    if separator in _COMPARING:
        return quoted
    if separator == "(":
        return is_mixed(value)
    if separator in _LOOSE or separator[0] in "|-–—→":
        return _is_telling(name, value)
    if quoted:
        return not is_word(value) or name.isupper()
    if _is_code(name, value) or (value.isdigit() and len(value) < 4):
        return False
    if separator in _STRONG_SEPARATORS or _HUMP.search(name) or lead[0][len(name) :][:1] in "\"'":
        return name.isupper() or not is_word(value)
    return _is_telling(name, value)


def _is_code(name: str, value: str) -> bool:
    """Tell a variable or a call on the right side: ``password=user_password``, ``token = tokens[0]``."""
    if is_expression(value):
        return True
    low = value.lower()
    if not low.replace("_", "").isalpha():
        return False
    same = low.rstrip("s") in (name.lower().rstrip("s"), "self")
    return same or ("_" in low and FAMILY.search(low.rpartition("_")[2]) is not None)


def _is_telling(name: str, value: str) -> bool:
    """Judge a value after a colon in prose, where a sentence may follow as well."""
    if value.isdigit():
        return len(value) >= 3 and says_digits(name)
    if is_word(value) or is_number_like(value):
        return False
    if FAMILY.search(name):
        return len(value) >= 3
    return (is_mixed(value) and len(value) >= 6) or is_random(value) or (len(value) >= 16 and not value.islower())


def _queried(text: str, classify: Classify) -> Iterator[Span]:
    for found in _QUERY.finditer(text):
        kind = classify(unquote(found["name"]))
        value = found["value"]
        if is_inert(value) or kind not in (KeyKind.SECRET, KeyKind.WEAK):
            continue
        if kind is KeyKind.SECRET or (is_mixed(value) and len(value) >= 8):
            yield secret(found)


def _flagged(text: str, classify: Classify) -> Iterator[Span]:
    for found in _FLAG.finditer(text):
        if classify(found["name"]) is KeyKind.SECRET and not is_inert(found["value"]):
            yield secret(found)


def _tagged(text: str, classify: Classify) -> Iterator[Span]:
    for found in _XML.finditer(text):
        kind, value = classify(found["name"].rpartition(":")[2]), found["value"]
        if is_inert(value):
            continue
        if kind is KeyKind.SECRET or (kind is KeyKind.WEAK and is_random(value, least=_SHORTEST_RANDOM)):
            yield secret(found)


def _paired(text: str, classify: Classify) -> Iterator[Span]:
    for mark, pattern in _PAIRS:
        for found in pattern.finditer(text) if mark in text else ():
            kind, value = classify(found["name"]), found["value"]
            if kind is KeyKind.SECRET and not is_inert(value) and not is_word(value.partition(" ")[0]):
                yield secret(found)
