"""Markdown that is still being written: what of it is drawn after each piece."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html as markup

from chat.html import BlockSplitter, OpenBlock, RenderBudget, render_unfinished
from chat.html.link_check import EMPTY

WORDS = st.text("abcxyz ", min_size=1, max_size=12).map(str.strip).filter(bool)
SPANS = st.one_of(
    WORDS,
    *(WORDS.map(f"{mark}{{}}{mark}".format) for mark in ("**", "*", "`", "~~", "***", "__")),
    WORDS.map("[{}](https://www.sec.gov/a_b)".format),
    st.sampled_from(["$x^2 + y_1$", r"\(a_b\)", "![x](https://www.sec.gov/a)", "&amp;", "<https://www.sec.gov/>"]),
    st.sampled_from(["H<sub>2</sub>O", "a<br>b", "<u>a</u>", "所以$a+b$等于", "**「語」**の"]),
)
LINES = st.lists(SPANS, min_size=1, max_size=4).map(" ".join)
BLOCKS = st.one_of(
    LINES,
    st.builds("{} {}".format, st.sampled_from(["#", "##", "####"]), LINES),
    *(st.lists(LINES, min_size=1, max_size=4).map(begins.join) for begins in ("\n- ", "\n1. ", "\n> ", "\n   - ")),
    st.lists(st.tuples(WORDS, LINES), min_size=1, max_size=3).map(
        lambda rows: "| a | b |\n|---|:-:|\n" + "\n".join(f"| {one} | {other} |" for one, other in rows)
    ),
    st.lists(WORDS, max_size=3).map(lambda lines: "\n".join(["```python", *lines, "```"])),
    st.sampled_from(["$$\n\\frac{a}{b} = 1\n$$", "---", "Title\n==="]),
)
DOCUMENTS = st.lists(BLOCKS, min_size=1, max_size=4).map("\n\n".join)
ANYTHING = st.text("ab1 \n-+.)>#*_~`|[]()<&;:/!$\\é\U0001f600א", max_size=60)


def drawn(text: str) -> OpenBlock:
    splitter = BlockSplitter()
    splitter.feed(text)
    return OpenBlock.parse(render_unfinished(*splitter.open_parts, EMPTY, RenderBudget()))


# A pattern that tries all divisions of these would run into the limit.
@pytest.mark.parametrize(
    "unit", ["(abc", "[a](", "](a", "<a ", "&a", "**a", "`a", "\\begin{", "$a", "![a](b ", "[[a]", "~~"]
)
def test_half_link_of_any_length_is_drawn_in_time(unit):
    text = f"see [x](b{unit * (400 // len(unit))} and {unit * 40}"

    assert "see" in drawn(text).before


@given(DOCUMENTS, st.data())
def test_no_marker_of_what_will_be_closed_is_shown(text, data):
    end = data.draw(st.integers(1, len(text)))

    html = re.sub("<annotation.*?</annotation>", "", drawn(text[:end]).html, flags=re.DOTALL)
    shown = markup.fromstring(f"<div>{html}</div>").text_content()

    assert not re.search(r"[*_~`|$\\#>]|\(https|---|amp", shown), (text[:end], shown)


@given(ANYTHING, st.text("ab1 .-:/#)(é\U0001f600", min_size=1, max_size=4))
def test_text_at_the_tip_makes_what_drawing_again_makes(text, more):
    block = drawn(text)

    if block.takes(more):
        again = drawn(text + more)
        assert (block.plus(more).before, block.after) == (again.before, again.after)


def test_table_keeps_the_alignment_that_its_head_has() -> None:
    head = "| a | b |\n|:--|--:|\n"

    for rows in ("", "| 1 ", "| 1 | 2 |\n", "| 1 | 2 |\n| x | about 3 |\n"):
        assert re.findall(r"<th align=\"(\w+)", drawn(head + rows).html) == ["left", "right"]


@pytest.mark.parametrize(
    "text",
    [
        *("H<sub>2</sub>O", "a<br>b", "**a <u>b</u>**", "\\begin{align}\na\n\\end{align}"),
        *("<details>\n<summary>a</summary>\n\nb\n</details>", "<details><summary>a</summary>b</details>"),
    ],
)
def test_no_torn_tag_is_shown(text):
    for end in range(len(text) + 1):
        shown = markup.fromstring(f"<div>{drawn(text[:end]).html}</div>").text_content()

        assert not re.search(r"[<>]|su[bm]|det|\\b", shown.partition(r"\begin{align}")[0]), text[:end]
