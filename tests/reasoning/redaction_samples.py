"""Texts with secrets, personal data and neither, for the tests of redaction: the files in ``redaction_cases``, and the
examples of the rules.

A line is a text; ``\\n`` and ``\\t`` are escaped. ``{password}``, ``{key}`` and ``{hex}`` are filled in here, so that
no file of the project holds a secret; ``{}`` is the part behind the tab.
"""

import random
import string
from pathlib import Path
from typing import NamedTuple

from reasoning.redaction.rules import Rule, assignments, commands, personal_data, prose, requests, tables, tokens
from reasoning.redaction.rules.personal_data import Label

ALNUM = string.ascii_letters + string.digits
_PASSWORDS = ["Maple!77tree", "gr33nTurtle", "R0senstolz#", "blueHeron42", "k4ffeeTasse!"]


class Case(NamedTuple):
    text: str
    private: str

    def leaks_in(self, shown: str) -> bool:
        return self.private in shown


def noise(length: int, seed: int, alphabet: str = ALNUM) -> str:
    chosen = "".join(random.Random(seed).choices(alphabet, k=length))  # noqa: S311 - the same in every run
    return chosen if any(char.isdigit() for char in chosen) else chosen[:-1] + "7"


def _lines(name: str) -> list[str]:
    text = (Path(__file__).parent / "redaction_cases" / f"{name}.txt").read_text(encoding="utf-8")
    # A tab parts the columns, so an escaped one becomes \1 until they are parted.
    unescaped = text.replace("\\\\", "\0").split("\n")[:-1]
    return [line.replace("\\n", "\n").replace("\\t", "\1").replace("\0", "\\") for line in unescaped]


def filled(number: int, line: str) -> Case:
    text, _, private = line.partition("\t")
    values = {
        "{password}": _PASSWORDS[number % len(_PASSWORDS)],
        "{key}": noise(32, 4_000 + number),
        "{hex}": noise(32, 5_000 + number, "0123456789abcdef"),
        "{}": private,
    }
    slot = next(slot for slot in values if slot in text)
    return Case(text.replace(slot, values[slot]).replace("\1", "\t"), values[slot])


def _cases(name: str) -> list[Case]:
    return [filled(number, line) for number, line in enumerate(_lines(name))]


def _examples(*rows: Rule | Label) -> list[Case]:
    return [filled(number, row.examples[0]) for number, row in enumerate(rows)]


def _key_block(kind: str) -> list[Case]:
    dashes, body = "-" * 5, noise(64, 950)
    block = f"{dashes}BEGIN {kind}{dashes}\n{body}\n{noise(64, 951)}\n{dashes}END {kind}{dashes}"
    escaped = '{"private_key": "' + block.replace("\n", "\\n") + '"}'
    return [Case(f"The key:\n{block}\nkeep it", body), Case(block[:100], body[:30]), Case(escaped, body)]


_ROOMS = (tokens, requests, assignments, commands, tables, prose)
RULES = [*(rule for room in _ROOMS for rule in room.RULES), *personal_data.RULES]
TRIGGERS = [*(trigger for room in _ROOMS for trigger in room.TRIGGERS), *personal_data.TRIGGERS]
LABELS = personal_data.LABELS.values()
SECRETS = [
    *_cases("secrets"),
    *_examples(*(rule for room in _ROOMS for rule in room.RULES)),
    *_key_block("RSA PRIVATE KEY"),
    *_key_block("PGP PRIVATE KEY BLOCK"),
    Case("<REDACTED>Bob Stone, room 12</REDACTED> said so", "Bob Stone"),
    Case("seen by <REDACTED>Bob Stone and nobody else", "Bob Stone"),
    Case("the unlabelled " + noise(44, 916) + "x7Q leaked", noise(44, 916)),
]
KNOWN_MISSES = _cases("known_misses")
PERSONAL = [*_cases("personal"), *_examples(*personal_data.RULES, *LABELS)]
INNOCENT = [
    *(line.replace("\1", "\t") for line in _lines("innocent")),
    *(row.examples[1] for row in [*RULES, *LABELS]),
]
