"""A stream is redacted as the whole text is, however it is cut, and nothing that was emitted holds a secret."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reasoning.redaction import DEFAULT, SECRETS_ONLY, UNAVAILABLE, RedactionPolicy, Redactor, StreamRedactor
from reasoning.redaction.stream import MAX_HELD
from tests.reasoning.redaction_samples import INNOCENT, PERSONAL, SECRETS, noise

CASES = [*SECRETS, *PERSONAL]
POLICIES = st.sampled_from([DEFAULT, SECRETS_ONLY])


def streamed(text: str, sizes: list[int], policy: RedactionPolicy = DEFAULT) -> str:
    """Return the output for ``text`` in pieces of these sizes, over and over."""
    stream, shown, at, turn = StreamRedactor(policy), "", 0, 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        shown += stream.feed(text[at : at + size])
        at, turn = at + size, turn + 1
    return shown + stream.flush()


SIZES = st.lists(st.integers(1, 40), min_size=1, max_size=5)
SYLLABLES = """
pass word password token = : is the " ' ` , . key API - 4111 1111 +1 415 ( ) 0132 @ example .com Bearer -----BEGIN
PRIVATE KEY----- -----END <REDACTED> </REDACTED> sk- proj- abcDEF123456 密码 是 １２ é \u200d 😀
ก \u200b \U0001f3f4 \U000e0067 \U000e007f
https:// curl -u a:b /
.... :::: '' session private
Cookie: ; DE89 3704 0044 SSN IP 10.0.0.1 login and user hunter2! ?密=
"""
TEXTS = st.lists(
    st.sampled_from(["\n", "   ", " ", *SYLLABLES.split()]) | st.sampled_from([case.text for case in CASES] + INNOCENT),
    max_size=30,
).map("".join)


@pytest.mark.spec("004 redaction")
@settings(max_examples=200, deadline=None)
@given(TEXTS, SIZES, POLICIES)
def test_any_cut_gives_the_redacted_whole(text, sizes, policy):
    whole = Redactor(policy).redact_text(text)

    assert streamed(text, sizes, policy) == whole
    assert UNAVAILABLE not in whole


ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"


@pytest.mark.parametrize("size", [1, 3, 40])
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"Go {ENGLAND}!", f"Go {ENGLAND}!"),
        (ENGLAND, ENGLAND),
        ("a \U0001f3f4", "a \U0001f3f4"),
        (ENGLAND[:-1] + " b", "\U0001f3f4 b"),
        (ENGLAND[1:], ""),
        ("\U0001f3f4" + ENGLAND[1:6] * 3 + "\U000e007f", "\U0001f3f4"),
        ("ភាសា\u200bខ្មែរ ไทย\u200bไทย", "ភាសា\u200bខ្មែរ ไทย\u200bไทย"),
        ("se\u200bcret é\u200bx", "secret éx"),
    ],
)
def test_unseen_characters_stay_only_in_flags_and_between_unspaced_words(text, shown, size):
    assert streamed(text, [size]) == shown


@pytest.mark.parametrize("size", [7, 100])
def test_window_that_is_too_long_to_hold_is_cut_at_the_same_place_for_every_chunking(size):
    text = "| password |\n" * 323 + "(" * 3501 + "passwort ist " * 38

    assert streamed(text, [size]) == Redactor().redact_text(text)


def test_single_characters_never_show_a_secret():
    leaked = []
    for case in CASES:
        stream, shown = StreamRedactor(), ""
        for char in case.text:
            shown += stream.feed(char)
        whole = shown + stream.flush()
        leaked += [case.text] * (case.leaks_in(shown) or whole != Redactor().redact_text(case.text))
        assert stream.flush() == ""

    assert not leaked


@pytest.mark.parametrize("unit", ["a", "aB3", "é", "a,", "1", "=", "password=", "x:y@", '"', "密", "\u200d", "key "])
def test_endless_run_is_cut_invariant_and_bounded(unit):
    text = unit * (3 * MAX_HELD // len(unit))
    stream, shown, fed = StreamRedactor(), "", 0
    for at in range(0, len(text), 97):
        shown += stream.feed(text[at : at + 97])
        fed += len(text[at : at + 97])
        if "[" not in shown and unit != "\u200d":
            assert fed - len(shown) <= MAX_HELD + 97

    assert shown + stream.flush() == Redactor().redact_text(text)


def test_secret_over_the_edge_of_the_held_text_is_masked_whole():
    secret = "sk" + "-proj-" + noise(2 * MAX_HELD, 3)

    assert Redactor().redact_text(f"see {secret} there") == "see [redacted] there"


def test_token_deep_in_an_endless_run_is_masked():
    secret = "gh" + "p_" + noise(36, 5)
    for place in range(MAX_HELD - 60, MAX_HELD + 10, 7):
        assert secret not in Redactor().redact_text("x," * (place // 2) + secret + ",x" * 3000)


def test_endless_cookie_is_masked_to_the_end_of_its_line():
    pairs = "; ".join(f"name{number}=value{number}" for number in range(1_000))

    assert Redactor().redact_text(f"Cookie: {pairs}\nnext") == "Cookie: [redacted]\nnext"


def odd_words(count: int) -> str:
    """Return words that each might be a password with its name behind it."""
    return " ".join(f"row{number},{number * 7 % 10}" for number in range(count))


@pytest.mark.parametrize("policy", [DEFAULT, SECRETS_ONLY])
@pytest.mark.parametrize(
    ("text", "max_held"),
    [
        (odd_words(900), 60),
        ("Net sales rose because services and wearables grew in every region of the world. " * 3, 12),
        ("A token count of a request says how much of the key part of the window the code takes. " * 3, 60),
        ("公司的收入增长了百分之十二。" * 9, 1),
    ],
    ids=["odd words", "prose", "common names", "Chinese"],
)
def test_text_without_secrets_is_released_by_the_word(policy, text, max_held):
    stream, shown = StreamRedactor(policy), ""
    for fed, char in enumerate(text, 1):
        shown += stream.feed(char)
        assert fed - len(shown) <= max_held

    assert shown + stream.flush() == text


def test_secret_in_a_list_of_odd_words_is_masked():
    leaked = []
    for case in CASES:
        text = f"{odd_words(45)} {case.text} {odd_words(50)}"
        whole = Redactor().redact_text(text)
        alone = Redactor().redact_text(f"{case.text} row1,1")  # words behind it may change what it means
        if (case.leaks_in(whole) and not case.leaks_in(alone)) or streamed(text, [len(case.text) % 9 + 1]) != whole:
            leaked.append(case.text)

    assert not leaked


@pytest.mark.parametrize(
    "said",
    [
        "hunter2!x is the new wifi password",
        "hunter2!x when they ask you for the password",
        "type hunter2!x when it asks for the password.",
        "the password is: hunter2!x",
        "4111 1111 1111 1111",
        "Cookie: a1=hunter2!x; b2=c3d4; e5=f6g7",
        f"password: '{odd_words(20)} hunter2!x'",
    ],
)
def test_early_release_never_splits_a_finding(said):
    for before in range(2, 60):
        shown = Redactor().redact_text(f"{odd_words(before)} {said}\n{odd_words(40)}")

        assert "hunter2" not in shown
        assert "1111" not in shown


def test_table_without_secrets_is_released_row_by_row():
    shown = StreamRedactor().feed("| Ratio | Limit |\n|---|---|\n| Debt service | high |\n")

    assert "| Debt service |" in shown


@pytest.mark.parametrize(
    "text", ["password is hunt", "card 4111 1111 1111", "sk" + "-proj-ab", "-----BEGIN RSA PRIV", "bob@exam"]
)
def test_abort_masks_what_may_be_private(text):
    stream = StreamRedactor()

    shown = stream.feed(text) + stream.abort()

    assert shown.endswith("[redacted]")
    assert "hunt" not in shown
    assert "4111" not in shown
    assert not set(shown) & set("@-_")


@pytest.mark.parametrize(
    "word", ["q1w2e3r4", "eyJhbGci", "sk-pro", "postgres://u:pa", "550e8400-e29b-41d4", "0171 234567"]
)
def test_abort_leaves_out_what_may_begin_a_secret(word):
    stream = StreamRedactor(SECRETS_ONLY)

    assert stream.feed(f"so {word}") + stream.abort() == "so …"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "In the year 2221,",
            "rose by 4.2%",
            "(see [12]",
            "**Net",
            "use `<think>`",
            "so <thi",
            "größtenteils",
            "U.S.",
        ),
        *("Hello 🌊", "Umsatz–Gewinn", "foo_bar", "x=1", "C++", "https://example.com/a/b", "http://127.0.0.1:8000/"),
        *("getUserById()", "iPhone", "COVID-19", "GPT-4o", "Item 1A", "README.md", "f(x)", '{"a":1}', "2021 2022 2023"),
        *("$1,234,567", "10-K/10-Q", "well-known", "don't", "| 12 |", "的公司", "12:30"),
    ],
)
@pytest.mark.parametrize("policy", [DEFAULT, SECRETS_ONLY])
def test_abort_keeps_an_ordinary_last_word(text, policy):
    stream = StreamRedactor(policy)

    assert stream.feed(text) + stream.abort() == text


@pytest.mark.spec("004 redaction")
def test_section_in_the_window_of_a_masked_value_is_dropped():
    text = "auth_request /oauth2/check; try gr33nTurtle as the password seen by <REDACTED>Bob Stone and nobody else"

    assert streamed(text, [7]) == "auth_request /oauth2/check; try [redacted] as the password seen by [redacted]"


@pytest.mark.spec("004 redaction")
@pytest.mark.parametrize("size", [7, 100_000])
def test_block_in_an_endless_secret_is_dropped(size):
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{noise(60, 2)}\n-----END RSA PRIVATE KEY-----"
    text = f"Authorization: Bearer {noise(9_000, 1)}{key}, and so on"

    assert streamed(text, [size]) == "Authorization: [redacted][redacted], and so on"


def test_end_word_releases_a_plain_word_only():
    plain, private = StreamRedactor(), StreamRedactor()
    shown = plain.feed("revenue rose"), private.feed("it is password")

    assert shown[0] + plain.end_word() == "revenue rose"
    assert private.end_word() == ""


@pytest.mark.spec("004 redaction")
@settings(max_examples=100, deadline=None)
@given(TEXTS | st.just("[ curlpassworda:b SSN ,4111-0132 "), POLICIES)
def test_end_word_behind_each_word_gives_the_redacted_whole(text, policy):
    stream = StreamRedactor(policy)

    shown = "".join(stream.feed(word) + stream.end_word() for word in re.split(r"(?=\s)", text))

    assert shown + stream.flush() == Redactor(policy).redact_text(text)


def fail(*_: object) -> None:
    raise RuntimeError("inside")


def test_failed_stream_shows_unavailable_once(monkeypatch):
    monkeypatch.setattr("reasoning.redaction.rule_book.RuleBook.find", fail)

    assert streamed("fine then password=hunter2 hunter2 " + "hunter2 " * 1_000, [7]) == "fine then [unavailable]"


def test_word_that_cannot_be_examined_is_not_released(monkeypatch):
    stream = StreamRedactor()
    stream.feed("so it hunter2")
    monkeypatch.setattr("reasoning.redaction.rule_book.RuleBook.triggers_in", fail)

    assert stream.end_word() == "[unavailable]"
    assert stream.feed(" and more") + stream.flush() == ""
