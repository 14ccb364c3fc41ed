"""What makes a word worth a look, and how far a finding that starts there may reach.

A trigger is a word of the language, or a shape such as ``://``. Both are found in one pass each: words by a search
tree, shapes only where one of their first characters stands, so that ordinary text costs little.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from reasoning.redaction import names
from reasoning.redaction.policy import RedactionPolicy
from reasoning.redaction.words import wordset


@dataclass(frozen=True, slots=True)
class Trigger:
    """Words in small letters, a shape, or both. ``goes_on`` matches all text behind it while a finding may grow."""

    name: str
    words: frozenset[str] = frozenset()
    shape: str = ""
    goes_on: re.Pattern[str] | None = None


_PERSON_WORDS = wordset(
    "ssn itin social national nino aadhaar passport driver drivers driving nhs medicare patient mrn dni nie nif cpf cnh"
    " codice personnummer bsn steuer taxpayer sozialversicherungsnummer"
    " identity id tax phone phones telephone tel mobile"
    " cell cellphone fax call sms text whatsapp dial ring reach contact telefon handy tél teléfono account acct acc"
    " routing aba sort bsb card credit debit dob date birth born birthday birthdate geboren né ip ipv client remote"
    " forwarded real visitor peer connect connected connection connections"
    " connecting request requests requested log logs"
    " logged login signed signin sign access accessed visit visited"
    " session sessions came hit hits sin pan tin tfn nir dl"
    " host address"
)
_PERSON_GOES_ON = re.compile(
    r"[^\d\n]{0,28}(?:[A-Z]{0,3}\d[A-Z0-9 \-./()+,:]{0,40}(?:[a-zäéû]{2,9}\.?,?(?:\s\d{0,4})?)?)?"
)
_SECRET_TRIGGERS = (
    Trigger(
        "name",
        names.NAME_WORDS,
        shape="[\u0370-\u04ff](?:(?<=[A-Za-z].)|(?=[A-Za-z]))",  # look-alike letters in a Latin word
        goes_on=names.NAME_GOES_ON,
    ),
    Trigger("pem", shape=r"-----BEGIN|:?(?<=PuTTY-User-Key-File-\d):", goes_on=re.compile(r"[A-Z0-9 ]{0,60}-{0,5}")),
    Trigger("redacted", shape=r"<(?i:REDACTED)>"),
    Trigger("phrase", names.PHRASE_WORDS, goes_on=names.PHRASE_GOES_ON),
    Trigger("qualifier", names.QUALIFIERS, goes_on=names.QUALIFIER_GOES_ON),
    Trigger("login", names.LOGIN_WORDS, goes_on=names.LOGIN_GOES_ON),
    Trigger("header", names.HEADER_WORDS, goes_on=names.HEADER_GOES_ON),
    Trigger("scheme", names.SCHEME_WORDS, goes_on=names.SCHEME_GOES_ON),
    Trigger("command", names.COMMAND_WORDS, goes_on=names.COMMAND_GOES_ON),
    Trigger("hash", names.HASH_WORDS, shape=r"\$(?:2[abxy]?|apr1|y|[1567])\$|\{(?=S)"),
    Trigger("url", frozenset({"wifi"}), shape="://"),
    Trigger("query", shape=r"[?&;#][^\s=&#?;]{1,64}="),
    Trigger(
        "flag",
        shape=r"(?<![\w-])--?(?:[ubU]|user|cookie|proxy-user)(?![\w-])",
        goes_on=re.compile(r"[ =]{0,4}(?:[\"'][^\n\"']{0,1024})?"),
    ),
    Trigger(
        "odd",
        shape=r"(?<=[A-Za-z]{2})\d|\d[A-Za-z]{2}|[@!^][A-Za-z0-9]|\$[a-z]",
        goes_on=re.compile(
            r"\S{0,256}(?:\s{1,4}(?:is|as|for|was)(?:\s{1,4}(?:the|my|your|our|his|her|their|a|an))?"
            r"(?:\s{1,4}\w{1,20}){0,3})?\s?"
        ),
    ),
    Trigger(
        "cjk",
        shape="[密口令パ비암]",
        goes_on=re.compile(
            r"[码碼钥鑰匙令牌スワード밀번호]{0,5}\s{0,2}[是为為은는が가は]?\s{0,2}[:：=]?\s{0,2}[\"'`「“]?"
        ),
    ),
)
_RUN = r"(?<![A-Za-z0-9_\-])(?=[A-Za-z0-9_\-]{12})(?:(?=[A-Za-z_\-]*+\d)|(?=[A-Za-z0-9_\-]{20}))"
_PERSONAL_TRIGGERS = (
    Trigger("at", shape=r"@|&#64;|&#x40;|&commat;|%40|\[at\]|\(at\)"),
    Trigger(
        "digit",
        shape=r"(?<!\d)(?!(?:19|20)\d\d(?!\d))\d{3}|\(?\+?(?<![\d.,])\d(?=\d?\))|\+\d|(?<![\d.,])0[1-9](?![\d.,])"
        r"|(?<![\d.])\d{1,2}\.\d{1,3}\.",
        goes_on=re.compile(r"[\d\s.\-/()+]{0,60}"),
    ),
    Trigger("person", _PERSON_WORDS, goes_on=_PERSON_GOES_ON),
    Trigger("path", shape=r"/home/|/Users/|:(?:\\{1,4}|/)[Uu]sers"),
)
_CAPITALS = (
    Trigger("iban", shape=r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?![a-z])", goes_on=re.compile(r"[A-Z0-9 \-]{0,42}")),
    Trigger(
        "nino",
        shape=r"(?<![A-Za-z0-9])[A-CEGHJ-NP-TW-Z]{2}(?=\d|\s|\Z)",
        goes_on=re.compile(r"[ \dA-D]{0,13}"),
    ),
)
_ONCE = frozenset({"digit", "header", "iban", "nino", "pem"})  # a second of them, while one is alive, adds nothing
_FIRST_CHARACTERS = r"(?=[-<:?&;#$@!^0-9\[({+%/密口令パ비암\u0370-\u04ff])"
_ASCII_SMALL = {code: code + 32 for code in range(65, 91)}
_LETTERS = re.compile(r"[^\W\d_]+")

Seen = tuple[str, int]  # the name of a trigger, and where its text ended


def small(text: str) -> str:
    """Return ``text`` in small letters, of the same length."""
    low = text.lower()
    return low if len(low) == len(text) else text.translate(_ASCII_SMALL)


class Triggers:
    """The triggers that a policy needs, compiled."""

    def __init__(self, policy: RedactionPolicy) -> None:
        triggers = (
            *_SECRET_TRIGGERS,
            *(_PERSONAL_TRIGGERS if policy.personal else ()),
        )
        capitals = _CAPITALS if policy.personal else ()
        self._classes = _classes(triggers)
        self._goes_on = {one.name: one.goes_on for one in (*triggers, *capitals)}
        self._stems = re.compile("|".join([names.NAME_STEMS, *map(re.escape, map(small, sorted(policy.extra_keys)))]))
        self._word_sieve = re.compile(rf"(?<![a-z])(?:{_tree(self._classes)})(?![a-z])|{self._stems.pattern}")
        shapes = "|".join(f"(?:{one.shape})" for one in triggers if one.shape)
        self._shape_sieve = re.compile(f"{_FIRST_CHARACTERS}(?:{shapes})")
        self._run = re.compile("|".join([_RUN, *(one.shape for one in capitals)]))
        self._shapes = [(one.name, re.compile(one.shape)) for one in (*triggers, *capitals) if one.shape]
        self._shapes.append(("run", re.compile(_RUN)))

    def first(self, text: str, end: int) -> int | None:
        """Return where the first trigger in ``text[:end]`` is, None if there is none."""
        found = (
            self._word_sieve.search(small(text[:end])),
            self._shape_sieve.search(text, 0, end),
            self._run.search(text, 0, end),
        )
        return min((one.start() for one in found if one), default=None)

    def seen(self, text: str, start: int, end: int) -> list[Seen]:
        """Return the triggers in the words ``text[start:end]``."""
        low = small(text[start:end])
        seen = [("name", start + found.end()) for found in self._stems.finditer(low)]
        for word in _LETTERS.finditer(low):
            seen += [(name, start + word.end()) for name in self._classes.get(word.group(), ())]
        if self._shape_sieve.search(text, start, end) or self._run.search(text, start, end):
            seen += [(name, found.end()) for name, shape in self._shapes for found in shape.finditer(text, start, end)]
        return seen

    def alive(self, seen: Iterable[Seen], text: str, end: int) -> list[Seen]:
        """Return those triggers whose finding may go on behind ``end``."""
        alive: list[Seen] = []
        for name, place in seen:
            goes_on = self._goes_on.get(name)
            if goes_on and goes_on.fullmatch(text, place, end) and not (name in _ONCE and _has(alive, name)):
                alive.append((name, place))
        return alive


def _has(alive: Iterable[Seen], name: str) -> bool:
    return any(one == name for one, _ in alive)


def _classes(triggers: Iterable[Trigger]) -> dict[str, tuple[str, ...]]:
    classes: dict[str, tuple[str, ...]] = {}
    for trigger in triggers:
        for word in trigger.words:
            classes[word] = (*classes.get(word, ()), trigger.name)
    return classes


def _tree(words: Iterable[str]) -> str:
    """Return a pattern that matches any of ``words``, each beginning read once."""
    heads: dict[str, list[str]] = {}
    for word in sorted(words):
        heads.setdefault(word[:1], []).append(word[1:])
    branches = [
        re.escape(head) + (f"(?:{_tree(tails)})" if any(tails) else "") for head, tails in heads.items() if head
    ]
    return "|".join(branches) + ("|" if "" in heads else "")
