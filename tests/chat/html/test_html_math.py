"""Which dollars and brackets are formulas, which are money, prose or code; the MathML that formulas become."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.html import render_answer, render_markdown
from chat.html.math import MAX_TEX_CHARS, to_mathml
from reasoning.citations import Source
from tests.chat.html_reader import faults, read, words

KNOWN = r"""
\frac \sqrt \text{ \mbox{ \href{ \verb| \def\a{ \a \newcommand \left( \right) \begin{matrix} \end{matrix} \over \color
\class{ \style{ \unicode{ \hspace{ \rule{ \raise \operatorname{ \mathbf \phantom{ \not \begin{aligned} \end{aligned} \\
& _ ^ ' { } [ ] | % # ~ < > \& \{ x 12 , 1,234
"""
COMMANDS = KNOWN.split()


def split(texts: str) -> list[str]:
    """Return the texts of several lines, separated by line ends or broken bars."""
    return re.split(" ¦ |\n", texts.strip("\n"))


MONEY = split(r"""
It fell from $5 and rose to $10. ¦ US$3.2 million (2023: US$2.1 million) ¦ between $100 and $200
between $100 and 200$ ¦ $5/$10 ¦ $5-$10 per share ¦ $5–$6 ¦ a price of $5 (or 4€) and 10$ in all
$1,234.50 | $5,678.10 ¦ Revenue ($m), Cost ($) ¦ ($ in millions, except per-share data in $)
HK$5 and A$6, or R$ 5.40 ¦ $1 = R$ 5.40 ¦ $1 = C$1.35 ¦ 10$ and 20$ and 30$ ¦ **$5**–**$6** ¦ **$5**, **6$**
$.50/$.75 ¦ +$5M/-$3M ¦ $5 million in 2023, $4bn in 2022 ¦ costs $5, see `echo 6$`
[$5](https://www.sec.gov/) and 6$ ¦ $AAPL, $MSFT and $GM ¦ $AAPL/$MSFT ¦ the $/€ rate and the $/£ rate
$/€ vs €/$ ¦ in $ thousands and $ millions ¦ $(5)/$(6) and $(5),$(6) ¦ \$5 and \$6 ¦ $5 and \$6 and 7$
from $HOME/bin:$PATH and ${A}${B} ¦ $k and m$ ¦ rated $$ and $$$ here, $$ there ¦ costs $5 per user_id and 6$
$10 $20 $30 ¦ 从$5涨到$10。 ¦ 约$5，花5$左右 ¦ 价格$5到10$之间 ¦ 用$变量和$其他 ¦ €5和$6与£7$
""")
MONEY += [
    "| Revenue ($m) | Cost ($) |\n|---|---|\n| $ 5.0 | $ 6.0 |\n| $— | $(5.5) |",
    "$5\nand 6$",
    "$$ – cheap\n$$$ – dear",
]
PROSE = split(r"""
\[1\] and \[2, 3\] ¦ \[sic\] ¦ \[emphasis added\] ¦ \[text\](https://www.sec.gov/) ¦ \(unaudited\)
\(in millions\) ¦ \(5\) ¦ Item 5\(a\) ¦ f\(x\) and print\(a = b\)
\\(x\\) ¦ `$x$` and ``\(x\)`` ¦     $$x$$ ¦ $ x$ or $x $ ¦ $$
""")
PROSE += ["```\n$$\nx\n$$\n```", "$$\n\n$$", "$$\nThis is said in many plain words\n\nand in more\n$$"]
INLINE = split(r"""
$x$ ¦ $E = mc^2$ ¦ $2x + 3 = 7$ ¦ $100\%$ ¦ $3.5 \times 10^6$ ¦ $WACC$ ¦ $WACC_t$ is the rate ¦ $f(x)$, then
$[0, 1)$ ¦ $P = \frac{\text{Net Income}}{n}$ ¦ $r_e = r_f + \beta (r_m - r_f)$ ¦ ($n$) ¦ **$a$**
costs $5, where $x$ is 3 ¦ up to $5 and $a_b$ and $c_d$ ¦ $x$[1] ¦ \(x\) ¦ \( f(x) \) ¦ \(a < b\)
$\text{US\$} = 1$ ¦ # About $x$ ¦ [of $x$](https://www.sec.gov/)
所以\(a+b\)等于 ¦ 所以$a+b$等于 ¦ ดังนั้น$x$คือ ¦ 그래서$x$는 ¦ x\(y\)z ¦ \(5.2\%\) ¦ \(e=5.2\frac{\text{\$}}{€}\)
""")
INLINE += ["\\(a\n= b\\)", "| a |\n|---|\n| $x^2$ |"]
DISPLAYED = split(r"""
$$x$$ ¦ $$ x = 1 $$ ¦ so $$x = 1$$ holds ¦ \[ x = 1 \] ¦ so \[x = 1\] holds
""")
DISPLAYED += [
    "$$\nx = 1\n$$",
    "In words:\n$$\nx = 1\n$$\nand more",
    "$$x\n= 1$$",
    "\\[\nx = 1\n\\]",
    "\\begin{align}\na &= b \\\\\nc &= d\n\\end{align}",
    "In words: \\begin{pmatrix}a\\\\b\\end{pmatrix} is it",
    "- item\n\n  $$\n  x = 1\n  $$",
    "> $$\n> x = 1\n> $$",
    "$$\na = 1\n\n+ b\n$$",
    "$$\n\\begin{aligned}\na &= b \\\\\n\nc &= d\n\\end{aligned}\n$$",
]


REFUSED = split(r"""
x^ ¦ { ¦ } ¦ a & b ¦ \foo ¦ \left( ¦ \right) ¦ \left\foo x\right) ¦ \begin{tikzcd}x\end{tikzcd}
\begin{matrix}x ¦ \text{a \textbf{b} c} ¦ \href{javascript:alert(1)}{x} ¦ \class{card}{x}
\style{position:fixed}{x} ¦ \phantom{x} ¦ \def\a{\b\b}\def\b{\c\c}\a ¦ \newcommand{\a}{x}\a
\newenvironment{a}{x}{y} ¦ \DeclareMathOperator{\a}{x}
""")
REFUSED += ["", "{" * 21 + "x" + "}" * 21, r"\sqrt" * 100 + "x", "x" * (MAX_TEX_CHARS + 1), "x+" * 900, "x" * 100_000]


def maths(html):
    return re.findall(r"<math.*?</math>", re.sub("<annotation.*?</annotation>", "", html, flags=re.DOTALL), re.DOTALL)


@pytest.mark.parametrize("text", [*MONEY, *PROSE])
def test_money_and_prose_are_no_formulas(text):
    assert maths(render_markdown(text)) == []


@pytest.mark.parametrize("text", INLINE)
def test_formula_in_a_line_stays_in_it(text):
    found = maths(render_markdown(text))

    assert found
    assert all('display="inline"' in one for one in found)
    assert "$" not in re.sub(r"<mtext>(?:US)?\$</mtext>", "", "".join(found))


@pytest.mark.parametrize("text", DISPLAYED)
def test_formula_by_itself_is_shown_in_a_box_that_scrolls(text):
    html = render_markdown(text)

    assert len(maths(html)) == 1
    assert (
        '<span class="scroll formula" tabindex="0" role="group" aria-label="Formula"><math display="block" dir="ltr">'
        in html
    )
    assert "$" not in words(html)


def test_formula_carries_its_source():
    assert '<annotation encoding="application/x-tex">a &lt; \\frac{1}{b}</annotation></semantics></math>' in (
        render_markdown(r"so \( a < \frac{1}{b} \) holds")
    )


@pytest.mark.parametrize("text", ["Let $x$ be [1] and $a[1]$ more [1]", r"$\text{see [1]}$ [1]"])
def test_marker_in_a_formula_is_no_source(text):
    source = Source(1, "filing", "10-K", "N", None, None, "Item 7", "#p1", "/filings/1/#p1", "words", "words")

    html = render_answer(text, [], [source])

    assert html.count("data-citation") == text.count(" [1]") - ("see" in text)
    assert not any("<a" in one for one in maths(html))


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


def inside(tex, *, is_display=False):
    """Return what is in the formula's row."""
    html = render_markdown(f"$${tex}$$" if is_display else rf"\({tex} <1\)")
    return re.search(r"<mrow>(.*)</mrow><annotation", html)[1].removesuffix("<mo>&lt;</mo><mn>1</mn>")


@pytest.mark.parametrize(
    ("tex", "mathml"),
    [
        ("x^2", "<msup><mi>x</mi><mn>2</mn></msup>"),
        (r"a \pm b", "<mi>a</mi><mo>±</mo><mi>b</mi>"),
        (r"\infty", "<mi>∞</mi>"),
        ("a<b", "<mi>a</mi><mo>&lt;</mo><mi>b</mi>"),
        ("1,234,567.89", "<mn>1,234,567.89</mn>"),
        ("1{,}234", "<mn>1,234</mn>"),
        ("1,2", "<mn>1</mn><mo>,</mo><mn>2</mn>"),
        ("12345,678", "<mn>12345</mn><mo>,</mo><mn>678</mn>"),
        (r"5\%", "<mn>5</mn><mi>%</mi>"),
        (r"\text{R\&D <b> \$5}", "<mtext>R&amp;D\u00a0&lt;b&gt;\u00a0$5</mtext>"),
        (r"\mathbf{AB}", '<mrow><mi mathvariant="bold">A</mi><mi mathvariant="bold">B</mi></mrow>'),
        (r"\unicode{x3c}", "<mo>&lt;</mo>"),
        (r"\begin{equation}x\end{equation}", "<mi>x</mi>"),
        (r"\lim_x y", "<msub><mo>lim</mo><mi>x</mi></msub><mi>y</mi>"),
    ],
)
def test_formula_becomes_mathml(tex, mathml):
    assert inside(tex) == mathml


@pytest.mark.parametrize("tex", REFUSED)
def test_what_is_not_known_or_too_much_is_refused(tex):
    assert to_mathml(tex, is_display=True) is None


@pytest.mark.parametrize(
    "tex", [r"\hspace{9999em}x", r"\rule{99em}{99em}x", r"\raise{9em}{x}", r"x\!\!\!y", r"\Huge x"]
)
def test_formula_never_covers_neighbouring_text(tex):
    attributes = {name for _, attrs in read(render_markdown(rf"\({tex} <1\)")) for name in attrs}

    assert attributes == {"dir", "display", "encoding"}


@given(
    st.lists(st.one_of(st.sampled_from([*COMMANDS, " "]), st.text(max_size=6)), max_size=60).map("".join), st.booleans()
)
def test_any_formula_gives_listed_markup_only(tex, is_display):
    assert not list(faults(render_markdown(f"$${tex}$$" if is_display else rf"\(x= {tex}\)")))


@pytest.mark.parametrize("unit", [*COMMANDS, r"\not\\", r"\operatorname{ ", r"\mathbf{a}", "-1.", "a_1^2", "x^x_"])
def test_longest_formula_of_any_kind_is_converted_or_refused_in_time(unit):
    for tex in ((unit * MAX_TEX_CHARS)[:MAX_TEX_CHARS], "{" * 18 + unit * 80 + "}" * 18):
        assert (to_mathml(tex, is_display=True) or "<math").startswith("<math")
