"""Where an answer that is still streaming is cut into blocks, and that cutting changes nothing."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chat.html import BlockSplitter, render_markdown, sanitize_html, split_blocks
from chat.html.markdown import to_html
from chat.html.postprocess import decorate

LINES = """
a
b *c*
- a
-
  b
    c
- - n
1. x
10. y
2) z
+ p
* * *
> q
> - z
> ```
```
````py
  ```
   ~~~
~~~
~~~ x
- ```
text ```
     - k
# h
---
===
|a|b
|-|-
<b>
$$
$$ a = 1 $$
$$ a = 1
= b $$
\\[
\\]
- $$
  $$
> $$
it is $x^2$ of $5 and $10
	t
"""
documents = st.lists(st.sampled_from([*LINES.strip("\n").split("\n"), "", "", "", " "]), max_size=24).map("\n".join)


def rendered_uncut(text):
    return squeezed(decorate(sanitize_html(to_html(text))))


def squeezed(html):
    return "".join(html.split())


def feed(splitter, text, size):
    return [block for at in range(0, len(text), size) for block in splitter.feed(text[at : at + size])]


@given(documents, st.integers(1, 40))
@example("- a\n ```\n\nb\n\n```\nc", 1)
@example("a\n```\n\nx\n```\n\ny\n\nz", 3)
@example("a\n$$\nx\n\n= y\n$$\n\nz\n\nw", 2)
@example("$$\n" + "a\n" * 57 + "\n$$\n\nb\n\nc", 9)
@example("$$\n" + "a\n" * 58 + "\n$$\n\nb\n\nc", 9)
@example("- $$\n  x\n  $$\n\na\n\n$$\nb\n\n= c\n$$\n", 5)
def test_streamed_blocks_render_as_the_whole_does(text, size):
    splitter = BlockSplitter()

    blocks = [*feed(splitter, text, size), *splitter.finish()]

    assert tuple(blocks) == split_blocks(text)
    assert squeezed("".join(map(render_markdown, blocks))) == rendered_uncut(text)
    assert squeezed(render_markdown(text)) == rendered_uncut(text)


@given(st.text(alphabet="a-\r\n `", max_size=40), st.integers(1, 5))
def test_nothing_is_lost_but_the_kind_of_line_end(text, size):
    splitter = BlockSplitter()
    text_lf = text.replace("\r\n", "\n").replace("\r", "\n")

    finished = "".join(feed(splitter, text, size))

    assert finished + "".join(splitter.open_parts) == text_lf
    assert finished + "".join(splitter.finish()) == text_lf


def test_block_is_finished_once_a_complete_one_and_a_growing_one_follow():
    splitter = BlockSplitter()

    assert splitter.feed("one\n\ntwo\n\n") == ()
    assert splitter.feed("three") == ()
    assert splitter.feed("\n") == ("one\n\n",)
    assert splitter.open_parts == ("two\n\n", "three\n")
    assert splitter.finish() == ("two\n\n", "three\n")
    assert splitter.open_parts == ("", "")


@pytest.mark.parametrize(
    "text",
    [
        "- a\n\n- b\n\n- c\n\n- d\n",
        "- a\n\n  more\n\n  and more\n",
        "```\na\n\nb\n\nc\n\nd\n",
        "text\n~~~\na\n\nb\n\n```\n\nc\n",
        "    a\n\n    b\n\n    c\n",
        "- x\n ```\n\nlooks like text\n\nbut is code\n",
    ],
)
def test_open_block_is_not_cut(text):
    assert split_blocks(text) == (text,)


@pytest.mark.parametrize("head", ["", "```\n"])
@pytest.mark.parametrize("unit", ["x\n\ny\n", "word ", "- a\n\n", "a\n```\n\nx\n```\n", "\n", "> ```\n\na\n"])
def test_many_small_pieces_are_cut_in_time(head, unit):
    text = head + unit * (100_000 // len(unit))
    splitter = BlockSplitter()

    blocks = [*feed(splitter, text, 5), *splitter.finish()]

    assert "".join(blocks) == text
    assert len(blocks) < 2_300  # small ones are joined in the end
