"""Secrets and personal data in text are masked, and ordinary text about filings is left as it is."""

from __future__ import annotations

import copy
import json
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reasoning.redaction import DEFAULT, SECRETS_ONLY, IpInText, RedactionPolicy, Redactor, SafeText, redact_text
from tests.reasoning.redaction_corpus import SECRETS, Case, noise
from tests.reasoning.redaction_plain import ORDINARY, PERSONAL


@pytest.mark.spec("004 redaction")
@pytest.mark.parametrize("case", SECRETS)
def test_secret_is_masked(case: Case) -> None:
    shown = redact_text(case.text)

    assert not [secret for secret in case.private if secret in shown]
    assert "[redacted]" in shown


@pytest.mark.spec("product 12")
@pytest.mark.parametrize("case", SECRETS)
def test_secret_is_masked_in_answers(case: Case) -> None:
    shown = Redactor(SECRETS_ONLY).redact_text(case.text)

    assert not [secret for secret in case.private if secret in shown]


@pytest.mark.spec("004 redaction")
@pytest.mark.parametrize("case", PERSONAL)
def test_personal_data_is_masked(case: Case) -> None:
    shown = redact_text(case.text)

    assert not [private for private in case.private if private in shown]


@pytest.mark.spec("product 12")
@pytest.mark.parametrize("case", PERSONAL)
def test_answers_keep_personal_data(case: Case) -> None:
    assert Redactor(SECRETS_ONLY).redact_text(case.text) == case.text


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_untouched(text: str) -> None:
    assert redact_text(text) == text


@pytest.mark.parametrize("case", [*SECRETS, *PERSONAL])
def test_redacted_text_is_stable(case: Case) -> None:
    once = redact_text(case.text)

    assert redact_text(once) == once


@pytest.mark.spec("004 redaction")
def test_email_keeps_first_letter_and_domain() -> None:
    assert redact_text("to user@domain.com") == "to u***@domain.com"
    assert redact_text("to bartholomew.longname@domain.com") == "to b***@domain.com"


def test_mask_says_nothing_of_the_secret() -> None:
    short, long = redact_text("password=hunter2"), redact_text("password=" + noise(80, 1))

    assert short == long == "password=[redacted]"


def test_what_holds_a_mask_is_taken_as_redacted() -> None:
    text = "Authorization: abc=;[redacted]"

    assert redact_text(text) == text


@pytest.mark.parametrize(
    "text", ["password=hunter2[redacted]", "api_key: x1Y2z3W4Q5r6[redacted]", "-phunter2[redacted]"]
)
def test_mask_written_beside_a_secret_does_not_save_it(text: str) -> None:
    shown = redact_text("mysql " + text if text.startswith("-p") else text)

    assert "hunter2" not in shown
    assert "x1Y2z3" not in shown


def test_unclosed_redacted_section_hides_the_rest() -> None:
    assert redact_text("a <REDACTED>b c d") == "a [redacted]"


def test_key_block_without_end_hides_the_rest() -> None:
    begin = "-" * 5 + "BEGIN PRIVATE KEY" + "-" * 5

    assert redact_text(f"x {begin}\nabc\nthe end") == "x [redacted]"


