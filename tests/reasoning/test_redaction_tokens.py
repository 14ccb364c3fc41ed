"""Every row of the tables of token formats masks tokens that no other rule masks."""

import random
import re
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reasoning.redaction import redact_text
from reasoning.redaction.rules.tokens import DISTINCT_PREFIXES, SHAPES, SHORT_PREFIXES

ASCII = st.characters(codec="ascii")
# By which the slots of a layout are filled.
ALPHABETS = {
    "h": string.hexdigits[:16],
    "d": string.digits,
    "u": string.ascii_uppercase,
    "a": string.ascii_lowercase[6:] + "234567",
    "z": string.ascii_lowercase[6:],
}


def filled(layout: str, seed: int) -> str:
    chance = random.Random(seed)  # noqa: S311 - the same in every run

    def fill(slot: re.Match[str]) -> str:
        return "".join(chance.choices(ALPHABETS[slot[1]], k=int(slot[2])))

    layout = layout.replace("{uuid}", "{h8}-{h4}-{h4}-{h4}-{h12}")
    return re.sub(r"\{([hduaz])(\d+)\}", fill, layout).replace("{{", "{").replace("}}", "}")


@pytest.mark.spec("004 redaction")
@pytest.mark.parametrize("pattern", [*DISTINCT_PREFIXES, *SHORT_PREFIXES])
@settings(max_examples=5)
@given(data=st.data())
def test_token_with_a_known_prefix_is_masked_whole(pattern, data):
    # Behind the prefix is too little, or too plain a text, for a rule that doesn't know the prefix.
    body = "{z11}4{z1}" if pattern in DISTINCT_PREFIXES else "{z1}4{z1}7{z1}2{z1}6{z1}3{z1}5{z1}8{z1}9"
    prefix = data.draw(st.from_regex(pattern, fullmatch=True, alphabet=ASCII))

    assert redact_text(f"see {prefix}{filled(body, 1)} there") == "see [redacted] there"


@pytest.mark.spec("004 redaction")
def test_token_with_a_known_layout_is_masked_whole():
    tokens = [filled(layout, seed) for _, layouts in SHAPES.values() for seed, layout in enumerate(layouts.split())]

    assert not [token for token in tokens if redact_text(f"see {token} there") != "see [redacted] there"]


@pytest.mark.parametrize("prefix", ["sk-proj-", "ghp_", "AKIA", "xoxb-", "eyJhbGciOi"])
def test_token_that_the_end_of_the_text_cuts_off_is_masked(prefix):
    assert redact_text(f"it is {prefix}a1b") == "it is [redacted]"
    assert redact_text(f'it is "{prefix}a1b"') == 'it is "[redacted]"'


@pytest.mark.parametrize(
    "text", ["pip install pypi-server", "task-force, sk-learn", "live_data", "key-value", "commit " + "9f0c" * 10]
)
def test_word_that_begins_like_a_token_is_shown(text):
    assert redact_text(text) == text
