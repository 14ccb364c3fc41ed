"""Which dollars and brackets are formulas, and which are money, prose or code; what formulas become in a page."""

from __future__ import annotations

import re
import time

import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from accounts.models import User
from chat.html import render_answer, render_markdown
from chat.html.dress import Dresser
from chat.html.mathml import ELEMENTS
from chat.html.tree import parse, serialize
from chat.models import Conversation
from reasoning.citations import Source
from tests.chat.test_html_markdown import words
from tests.chat.test_html_vectors import faults
from tests.factories import make_turn

MONEY = [
    "It fell from $5 and rose to $10.",
    "US$3.2 million (2023: US$2.1 million)",
    "between $100 and $200",
    "between $100 and 200$",
    "$5/$10",
    "$5-$10 per share",
    "$5–$6",
    "a price of $5 (or 4€) and 10$ in all",
    "$1,234.50 | $5,678.10",
    "| Revenue ($m) | Cost ($) |\n|---|---|\n| $ 5.0 | $ 6.0 |\n| $— | $(5.5) |",
    "Revenue ($m), Cost ($)",
    "($ in millions, except per-share data in $)",
    "HK$5 and A$6, or R$ 5.40",
    "$1 = R$ 5.40",
    "$1 = C$1.35",
    "10$ and 20$ and 30$",
    "**$5**–**$6**",
    "**$5**, **6$**",
    "$.50/$.75",
    "+$5M/-$3M",
    "$5 million in 2023, $4bn in 2022",
    "costs $5, see `echo 6$`",
    "[$5](https://www.sec.gov/) and 6$",
    "$AAPL, $MSFT and $GM",
    "$AAPL/$MSFT",
    "the $/€ rate and the $/£ rate",
    "$/€ vs €/$",
    "in $ thousands and $ millions",
    "$(5)/$(6) and $(5),$(6)",
    r"\$5 and \$6",
    r"$5 and \$6 and 7$",
    "$5\nand 6$",
    "from $HOME/bin:$PATH and ${A}${B}",
    "$k and m$",
    "rated $$ and $$$ here, $$ there",
    "$$ – cheap\n$$$ – dear",
    "costs $5 per user_id and 6$",
    "$10 $20 $30",
]
PROSE = [
    r"\[1\] and \[2, 3\]",
    r"\[sic\]",
    r"\[emphasis added\]",
    r"\[text\](https://www.sec.gov/)",
    r"\(unaudited\)",
    r"\(in millions\)",
    r"\(5\)",
    r"Item 5\(a\)",
    r"\\(x\\)",
    r"`$x$` and ``\(x\)``",
    "```\n$$\nx\n$$\n```",
    "    $$x$$",
    "$ x$ or $x $",
    "$$",
    "$$\n\n$$",
    "$$\nThis is said in many plain words\n\nand in more\n$$",
]
INLINE = [
    "$x$",
    "$E = mc^2$",
    "$2x + 3 = 7$",
    r"$100\%$",
    r"$3.5 \times 10^6$",
    "$WACC$",
    "$WACC_t$ is the rate",
    "$f(x)$, then",
    "$[0, 1)$",
    r"$P = \frac{\text{Net Income}}{n}$",
    r"$r_e = r_f + \beta (r_m - r_f)$",
    "($n$)",
    "**$a$**",
    "costs $5, where $x$ is 3",
    "up to $5 and $a_b$ and $c_d$",
    "$x$[1]",
    r"\(x\)",
    r"\( f(x) \)",
    r"\(a < b\)",
    "\\(a\n= b\\)",
    r"$\text{US\$} = 1$",
    "| a |\n|---|\n| $x^2$ |",
    "# About $x$",
    "[of $x$](https://www.sec.gov/)",
]
DISPLAYED = [
    "$$x$$",
    "$$ x = 1 $$",
    "$$\nx = 1\n$$",
    "In words:\n$$\nx = 1\n$$\nand more",
    "$$x\n= 1$$",
    "so $$x = 1$$ holds",
    r"\[ x = 1 \]",
    "\\[\nx = 1\n\\]",
    r"so \[x = 1\] holds",
    "- item\n\n  $$\n  x = 1\n  $$",
    "> $$\n> x = 1\n> $$",
    "$$\na = 1\n\n+ b\n$$",
    "$$\n\\begin{aligned}\na &= b \\\\\n\nc &= d\n\\end{aligned}\n$$",
]


def maths(html):
    return re.findall(r"<math.*?</math>", html, re.DOTALL)


@pytest.mark.parametrize("text", [*MONEY, *PROSE])
def test_money_and_prose_are_no_formulas(text):
    assert maths(render_markdown(text)) == []


def test_money_keeps_every_sign():
    texts = [text for text in MONEY if "|" not in text and "\\" not in text]

    assert {text for text in texts if words(render_markdown(text)).count("$") != text.count("$")} == set()


@pytest.mark.parametrize("text", INLINE)
def test_formula_in_a_line_stays_in_it(text):
    found = maths(render_markdown(text))

    assert found
    assert all('display="inline"' in one for one in found)
    assert "$" not in "".join(found).replace("<mtext>US$</mtext>", "")


