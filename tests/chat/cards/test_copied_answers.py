"""Copy and export: the answer's own text, with its citation marks under the numbers that the page shows."""

from dataclasses import replace

import pytest
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from chat import eventlog
from chat.html import render_answer, renumber_citations
from reasoning.citations import Citation, citation_to_json
from reasoning.events import AssistantMessage
from tests.chat.shared_talk import CITED, unzipped
from tests.factories import client_of, make_conversation, open_turn

NUMBERS = {3: 1, 5: 2}
PIECES = """
    [3]|[5, 3]|[3][5]|[9]|[3, 9]|[2024]|\\[3]|`|``|```|~~~|$|$$|\\(|\\)|\\[|\\]|[|]|(|)|](|](https://a.example/|![|<|>|<!--|-->
    <code>|</code>|<a href="|">|https://a.example/x|www.a.example|&#91;|*|**|_|~~|:|-|--|x|items|a=b|1.|#|é|。|"|“|”|/|\\
""".replace("\n", "").replace("    ", "|")
LINES = [
    "\n",
    "\n\n",
    "\r\n",
    "\n    ",
    "\n\t",
    "\n> ",
    "\n- ",
    "\n1. ",
    "\n# ",
    "\n| ",
    " | ",
    "\n|-|-|\n",
    "\n```\n",
    " ",
]
markdown = st.lists(st.sampled_from([*filter(None, PIECES.split("|")), *LINES]), max_size=30).map("".join)


def cited(ref: int, number: int) -> Citation:
    """Return a citation with a number of its own of the source that an answer cites as ``ref``."""
    return replace(CITED, ref=number, url=f"/filings/n/#p{ref}", quote=None, verified=None)


def downloads(owner, text, citations=(CITED,)):
    """Store an answer; return what Copy, the Markdown export and the ZIP file make of it."""
    conversation = make_conversation(owner=owner, title="Debt")
    turn = open_turn(conversation.pk, text="Why?")
    answer = AssistantMessage(text=text, citations=tuple(map(citation_to_json, citations)), step=0)
    eventlog.close_turn(turn, [answer], status="completed")
    client, base = client_of(owner), conversation.get_absolute_url()
    files = unzipped(client.get(reverse("chat:export_all")))
    [zipped] = [content for name, content in files.items() if name.endswith(".md")]
    return (
        client.get(f"{base}turns/{turn.pk}/copy/").content.decode(),
        client.get(f"{base}export/?format=md").content.decode(),
        zipped,
    )


CODE = """```python
for i in [0, 1, 2]:
    print({"k": [1, 2]}, a[1,2], items[7])
```

    indented[7]

and `np.zeros([2, 3])[7]`"""
PROSE = r"Interval [1, 5], year [2024], matrix $a[7] = [1, 2]$, \[7], https://a.example/x[7]?y[1]=2, ![a [7]](b)"


@pytest.mark.parametrize("text", [CODE, PROSE, f"{PROSE}\r\n\r\n{CODE}"])
@pytest.mark.parametrize("citations", [(), (CITED,)])
def test_code_formulas_addresses_and_prose_leave_as_they_were_written(alice, text, citations):
    copied, *files = downloads(alice, text, citations)

    assert copied.startswith(text)
    assert citations or copied == text
    assert all(text in file for file in files)


def test_marks_have_the_numbers_of_the_sources_below(alice):
    citations = (CITED, replace(CITED, ref=2, anchor="#p2", url="/filings/n/#p2"))

    copied, *files = downloads(
        alice, "It fell [7], `x[7]`; so it says [2, 7].\n\n| a [7] | `[7]` [2] |\n|-|-|", citations
    )

    text = "It fell [1], `x[7]`; so it says [2, 1].\n\n| a [1] | `[7]` [2] |\n|-|-|"
    assert copied.startswith(f"{text}\n\n[1] 10-K · ")
    assert all(text in file for file in files)


@given(markdown)
def test_text_without_citations_stays_as_it_is(text):
    assert renumber_citations(text, {}) == text


@given(markdown)
def test_page_of_the_copied_text_is_the_page_of_the_answer(text):
    copied = renumber_citations(text, NUMBERS)

    page = render_answer(text, [cited(ref, ref) for ref in NUMBERS], numbers=NUMBERS)
    page_of_copied = render_answer(copied, [cited(ref, number) for ref, number in NUMBERS.items()])

    # A mark that the copy left out, or one too many, would lead elsewhere or be another text.
    assert page_of_copied == page


@given(markdown)
def test_only_numbers_of_sources_change(text):
    copied = renumber_citations(text, NUMBERS)

    assert copied.translate({ord("1"): "3", ord("2"): "5"}) == text.translate({ord("1"): "3", ord("2"): "5"})


@pytest.mark.parametrize("text", ["`x[3]` [3] " * 20_000, "> " * 300 + "`x[3]` [3]", "- " * 300 + "`x[3]` [3]\n" * 400])
def test_text_beyond_what_is_rendered_keeps_its_code(text):
    assert renumber_citations(text, NUMBERS) == text.replace(" [3]", " [1]")


@pytest.mark.parametrize(
    "text", ["[3", "[[3]", "<a [3]", "<!-- [3]", "<code>[3]", "https://a.b[3]", "[3] `", "\\([3]", "* [3] _"]
)
def test_hostile_text_takes_bounded_time(text):
    assert len(renumber_citations(text * 30_000, NUMBERS)) == len(text) * 30_000
