"""A scratchpad can't be printed, compared, copied or serialised."""

import copy
import json
import logging
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from reasoning import scratchpad as core
from reasoning.errors import ScratchpadError
from reasoning.scratchpad import REPEAT_CHARS, Scratchpad, ScratchpadGrant, reveal

SECRET = "canary7 discarded the quarterly reports and kept the annual ones"
GRANT = ScratchpadGrant(core.GRANT_KEY)


@pytest.fixture
def pad():
    return Scratchpad(SECRET)


_SHOWN: list[Callable[[Any], str]] = [
    repr,
    str,
    ascii,
    "{}".format,
    "{:>30}".format,
    "%s".__mod__,
    lambda pad: f"{pad} {pad!s} {pad!r}",
    lambda pad: repr([pad]),
    lambda pad: str(ValueError(pad)),
    lambda pad: json.dumps([pad], default=str),
]
_MISUSE: list[Callable[[Any], object]] = [
    hash,
    copy.copy,
    copy.deepcopy,
    pickle.dumps,
    lambda pad: pad == SECRET,
    lambda pad: pad != SECRET,
    lambda pad: {pad: 1},
    lambda pad: pad.__getstate__(),
    lambda pad: pad.__reduce__(),
    lambda pad: type("Open", (Scratchpad,), {}),
]
_NO_TEXT: list[Callable[[Any], object]] = [
    json.dumps,
    len,
    iter,
    bytes,
    vars,
    lambda pad: "a" + pad,
    lambda pad: "".join([pad]),
    lambda pad: pad[0],
    lambda pad: pad < SECRET,
]


@pytest.mark.spec("004 scratchpad")
@pytest.mark.parametrize("shown", _SHOWN)
def test_printing_shows_a_constant(pad, shown):
    assert "canary7" not in shown(pad)
    assert "scratchpad withheld" in shown(pad)


@pytest.mark.spec("004 scratchpad")
@pytest.mark.parametrize("attempt", _MISUSE)
def test_copying_and_comparing_raise(pad, attempt):
    with pytest.raises(ScratchpadError) as caught:
        attempt(pad)

    assert "canary7" not in "".join(map(str, (caught.value, caught.value.args)))


@pytest.mark.parametrize("attempt", _NO_TEXT)
def test_it_is_not_a_string(pad, attempt):
    with pytest.raises(TypeError) as caught:
        attempt(pad)

    assert "canary7" not in str(caught.value)


def test_log_line_shows_a_constant(pad, caplog):
    logging.getLogger("test").error("notes: %s", pad)

    assert "canary7" not in caplog.text
    assert "withheld" in caplog.text


def test_truth_and_size(pad):
    assert pad
    assert pad.tokens_est == 16
    assert not Scratchpad(" \n")
    assert not Scratchpad.join([])


@pytest.mark.spec("product 9")
def test_grant_needs_the_key():
    for key in (None, object(), "key", True):
        with pytest.raises(ScratchpadError):
            ScratchpadGrant(key)
    with pytest.raises(ScratchpadError):
        pickle.dumps(GRANT)


@pytest.mark.spec("product 9")
@pytest.mark.parametrize("grant", [None, True, object(), core.GRANT_KEY])
def test_reveal_needs_a_grant(pad, grant):
    with pytest.raises(ScratchpadError):
        reveal(pad, grant)


def test_reveal_returns_the_text_to_a_grant(pad):
    assert reveal(pad, GRANT) == SECRET


@pytest.mark.spec("004 scratchpad")
def test_reveal_cuts_at_about_200_tokens():
    text = reveal(Scratchpad("word " * 1_000), GRANT)

    assert text.endswith("word…(truncated)")
    assert len(text) <= 200 * 4 + len("…(truncated)")


def test_join_separates_by_a_blank_line():
    joined = Scratchpad.join([Scratchpad("a"), Scratchpad(" "), Scratchpad("b")])

    assert reveal(joined, GRANT) == "a\n\nb"


@pytest.mark.spec("004 scratchpad")
@pytest.mark.parametrize(
    ("text", "overlaps"),
    [
        ("It DISCARDED the  quarterly reports, and kept nothing.", True),
        ("dis\u00adcarded the quarterly reports and\u200b kept", True),
        ("ｄiscarded the quarterly reports and kept", True),
        ("discarded the quarterly reports and", False),
        ("discarded the quarterly annual reports and kept the ones", False),
        ("", False),
    ],
)
def test_overlap_is_a_run_of_words(pad, text, overlaps):
    assert pad.overlaps(text) is overlaps


def test_short_scratchpad_overlaps_as_a_whole():
    assert Scratchpad("use 10-K").overlaps("I chose to use 10-K filings")
    assert not Scratchpad("use 10-K").overlaps("I chose the 10-K")
    assert not Scratchpad("…").overlaps("anything …")


PLAN = "The quick plan: hide the Straße figures, then cite only the annual report of 2024."


@pytest.mark.spec("product 22")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"So: {PLAN} Done.", "So: [redacted] Done."),
        (PLAN[:REPEAT_CHARS], "[redacted]"),
        (PLAN[5 : REPEAT_CHARS + 4 - 1], PLAN[5 : REPEAT_CHARS + 4 - 1]),
        (f"- {PLAN.upper()}\n- next", "- [redacted]\n- next"),
        (f"a\n\n{PLAN.replace(' ', chr(10) + '  ')}\n\nb", "a\n\n[redacted]\n\nb"),
        (f"{PLAN.replace('a', 'a' + chr(0x200B))}!", "[redacted]!"),
        (f"{PLAN[:45]} but {PLAN[30:]}", "[redacted] but [redacted]"),
        (f"{PLAN}{PLAN}", "[redacted]"),
        ("Nothing of it. " * 9, "Nothing of it. " * 9),
        ("", ""),
    ],
)
def test_repeated_run_is_replaced(text, shown):
    assert Scratchpad(f"Notes first.  {PLAN}").remove_repeats(text) == (shown, shown.count("[redacted]"))


def test_short_scratchpad_is_repeated_by_nothing():
    assert Scratchpad("Yes.").remove_repeats("Yes. " * 20) == ("Yes. " * 20, 0)


@pytest.mark.parametrize("unit", ["a", " ", "note that, "])
def test_repeats_are_found_in_linear_time(unit):
    text = unit * (400_000 // len(unit))

    assert Scratchpad(text + "x").remove_repeats(text)[1] <= 1