@pytest.mark.parametrize("text", DISPLAYED)
def test_formula_by_itself_is_shown_in_a_box_that_scrolls(text):
    html = render_markdown(text)

    assert len(maths(html)) == 1
    assert (
        '<span class="scroll formula" tabindex="0" role="group" aria-label="Formula"><math display="block" dir="ltr">'
        in html
    )
    assert "$" not in words(html)


@pytest.mark.parametrize("text", ["Let $x$ be [1] and $a[1]$ more [1]", r"$\text{see [1]}$ [1]"])
def test_marker_in_a_formula_is_no_source(text):
    source = Source(1, "10-K", "N", None, None, "Item 7", "#p1", "/filings/1/#p1", "words", "words")

    html = render_answer(text, [], [source])

    assert html.count("data-citation") == text.count(" [1]") - ("see" in text)
    assert not any("<a" in one for one in maths(html))


def test_long_formula_in_a_line_can_scroll_where_the_line_is_short():
    html = render_markdown(f"a ${' + '.join('x' * 12)}$ b, ${' + '.join('x' * 40)}$ c")

    assert re.findall(r'<span class="([^"]*)"', html) == ["scroll formula--long", "scroll formula"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (r"a $\foo{x}$ b", r"<code>$\foo{x}$</code>"),
        (r"a \(\foo < 1\) b", r"<code>\(\foo &lt; 1\)</code>"),
        (r"a $$\foo$$ b", r"<code>$$\foo$$</code>"),
        ("$$\n\\foo &\n$$", "<code>$$\n\\foo &amp;\n$$</code>"),
        (r"\[\begin{tikzcd}x\end{tikzcd}\]", r"<code>\[\begin{tikzcd}x\end{tikzcd}\]</code>"),
        (r"$\frac{1$", r"<code>$\frac{1$</code>"),
        (r"$x_{a}_{b}$", r"<code>$x_{a}_{b}$</code>"),
    ],
)
def test_what_cannot_be_read_is_shown_as_its_source(text, shown):
    html = render_markdown(text)

    assert shown in html
    assert maths(html) == []


def test_formula_in_an_image_is_among_its_words():
    assert words(render_markdown("![of $x^2$](https://x.example/p.png)")).strip() == "[image: of $x^2$, x.example]"


def test_many_formulas_of_a_block_are_shown_as_source_in_the_end():
    html = render_markdown("$a^2+b_1$ " * 3_000)

    assert 200 < len(maths(html)) < 2_000
    assert len(maths(html)) + html.count("<code>$a^2+b_1$</code>") == 3_000


def test_page_holds_mathml_in_formulas_only_and_nothing_else_there():
    forged = "<p><mi>a</mi><math><mtext><em>b</em></mtext><p><mi>c</mi></p></math></p>"
    allowed = {tag: frozenset() for tag in [*ELEMENTS, "p", "em"]}

    html = serialize(Dresser().children(parse(forged, allowed)))

    assert html == '<p dir="auto">a<math dir="ltr"><mtext>b</mtext><mi>c</mi></math></p>'


@pytest.mark.django_db
def test_page_shows_the_formula_and_copies_are_given_its_source(alice: User) -> None:
    answer = "So $x^2$ for $5:\n\n$$\n\\frac{a}{b}\n$$"
    turn = make_turn(Conversation.objects.create(owner=alice), answer=answer)
    client = Client()
    client.force_login(alice)
    base = turn.conversation.get_absolute_url()

    page, copied, exported = (client.get(f"{base}{path}").text for path in ("", f"turns/{turn.pk}/copy/", "export/"))

    assert [one.count("<mi>") for one in maths(page)] == [1, 2]
    assert copied == answer
    assert answer in exported


pieces = st.lists(
    st.one_of(
        st.text(max_size=12),
        st.sampled_from(
            ["$", "$$", r"\(", r"\)", r"\[", r"\]", "\n", "\n\n", "x_1", r"\frac", "{", "}", "=", "5", " "]
        ),
        st.sampled_from(
            [r"\text{<img src=x onerror=alert(1)>}", r"\href{javascript:alert(1)}{x}", r"\begin{matrix}", "&"]
        ),
        st.sampled_from(
            [r"\end{matrix}", r"\unicode{x3c}", r"\verb|<script>|", r"\style{a}{b}", "<script>", r"\left("]
        ),
    ),
    max_size=14,
).map("".join)


@settings(max_examples=300, deadline=None)
@given(pieces, st.sampled_from(["{}", "${}$", "$$\n{}\n$$", r"\({}\)", r"\[x={}\]"]))
def test_any_text_gives_listed_markup_only(text, frame):
    assert not list(faults(render_markdown(frame.replace("{}", text))))


@pytest.mark.parametrize(
    "unit", ["$", "$a ", "$$", "$$ a\n", "$$\n\na\n", r"\(", r"\[ ", r"$\foo$ ", "$x$ ", "\\[\n", "$$\n"]
)
def test_cost_of_hostile_marks_is_linear(unit):
    short, long = (timed(unit * (size // len(unit))) for size in (15_000, 60_000))

    assert long < 12 * short + 0.5


def timed(text):
    start = time.process_time()
    render_markdown(text + str(time.perf_counter_ns()))  # never one that is remembered
    return time.process_time() - start
