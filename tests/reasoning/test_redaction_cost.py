"""What redaction costs: linear in the text, whatever the text, and little for an ordinary step."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from reasoning.redaction import SECRETS_ONLY, Redactor, StreamRedactor, redact_args, redact_trace
from reasoning.redaction.stream import HOLD
from tests.reasoning.redaction_plain import ORDINARY

_WORDS = r"""
a A 1 = : @ . - _ / + \ " ' ` < > ( [ { * & ? ; # % $ | ~ ! , é 密 😀 a1 aB3 a. a- 1- 1. a@ a@b. :// a://a:
://a@ key=
pass" <REDACTED </REDACTED> eyJ eyJa. sk- AKIA xoxb- $2b$
?a= &key= <a> <password> %40 &#64; 1.1.1. DE89 /home/a C:\Users\
{"a": 1,
"""
_PHRASES = """
key |key: |password |password is |password: '|the key for |token of a b c d e |Bearer |Basic |Authorization: |
Cookie: a=b;|-u |--user a |mysql -p |user a |login a and |-----BEGIN |-----BEGIN A PRIVATE KEY|
call |call 1 |ssn 1|born 1 |IP 1.|DE89 |AB |4111 |+1 |(415) |backup a |seed phrase a b |name: a value: |
["password", |0.1, |is as for the |a1b2 is the |credentials a/|1 2
"""
_TABLES = ["| password |\n", "a,password\n", "password (", "the key: ", "\n|", "identified by ", "-ua:"]
_STATEMENTS = [
    "password, a) values ('",
    "password) values (a),\n(",
    "password, ",
    'password" {a',
    'password = "a" -> "',
]
_CARRIERS = ["a:1:a:a:", "<key>password</key><string>", "-a a:", "sqlplus -a ", 'authorization: a b="', "--auth a,"]
_TONGUES = ["passwort ", "passwort a ", "passwort ist ", "parola a - ", "kennwort nimm du ", "a1a when a for "]
_UNITS = [
    *_STATEMENTS,
    *_CARRIERS,
    *_TONGUES,
    *_WORDS.split(),
    *_PHRASES.strip("\n").split("|"),
    *_TABLES,
    " ",
    "\n",
    "\t",
    "a ",
    "1 ",
    "\u200d",
]


def seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of the quicker of two runs: the machine has other work."""
    spent = []
    for _ in range(2):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return min(spent)


@pytest.mark.parametrize("unit", _UNITS)
def test_adversarial_text_costs_linear_time(unit: str) -> None:
    once, twice = unit * (10_000 // len(unit)), unit * (20_000 // len(unit))
    redactor = Redactor()

    short = seconds(lambda: redactor.redact_text(once))
    long = seconds(lambda: redactor.redact_text(twice))

    assert long <= 5 * short + 0.05
    assert long < 1.5


@pytest.mark.parametrize("unit", ["a", "1", "key ", "{", '"', "\\", "0.1, ", "x@", "é"])
def test_adversarial_argument_is_cheap(unit: str) -> None:
    value = {"query": unit * (100_000 // len(unit))}

    assert seconds(lambda: redact_args(value)) < 0.25


def test_ten_key_step_is_cheap() -> None:
    step = {f"argument_{n}": "risk factors of the 10-K for fiscal 2024" for n in range(10)}
    redact_args(step)

    assert seconds(lambda: [redact_args(step) for _ in range(20)]) / 20 < 0.005


def test_trace_of_twenty_steps_is_cheap() -> None:
    cited = [
        {"filing": "10-K", "date": "2024-11-01", "section": "Item 1A", "snippet": "Net sales rose 2% in 2024."}
    ] * 3
    step = {
        "tool": "searchFilings",
        "args": {"query": "risk factors", "limit": 5},
        "durationMs": 4,
        "topCitations": cited,
    }

    assert seconds(lambda: redact_trace([step] * 20)) < 0.08


@pytest.mark.spec("004 redaction")
def test_delta_of_an_answer_is_cheap() -> None:
    text = "\n".join(ORDINARY) * 2
    stream = StreamRedactor(SECRETS_ONLY)
    pieces = [text[at : at + 6] for at in range(0, len(text), 6)]

    assert seconds(lambda: [stream.feed(piece) for piece in pieces]) / len(pieces) < 0.0001


def test_held_text_never_grows_with_the_stream() -> None:
    stream = StreamRedactor()

    for _ in range(2_000):
        stream.feed("password for the account of ")

    assert len(stream._held) <= HOLD + 100
