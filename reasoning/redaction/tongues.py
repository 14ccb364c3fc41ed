"""Passwords told in other languages than English: "hasło to …", "le mot de passe du wifi : …", "als Passwort nimm …".

Word order differs from language to language, so little of it is asked for: a word for a password, a few words, a verb
or a mark that leads to a value, and a value that no word of a sentence looks like. ``name: value`` is an assignment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reasoning.redaction.spans import Rule, Span, secret
from reasoning.redaction.values import is_expression, is_inert, is_mixed, trimmed
from reasoning.redaction.words import PASSWORDS_ELSEWHERE

_NAME = "|".join(map(re.escape, sorted(PASSWORDS_ELSEWHERE)))
_WORD = r"[^\s.!?;:=—–]{1,20}"
_BE = (
    r"dazu|dafür|ist|sind|war|lautet|heißt|is|luidt|wordt|est|sera|es|era|será|è|é|sarà|to|jest|brzmi|je|zní|är|er|var|on|este|e"
    r"|είναι|это|є|це|là|adalah|هي|هو|היא|है"
)
_USE = (
    r"(?:nimm\w{0,2}|nehm\w{1,2}|verwend\w{1,3}|benutz\w{1,3}|gib|geben|utilis\w{1,3}|us[ae]\w?|użyj|gebruik\w?)"
    r"(?:\s{1,4}(?:du|wir|sie|bitte|dann|einfach|s'il|vous|te|plaît)){0,3}"
)
_TOLD = re.compile(
    rf"(?i)(?<!\w)(?:{_NAME})(?!\w)"
    rf"(?:(?:\s{{1,4}}{_WORD}){{0,5}}?(?:\s{{1,4}}(?:{_BE}|{_USE})[ ]?:?|\s{{0,4}}[:=—–-]))?"
    r"\s{1,4}[\"'`«„“(\[]{0,3}\s?(?P<value>[^\s\"'`<>\\«»]{5,128}+)"
)
GOES_ON = re.compile(rf"(?:\s{{1,4}}{_WORD}){{0,9}}\s{{0,4}}[:=—–-]?\s{{0,4}}[\"'`«„“(\[]{{0,3}}\s?")


def _told(text: str) -> Iterator[Span]:
    for found in _TOLD.finditer(text):
        value = trimmed(found["value"])
        if is_mixed(value) and not is_inert(value) and not is_expression(value):
            yield secret(found, length=len(value))


RULES = (Rule(frozenset({"elsewhere"}), _told),)
