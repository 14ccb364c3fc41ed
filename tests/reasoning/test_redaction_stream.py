"""A stream is redacted as the whole text is, however it is cut, and nothing that was emitted holds a secret."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reasoning.redaction import DEFAULT, SECRETS_ONLY, RedactionPolicy, Redactor, StreamRedactor
from reasoning.redaction.stream import HOLD
from tests.reasoning.redaction_corpus import SECRETS, Case, noise
from tests.reasoning.redaction_plain import ORDINARY, PERSONAL

ALL = [*SECRETS, *PERSONAL]
POLICIES = [DEFAULT, SECRETS_ONLY]


def streamed(pieces: list[str], policy: RedactionPolicy = DEFAULT) -> list[str]:
    stream = StreamRedactor(policy)
    return [*(stream.feed(piece) for piece in pieces), stream.flush()]


def cut_at_random(text: str, seed: int) -> list[str]:
    chance = random.Random(seed)  # noqa: S311 - the same in every run
    places = sorted(chance.sample(range(1, len(text)), min(len(text) - 1, chance.randint(1, 12))))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


@pytest.mark.spec("004 redaction")
@pytest.mark.parametrize("case", ALL)
def test_random_cuts_give_the_whole(case: Case) -> None:
    whole = Redactor().redact_text(case.text)

    for seed in range(12):
        assert "".join(streamed(cut_at_random(case.text, seed))) == whole


@pytest.mark.parametrize("case", ALL)
def test_single_characters_never_show_a_secret(case: Case) -> None:
    shown = ""
    for piece in streamed(list(case.text)):
        shown += piece
        assert not [private for private in case.private if private in shown]

    assert shown == Redactor().redact_text(case.text)


@pytest.mark.parametrize("policy", POLICIES)
def test_long_text_of_every_case_is_cut_invariant(policy: RedactionPolicy) -> None:
    texts = [case.text for case in ALL if "BEGIN" not in case.text and "<REDACTED>" not in case.text] + ORDINARY
    random.Random(7).shuffle(texts)  # noqa: S311 - the same in every run
    text = "\n".join(texts)
    whole = Redactor(policy).redact_text(text)

    for size in (3, 17, 500):
        assert "".join(streamed([text[at : at + size] for at in range(0, len(text), size)], policy)) == whole


_WORDS = """
pass word password token = : is the " ' ` , . key API - 4111 1111 +1 415 ( ) 0132 @ example .com Bearer -----BEGIN
PRIVATE KEY----- -----END <REDACTED> </REDACTED> sk- proj- abcDEF123456 密码 是 é \u200d 😀 / https:// curl -u a:b
Cookie: ; DE89 3704 0044 SSN IP 10.0.0.1 login and user hunter2!
"""
_SYLLABLES = st.sampled_from(["\n", "   ", *_WORDS.split()])


@settings(max_examples=300, deadline=None)
@given(st.lists(_SYLLABLES, max_size=40), st.integers(1, 9), st.sampled_from(POLICIES))
def test_generated_text_is_cut_invariant(syllables: list[str], size: int, policy: RedactionPolicy) -> None:
    text = "".join(syllable + (" " if number % 3 else "") for number, syllable in enumerate(syllables))

    assert "".join(streamed([text[at : at + size] for at in range(0, len(text), size)], policy)) == Redactor(
        policy
    ).redact_text(text)


@pytest.mark.parametrize("unit", ["a", "aB3", "é", "a,", "1", "=", "password=", "x:y@", '"', "密", "\u200d", "key "])
def test_endless_run_is_cut_invariant_and_bounded(unit: str) -> None:
    text = unit * (3 * HOLD // len(unit))
    stream = StreamRedactor()
    shown, fed = "", 0
    for at in range(0, len(text), 97):
        shown += stream.feed(text[at : at + 97])
        fed += 97
        assert len(stream._held) <= HOLD + 97

    assert shown + stream.flush() == Redactor().redact_text(text)


def test_secret_over_the_edge_of_the_hold_is_masked_whole() -> None:
    secret = "sk" + "-proj-" + noise(2 * HOLD, 3)

    shown = Redactor().redact_text(f"see {secret} there")

    assert shown == "see [redacted] there"


def test_token_deep_in_an_endless_run_is_masked() -> None:
    secret = "gh" + "p_" + noise(36, 5)
    for place in range(HOLD - 60, HOLD + 10, 7):
        assert secret not in Redactor().redact_text("x," * (place // 2) + secret + ",x" * 3000)


def test_endless_cookie_is_masked_to_the_end_of_its_line() -> None:
    pairs = "; ".join(f"name{number}=value{number}" for number in range(1_000))

    assert Redactor().redact_text(f"Cookie: {pairs}\nnext") == "Cookie: [redacted]\nnext"


def odd_words(count: int) -> str:
    """Return words that each might be a password with its name behind it."""
    return " ".join(f"row{number},{number * 7 % 10}" for number in range(count))


@pytest.mark.parametrize("policy", POLICIES)
def test_list_of_odd_words_is_shown_as_it_comes(policy: RedactionPolicy) -> None:
    stream = StreamRedactor(policy)
    text = odd_words(900)
    shown = ""
    for at in range(0, len(text), 9):
        shown += stream.feed(text[at : at + 9])
        assert len(stream._held) <= 400

    assert shown + stream.flush() == text


@pytest.mark.parametrize("case", ALL)
def test_secret_in_a_list_of_odd_words_is_masked_however_it_is_cut(case: Case) -> None:
    text = f"{odd_words(45)} {case.text} {odd_words(50)}"
    alone = Redactor().redact_text(f"{case.text} row1,1")

    whole = Redactor().redact_text(text)

    assert not [private for private in case.private if private in whole and private not in alone]
    for seed in range(2):
        assert "".join(streamed(cut_at_random(text, seed))) == whole


@pytest.mark.parametrize(
    "said",
    [
        "hunter2!x is the new wifi password",
        "hunter2!x when they ask you for the password",
        "the password is: hunter2!x",
        "4111 1111 1111 1111",
        "Cookie: a1=hunter2!x; b2=c3d4; e5=f6g7",
        f"password: '{odd_words(45)} hunter2!x'",
    ],
)
def test_beginning_that_is_let_go_early_never_parts_a_finding(said: str) -> None:
    """Wherever in it the beginning may end."""
    for before in range(2, 60):
        shown = Redactor().redact_text(f"{odd_words(before)} {said}\n{odd_words(40)}")

        assert "hunter2" not in shown
        assert "1111" not in shown


@pytest.mark.parametrize("policy", POLICIES)
def test_prose_is_held_by_a_word(policy: RedactionPolicy) -> None:
    stream = StreamRedactor(policy)
    text = "Net sales rose because services and wearables grew in every region of the world. " * 3
    shown = ""
    for char in text:
        shown += stream.feed(char)
        assert len(stream._held) <= 12

    assert shown + stream.flush() == text


def test_chinese_prose_is_not_held() -> None:
    stream = StreamRedactor(SECRETS_ONLY)

    assert stream.feed("公司的收入增长了") == "公司的收入增长了"


def test_flush_ends_the_stream_once() -> None:
    stream = StreamRedactor()
    stream.feed("the end")

    assert stream.flush() == "end"
    assert stream.flush() == ""


def test_cut_token_at_the_end_is_masked() -> None:
    assert Redactor().redact_text("it is gh" + "p_a1b") == "it is [redacted]"


@pytest.mark.parametrize(
    "text", ["password is hunt", "card 4111 1111 1111", "sk" + "-proj-ab", "-----BEGIN RSA PRIV", "bob@exam"]
)
def test_abort_drops_what_may_be_private(text: str) -> None:
    stream = StreamRedactor()

    shown = stream.feed(text) + stream.abort()

    assert "hunt" not in shown
    assert "4111" not in shown
    assert not set(shown) & set("@-_")


def test_abort_returns_the_plain_last_word() -> None:
    stream = StreamRedactor()

    assert stream.feed("revenue rose") + stream.abort() == "revenue rose"


def test_failed_stream_shows_unavailable_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("inside")

    monkeypatch.setattr("reasoning.redaction.patterns.RuleBook.spans", fail)

    assert "".join(streamed(["fine then ", "password=", "hunter2 ", "hunter2 "])) == "fine then [unavailable]"
