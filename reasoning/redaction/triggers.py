"""What makes a word worth a look, and how far a finding that starts there may reach.

A trigger is a word of the language, or a shape such as ``://``. Both are found in one pass each: words by a search
tree, shapes only where one of their first characters stands, so that ordinary text costs little.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from string import ascii_uppercase

from reasoning.redaction import names, tongues
from reasoning.redaction.policy import RedactionPolicy
from reasoning.redaction.words import PASSWORDS_ELSEWHERE, wordset

_DIGITS = "0123456789"


@dataclass(frozen=True, slots=True)
class Trigger:
    """Words in small letters, a shape, or both. ``goes_on`` matches all text behind it while a finding may grow.

    ``starts`` holds every character that the shape may begin with.
    """

    name: str
    words: frozenset[str] = frozenset()
    shape: str = ""
    starts: str = ""
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
        starts="".join(map(chr, range(0x370, 0x500))),
        goes_on=names.NAME_GOES_ON,
    ),
    Trigger(
        "pem",
        shape=r"-----BEGIN|:?(?<=PuTTY-User-Key-File-\d):",
        starts="-:",
        goes_on=re.compile(r"[A-Z0-9 ]{0,60}-{0,5}"),
    ),
    Trigger("redacted", shape=r"<(?i:REDACTED)>", starts="<"),
    Trigger("phrase", names.PHRASE_WORDS, goes_on=names.PHRASE_GOES_ON),
    Trigger("elsewhere", PASSWORDS_ELSEWHERE, goes_on=tongues.GOES_ON),
    Trigger("qualifier", names.QUALIFIERS, goes_on=names.QUALIFIER_GOES_ON),
    Trigger("login", names.LOGIN_WORDS, goes_on=names.LOGIN_GOES_ON),
    Trigger("header", names.HEADER_WORDS, goes_on=names.HEADER_GOES_ON),
    Trigger("scheme", names.SCHEME_WORDS, goes_on=names.SCHEME_GOES_ON),
    Trigger("table", names.TABLE_WORDS, goes_on=names.TABLE_GOES_ON),
    Trigger("command", names.COMMAND_WORDS, goes_on=names.COMMAND_GOES_ON),
    Trigger("hash", names.HASH_WORDS, shape=r"\$(?:2[abxy]?|apr1|y|[1567])\$|\{(?=S)", starts="${"),
    Trigger("url", frozenset({"wifi", "jdbc"}), shape="://", starts=":"),
    Trigger("query", shape=r"[?&;#][^\s=&#?;]{1,64}=", starts="?&;#"),
    Trigger(
        "flag",
        shape=r"(?<![\w-])(?:--?(?:[uabU]|user|auth|cookie|proxy-user)(?![\w-])|-[uU]\w{1,32}[:%])",
        starts="-",
        goes_on=re.compile(r"[ =]{0,4}(?:[\"'][^\n\"']{0,1024}|[^\s\"']{1,64}(?:[ ]{1,2}-[pP]?[ ]?)?)?"),
    ),
    Trigger(
        "odd",
        shape=r"(?<=[A-Za-z]{2})\d|\d[A-Za-z]{2}|[@!^][A-Za-z0-9]|\$[a-z]",
        starts=_DIGITS + "@!^$",
        goes_on=re.compile(
            r"\S{0,256}(?:\s{1,4}(?:is|as|for|was|(?:when|if)(?:\s{1,4}[a-z]{1,12}){0,4}(?:\s{1,4}for)?)(?:\s{1,4}(?:the|my|your|our|his|her|their|a|an))?"
            r"(?:\s{1,4}\w{1,20}){0,3})?\s?"
        ),
    ),
    Trigger(
        "cjk",
        shape="[密口令パ비암]",
        starts="密口令パ비암",
        goes_on=re.compile(
            r"[码碼钥鑰匙令牌スワード밀번호]{0,5}\s{0,2}[是为為은는が가は]?\s{0,2}[:：=]?\s{0,2}[\"'`「“]?"
        ),
    ),
)
_RUN = r"(?<![A-Za-z0-9_\-])(?=[A-Za-z0-9_\-]{12})(?:(?=[A-Za-z_\-]*+\d)|(?=[A-Za-z0-9_\-]{20}))"
_PERSONAL_TRIGGERS = (
    Trigger("at", shape=r"@|&#64;|&#x40;|&commat;|%40|\[at\]|\(at\)", starts="@&%[("),
    Trigger(
        "digit",
        shape=r"(?<!\d)(?!(?:19|20)\d\d(?!\d))\d{3}|\(?\+?(?<![\d.,])\d(?=\d?\))|\+\d|(?<![\d.,])0[1-9](?![\d.,])"
        r"|(?<![\d.])\d{1,2}\.\d{1,3}\.",
        starts=_DIGITS + "(+",
        goes_on=re.compile(r"[\d\s.\-/()+]{0,60}"),
    ),
    Trigger("person", _PERSON_WORDS, goes_on=_PERSON_GOES_ON),
    Trigger("path", shape=r"/home/|/Users/|:(?:\\{1,4}|/)[Uu]sers", starts="/:"),
)
_CAPITALS = (
    Trigger(
        "iban",
        shape=r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?![a-z])",
        starts=ascii_uppercase,
        goes_on=re.compile(r"[A-Z0-9 \-]{0,42}"),
    ),
    Trigger(
        "nino",
        shape=r"(?<![A-Za-z0-9])[A-CEGHJ-NP-TW-Z]{2}(?=\d|\s|\Z)",
        starts=ascii_uppercase,
        goes_on=re.compile(r"[ \dA-D]{0,13}"),
    ),
)
SHAPES_ALONE = frozenset({"odd", "run", "digit", "iban", "nino"})  # what they find is the word itself, or digits
_SMALLEST_RUN = 12
_LONGEST_PLAIN = 18  # letters; a shape of letters alone is longer, or of capitals
_NUMBER = re.compile(r"\[?\$?\d{1,9}(?:[.,]\d{1,9})*+[%\])]?")
_MARKS = frozenset(["", "|", "-", "--", ">", "<", "=", "+", "/", "#", "&"])
_BEFORE, _BEHIND = "*\"'", "*\"'.,;:!?"  # no shape begins or ends with them beside such a word
_ALONE = re.compile(r"\S*+\s(?!\s{0,3}(?:is|as|for|was|when|if))")
_PLAIN = re.compile(r"(?:[A-Z]?[a-z]{0,18}[\s,.]++)*+[A-Z]?[a-z]{0,18}")  # no shape is in words like these
_ASCII_SMALL = {code: code + 32 for code in range(65, 91)}
_ALPHABETIC = re.compile("[a-zß-ɏ\u0370-\u06ff\u1e00-\u1eff]+")  # the alphabets of the words that trigger something
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
        self._numbers_are_plain = not policy.personal
        self._goes_on = {"run": None, **{one.name: one.goes_on for one in (*triggers, *capitals)}}
        self._stems = re.compile("|".join([names.NAME_STEMS, *map(re.escape, map(small, sorted(policy.extra_keys)))]))
        self._word_sieve = re.compile(rf"(?<![a-z])(?:{_tree(self._classes)})(?![a-z])|{self._stems.pattern}")
        shapes = "|".join(f"(?:{one.shape})" for one in triggers if one.shape)
        first = "".join(re.escape(char) for one in triggers for char in one.starts)
        self._shape_sieve = re.compile(f"(?=[{first}])(?:{shapes})")
        self._run = re.compile("|".join([_RUN, *(one.shape for one in capitals)]))
        self._shapes = [(one.name, re.compile(one.shape)) for one in (*triggers, *capitals) if one.shape]
        self._run_alone = re.compile(_RUN)
        self._starting = _starting([one for one in (*triggers, *capitals) if one.shape])

    def first(self, text: str, end: int) -> int | None:
        """Return a place in the first word of ``text[:end]`` that has a trigger, None if none has."""
        place = None
        low = small(text[:end])
        has_word = not self._classes.keys().isdisjoint(_ALPHABETIC.findall(low)) or self._stems.search(low)
        if has_word and (word := self._word_sieve.search(low)):
            place = end = word.start()
        if _PLAIN.fullmatch(text, 0, end):
            return place
        if shape := self._shape_sieve.search(text, 0, end):
            place = end = shape.start()
        if run := self._run.search(text, 0, end):
            place = run.start()
        return place

    def plain_end(self, text: str) -> int | None:
        """Return where the last word of ``text`` starts if all before it are plain, None if a closer look is needed.

        The way of nearly every token of an answer.
        """
        if not text.isascii():
            return None
        words = text.split()
        last = "" if not words or text[-1].isspace() else words.pop()
        for word in words:
            if not self._is_plain(word):
                return None
        return len(text) - len(last)

    def _is_plain(self, word: str) -> bool:
        """Tell small letters after the first, a number or a mark, that trigger nothing with the punctuation around."""
        letters = word.lstrip(_BEFORE).rstrip(_BEHIND)
        if not letters.isalpha():
            return letters in _MARKS or (self._numbers_are_plain and _NUMBER.fullmatch(letters) is not None)
        low = letters.lower()
        return (
            letters[1:] == low[1:]
            and len(low) <= _LONGEST_PLAIN
            and low not in self._classes
            and not self._stems.search(low)
        )

    def seen(self, text: str, start: int, end: int) -> list[Seen]:
        """Return the triggers in the words ``text[start:end]``."""
        low = small(text[start:end])
        seen = [("name", start + found.end()) for found in self._stems.finditer(low)]
        for word in _LETTERS.finditer(low):
            seen += [(name, start + word.end()) for name in self._classes.get(word.group(), ())]
        for name, shape in self._shapes_in(text[start:end]):
            seen += [(name, found.end()) for found in shape.finditer(text, start, end)]
        if end - start >= _SMALLEST_RUN:
            seen += [("run", found.end()) for found in self._run_alone.finditer(text, start, end)]
        return seen

    def kinds(self, text: str) -> set[str]:
        """Return the names of all triggers in ``text``, wherever they are."""
        low = small(text)
        kinds = {name for word in set(_LETTERS.findall(low)) for name in self._classes.get(word, ())}
        if self._stems.search(low):
            kinds.add("name")
        if self._run_alone.search(text):
            kinds.add("run")
        return kinds | {name for name, shape in self._shapes_in(text) if shape.search(text)}

    def _shapes_in(self, text: str) -> list[tuple[str, re.Pattern[str]]]:
        """Return the shapes that may begin with a character of ``text``."""
        numbers = {number for char in set(text) for number in self._starting.get(char, ())}
        return [self._shapes[number] for number in sorted(numbers)]

    def goes_on(self, seen: Seen, text: str, end: int) -> bool:
        """Tell whether a finding of this trigger may go on behind ``end``."""
        goes_on = self._goes_on[seen[0]]
        return goes_on is not None and goes_on.fullmatch(text, seen[1], end) is not None

    def reaches(self, seen: Seen, text: str, start: int, end: int) -> bool:
        """Tell whether a finding of this trigger may reach behind the word that ends at ``start``.

        A finding includes the word at which it stops going on. That an odd word goes on at its own end says nothing
        unless a word that carries it on comes next.
        """
        goes_on = self._goes_on[seen[0]]
        if goes_on is None or (seen[0] == "odd" and _ALONE.match(text, seen[1], end)):
            return False
        return goes_on.fullmatch(text, seen[1], start) is not None


def _classes(triggers: Iterable[Trigger]) -> dict[str, tuple[str, ...]]:
    classes: dict[str, tuple[str, ...]] = {}
    for trigger in triggers:
        for word in trigger.words:
            classes[word] = (*classes.get(word, ()), trigger.name)
    return classes


def _starting(triggers: Iterable[Trigger]) -> dict[str, tuple[int, ...]]:
    """Return, by character, the places of those triggers whose shape may begin with it."""
    starting: dict[str, tuple[int, ...]] = {}
    for number, trigger in enumerate(triggers):
        for char in trigger.starts:
            starting[char] = (*starting.get(char, ()), number)
    return starting


def _tree(words: Iterable[str]) -> str:
    """Return a pattern that matches any of ``words``, each beginning read once."""
    heads: dict[str, list[str]] = {}
    for word in sorted(words):
        heads.setdefault(word[:1], []).append(word[1:])
    branches = [
        re.escape(head) + (f"(?:{_tree(tails)})" if any(tails) else "") for head, tails in heads.items() if head
    ]
    return "|".join(branches) + ("|" if "" in heads else "")
