"""All rules of one policy, and what makes a word worth a look.

Most words of an ordinary text start nothing: the ``sieve`` finds the first that might, and everything before it is let
go untouched. From there on each word is asked which triggers it holds, and every trigger says how far a finding may
reach, so what must be held back follows from the rules themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from reasoning.redaction import assignments, carriers, names, personal, prefixes, sentences
from reasoning.redaction.keys import KeyKind, classify
from reasoning.redaction.policy import RedactionPolicy
from reasoning.redaction.spans import Rule, Span, Trigger, merge

_PERSON = (
    r"(?i:(?<![a-z])(?:ssn|itin|social|national|nino|aadhaar|passport|driv(?:er|ing)|nhs|medicare|patient|mrn|dni|nie|nif|cpf"
    r"|cnh|codice|personnummer|bsn|steuer|taxpayer|sozial|identity|id|tax|phones?|telephone|tel|mobile|cell|fax|call|sms|text"
    r"|whatsapp|dial|ring|reach|contact|telefon|handy|tél|teléfono|acc(?:oun)?t|routing|aba|sort|bsb|card|credit|debit|dob|date"
    r"|birth|born|birthday|d\.o\.b|geboren|né|ip(?:v[46])?|client|remote|x-forwarded-for|x-real-ip|visitor|peer|connect\w*"
    r"|request\w*|log(?:ged|s|in)?|sign(?:ed)?|access\w*|visit\w*|session|came|hit|from)(?![a-z]))"
    r"|(?<![A-Za-z])(?:SIN|PAN|TIN|TFN|NIR|DL)(?![A-Za-z])"
)
_PERSON_GOES_ON = re.compile(
    r"[^\d\n]{0,28}(?:[A-Z]{0,3}\d[A-Z0-9 \-./()+,:]{0,40}(?:[a-zäéû]{2,9}\.?,?(?:\s\d{0,4})?)?)?"
)
_SECRET_TRIGGERS = (
    Trigger("pem", r"-----BEGIN|PuTTY-User-Key-File", re.compile(r"[A-Z0-9 ]{0,60}-{0,5}")),
    Trigger("redacted", r"(?i:<REDACTED>)"),
    Trigger("phrase", names.PHRASE, names.PHRASE_GOES_ON),
    Trigger("qualifier", names.QUALIFIER, names.QUALIFIER_GOES_ON),
    Trigger("login", names.LOGIN, names.LOGIN_GOES_ON),
    Trigger("cookie", r"(?i:(?<![a-z\-])(?:set-)?cookie)[\"'\\]{0,4}[:=]|(?i:authorization)", re.compile(
        r"[\"'`*\\]{0,4}[ \t]{0,4}(?:[:=,]|=>){0,2}[ \t]{0,4}[b\"'\\]{0,5}|[\"'\\]{0,4}[:=]?[^\n\r\"'\\]{0,4096}"
    )),
    Trigger("scheme", r"(?i:(?<![a-z])(?:basic|apikey|api-key)(?![a-z]))", re.compile(r"[\"'`*\\]{0,4}[\s:=]{0,4}")),
    Trigger("url", r"://|hooks\.slack\.com|discord\w*\.com|api\.telegram\.org|webhook\.office"),
    Trigger("query", r"[?&;#][^\s=&#?;]{1,64}="),
    Trigger("hash", r"\$(?:2[abxy]?|argon2\w*|scrypt|pbkdf2[\w-]*|bcrypt[\w-]*|y|[1567])\$|(?:sha(?:1|256|512)|md5|argon2|scrypt)[$:]|\{S"),
    Trigger("flag", r"(?<![\w-])(?:-[ubU]|--user|--cookie|--proxy-user)(?![\w-])", re.compile(
        r"[ =]{0,4}(?:[\"'][^\n\"']{0,1024})?"
    )),
    Trigger("command", r"(?<![\w-])(?:mysql|mariadb|sshpass|redis-cli|mongo|ldap|smbclient)", re.compile(
        r"\w{0,10}(?:\s{1,2}-\S{1,40}(?:\s[^\s\-]\S{0,40})?){0,6}\s?"
    )),
    Trigger("odd", r"[A-Za-z]{2}\d|\d[A-Za-z]{2}|[@!^][A-Za-z0-9]|\$[a-z]", re.compile(
        r"\S{0,256}(?:\s{1,4}(?:is|as|for|was)(?:\s{1,4}(?:the|my|your|our|his|her|their|a|an))?(?:\s{1,4}\w{1,20}){0,3})?\s?"
    )),
    Trigger("cjk", "[密口令パ비암]", re.compile(
        r"[码碼钥鑰匙令牌スワード밀번호]{0,5}\s{0,2}[是为為は는은가]?\s{0,2}[:：=]?\s{0,2}[\"'`「“]?"
    )),
    Trigger("run", r"(?<![A-Za-z0-9_\-])(?=[A-Za-z0-9_\-]{12})(?:(?=[A-Za-z_\-]*+\d)|(?=[A-Za-z0-9_\-]{20}))"),
)  # fmt: skip
_PERSONAL_TRIGGERS = (
    Trigger("at", r"@|&#64;|&#x40;|&commat;|%40|\[at\]|\(at\)"),
    Trigger("digit", r"\d", re.compile(r"[\d\s.\-/()+]{0,60}")),
    Trigger("person", _PERSON, _PERSON_GOES_ON),
    Trigger("iban", r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?![a-z])", re.compile(r"[A-Z0-9 \-]{0,42}")),
    Trigger("nino", r"(?<![A-Za-z0-9])[A-CEGHJ-PR-TW-Z]{2}(?=\d|\s|\Z)", re.compile(r"[ \dA-D]{0,13}")),
    Trigger("path", r"/home/|/Users/|:(?:\\{1,4}|/)[Uu]sers"),
)
_ONCE = frozenset({"digit"})  # while one is alive a second adds nothing, or a table of numbers would be held whole
BLOCK = re.compile(
    r"(?P<redacted>(?i:<REDACTED>))|(?P<pem>-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d:)"
)
BLOCK_ENDS = {
    "redacted": re.compile(r"(?i:</REDACTED>)"),
    "pem": re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|Private-MAC: [0-9a-f]{20,128}+"),
}

Seen = tuple[str, int]  # the name of a trigger, and where its text ended


class RuleBook:
    """The rules of a policy, compiled. Holds no text; one serves all."""

    def __init__(self, policy: RedactionPolicy) -> None:
        self.policy = policy
        triggers = (
            Trigger("name", names.with_extra(policy.extra_keys), names.NAME_GOES_ON),
            *_SECRET_TRIGGERS,
            *(_PERSONAL_TRIGGERS if policy.personal else ()),
        )
        self._words = tuple((trigger.name, re.compile(trigger.word)) for trigger in triggers)
        self._goes_on = {trigger.name: trigger.goes_on for trigger in triggers}
        self._sieve = re.compile("|".join(f"(?:{trigger.word})" for trigger in triggers))
        self._rules = self._collect()

    def _collect(self) -> tuple[Rule, ...]:
        return (
            *carriers.RULES,
            *prefixes.RULES,
            *assignments.rules(self._classify),
            *sentences.RULES,
            *personal.rules(self.policy),
        )

    def _classify(self, name: str) -> KeyKind:
        return classify(name, self.policy.extra_keys, self.policy.never_keys)

    def first(self, text: str, end: int) -> int | None:
        """Return where the first trigger in ``text[:end]`` starts, None if there is none."""
        found = self._sieve.search(text, 0, end)
        return found.start() if found else None

    def triggers(self, text: str, start: int, end: int) -> list[Seen]:
        """Return the triggers in the words ``text[start:end]``."""
        return [(name, found.end()) for name, word in self._words for found in word.finditer(text, start, end)]

    def alive(self, seen: Iterable[Seen], text: str, end: int) -> list[Seen]:
        """Return those triggers whose finding may go on behind ``end``."""
        alive: list[Seen] = []
        for name, place in seen:
            goes_on = self._goes_on[name]
            if goes_on and goes_on.fullmatch(text, place, end) and not (name in _ONCE and _has(alive, name)):
                alive.append((name, place))
        return alive

    def spans(self, text: str, kinds: frozenset[str]) -> list[Span]:
        """Return what the rules called for by the triggers ``kinds`` find in a segment, in order."""
        found: list[Span] = []
        for rule in self._rules:
            if not kinds.isdisjoint(rule.triggers):
                found.extend(rule.find(text))
        redacted = self.policy.placeholder
        return [span if span.mask else span._replace(mask=redacted) for span in merge(found, redacted)]

    def cut_token(self, text: str) -> Span | None:
        """Return a token that the end of the text cuts off."""
        span = prefixes.cut_token(text)
        return span and span._replace(mask=self.policy.placeholder)


def _has(alive: Iterable[Seen], name: str) -> bool:
    return any(one == name for one, _ in alive)


@lru_cache(maxsize=16)
def rule_book(policy: RedactionPolicy) -> RuleBook:
    """Return the compiled rules of a policy."""
    return RuleBook(policy)