def test_public_certificate_is_kept() -> None:
    text = "-" * 5 + "BEGIN CERTIFICATE" + "-" * 5 + "\nabc\n"

    assert redact_text(text) == text


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b", "x\u202ey", "pass\u200bword", "\x1b[31mred"])
def test_unstorable_characters_go(text: str) -> None:
    shown = redact_text(text)

    shown.encode()
    assert not {"\x00", "\ud800", "\u202e", "\u200b", "\x1b"} & set(shown)


def test_joined_emoji_survive() -> None:
    assert redact_text("👩\u200d👩\u200d👧") == "👩\u200d👩\u200d👧"


def test_address_counts_by_policy() -> None:
    text = "seen 203.0.113.7 twice"

    assert redact_text(text) == text
    assert Redactor(RedactionPolicy(ip_in_text=IpInText.ALWAYS)).redact_text(text) == "seen [redacted] twice"
    never = RedactionPolicy(ip_in_text=IpInText.NEVER)
    assert Redactor(never).redact_text("client IP 203.0.113.7") == "client IP 203.0.113.7"


def test_extra_name_is_secret_in_text() -> None:
    policy = RedactionPolicy(extra_keys=frozenset({"floop"}))

    assert Redactor(policy).redact_text("floop=abc") == "floop=[redacted]"
    assert redact_text("floop=abc") == "floop=abc"


def test_counts_hold_kinds_alone() -> None:
    redactor = Redactor()
    redactor.redact_text("password=hunter2 and bob@example.com")

    assert redactor.counts == {"secret": 1, "email": 1}


def test_whole_text_is_kept() -> None:
    text = "word " * 20_000

    assert redact_text(text) == text


def test_failure_shows_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("inside")

    monkeypatch.setattr("reasoning.redaction.patterns.RuleBook.spans", fail)

    assert "hunter2" not in redact_text("password=hunter2")
    assert "[unavailable]" in redact_text("password=hunter2")


def test_failure_before_the_first_rule_shows_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("inside")

    monkeypatch.setattr("reasoning.redaction.redactor.StreamRedactor", fail)

    assert redact_text("password=hunter2") == "[unavailable]"


def test_safe_text_is_built_by_a_redactor_only() -> None:
    with pytest.raises(TypeError, match="Redactor"):
        SafeText("password=hunter2")

    assert isinstance(redact_text("a"), SafeText)
    assert type(redact_text("ab")[:1]) is str


def test_safe_text_copies_and_serialises_as_text() -> None:
    shown = redact_text("plain")

    assert json.dumps(shown) == '"plain"'
    assert copy.deepcopy({"a": shown}) == {"a": "plain"}
    assert type(pickle.loads(pickle.dumps(shown))) is str  # noqa: S301 - our own bytes


def test_error_shows_class_and_redacted_words() -> None:
    secret = noise(32, 4)

    shown = Redactor().redact_error(ValueError(f"Incorrect API key provided: sk-{secret}"))

    assert shown == "ValueError: Incorrect API key provided: [redacted]"


def test_error_never_prints_an_object() -> None:
    class Client:
        def __repr__(self) -> str:
            return "Client(api_key='hunter2')"

    assert Redactor().redact_error(RuntimeError("failed", Client())) == "RuntimeError: failed"


def test_error_that_cannot_speak_is_unavailable() -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert Redactor().redact_error(MuteError()) == "[unavailable]"


_PIECES = st.sampled_from([case.text for case in [*SECRETS, *PERSONAL]] + ORDINARY + ["\n", " ", "=", ": ", '"', "`"])


@settings(max_examples=150, deadline=None)
@given(st.lists(_PIECES, min_size=1, max_size=4), st.sampled_from([" ", "\n", "", ", "]))
def test_any_mixture_is_stable(pieces: list[str], joint: str) -> None:
    once = redact_text(joint.join(pieces))

    assert redact_text(once) == once


@settings(max_examples=150, deadline=None)
@given(st.text(st.sampled_from("paswordke:= \n\"'`<>[]@.-0123456789AKIsecrt/\\u+(){}|"), max_size=80))
def test_noise_is_stable(text: str) -> None:
    once = Redactor(DEFAULT).redact_text(text)

    assert redact_text(once) == once
    assert "[unavailable]" not in once


_PARTS = "DE89 AT20 GB29 4111 1111 (415) 555 0132 +1 123-45-6789 密 ( [ é 10.0.0.1 AB 12 QQ , . : -"
_NUMBERS = st.sampled_from(_PARTS.split())


@settings(max_examples=200, deadline=None)
@given(st.lists(_NUMBERS, max_size=16), st.sampled_from(["", " "]))
def test_no_mixture_of_numbers_fails(pieces: list[str], joint: str) -> None:
    assert "[unavailable]" not in redact_text(joint.join(pieces))
