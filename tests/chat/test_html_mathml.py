"""One formula: what it becomes, what is refused, and that no text costs more than a moment."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat.html.mathml import ELEMENTS, MAX_CHARS, to_mathml
from chat.html.sanitize import sanitize_html
from tests.chat.test_html_vectors import faults, read

ROOT = Path(__file__).resolve().parents[2]
KNOWN = r"""
\frac \sqrt \text{ \mbox{ \href{ \verb| \def\a{ \a \newcommand \left( \right) \begin{matrix} \end{matrix} \over \color
\class{ \style{ \unicode{ \hspace{ \rule{ \raise \operatorname{ \mathbf \phantom{ \not \begin{aligned} \end{aligned} \\
& _ ^ ' { } [ ] | % # ~ < > \& \{ x 12 , 1,234
"""
COMMANDS = KNOWN.split()


def inside(tex, *, is_display=False):
    """Return what is in the formula's row."""
    found = re.fullmatch(r'<math display="\w+"><mrow>(.*)</mrow></math>', to_mathml(tex, is_display=is_display) or "")
    return found and found[1]


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
    ],
)
def test_formula_becomes_mathml(tex, mathml):
    assert inside(tex) == mathml


def test_rows_are_a_table_with_or_without_an_environment():
    rows = inside(r"a &= b \\ c &= d", is_display=True)

    assert rows == inside(r"\begin{aligned} a &= b \\ c &= d \end{aligned}", is_display=True)
    assert re.findall(r"<(mt[a-z]+)", rows) == ["mtable", "mtr", "mtd", "mtd", "mtr", "mtd", "mtd"]
    assert inside(r"a \\ b").count("<mtr>") == 2


def test_limit_stands_below_only_where_the_formula_stands_by_itself():
    assert "<munder><mo>lim</mo>" in inside(r"\lim_{x \to 0} x", is_display=True)
    assert "<msub><mo>lim</mo>" in inside(r"\lim_{x \to 0} x")


@pytest.mark.parametrize(
    "tex",
    [
        "",
        "x^",
        "{",
        "}",
        "a & b",
        r"\foo",
        r"\left(",
        r"\right)",
        r"\left\foo x\right)",
        r"\begin{tikzcd}x\end{tikzcd}",
        r"\begin{matrix}x",
        r"\text{a \textbf{b} c}",
        r"\href{javascript:alert(1)}{x}",
        r"\class{card}{x}",
        r"\style{position:fixed}{x}",
        r"\phantom{x}",
        r"\def\a{\b\b}\def\b{\c\c}\a",
        r"\newcommand{\a}{x}\a",
        r"\newenvironment{a}{x}{y}",
        r"\DeclareMathOperator{\a}{x}",
        "{" * 21 + "x" + "}" * 21,
        r"\sqrt" * 100 + "x",
        "x" * (MAX_CHARS + 1),
        "x+" * 900,
        "x" * 100_000,
    ],
)
def test_what_is_not_known_or_too_much_is_refused(tex):
    start = time.process_time()

    assert to_mathml(tex, is_display=True) is None
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    "tex", [r"\hspace{9999em}x", r"\rule{99em}{99em}x", r"\raise{9em}{x}", r"x\!\!\!y", r"\Huge x"]
)
def test_nothing_lays_a_formula_over_what_is_beside_it(tex):
    attributes = {name: value for _, attrs in read(to_mathml(tex, is_display=False)) for name, value in attrs.items()}

    assert attributes.keys() <= {"display"}


@pytest.mark.parametrize("engine", ["bleach", "nh3"])
def test_sanitizer_keeps_what_is_listed_and_no_more(engine):
    made = to_mathml(
        r"\begin{cases} \frac{a}{b} & \text{if } x < 1 \\ \boxed{c} & \sqrt[3]{d} \end{cases}", is_display=True
    )
    forged = '<math><maction actiontype="toggle"><mi onclick="a" style="b" href="#">x</mi></maction></math>'

    assert sanitize_html(made, engine=engine).replace("&nbsp;", "\u00a0") == made
    assert sanitize_html(forged, engine=engine) == "<math><mi>x</mi></math>"


def test_no_element_or_attribute_that_acts_is_listed():
    names = {*ELEMENTS, *(name for values in ELEMENTS.values() for name in values)}

    assert names.isdisjoint(
        {"annotation-xml", "semantics", "maction", "mglyph", "malignmark", "href", "style", "class", "id"}
    )


@settings(max_examples=400, deadline=2_000)
@given(
    st.lists(st.one_of(st.sampled_from([*COMMANDS, " "]), st.text(max_size=6)), max_size=60).map("".join), st.booleans()
)
def test_any_text_is_listed_markup_or_nothing_at_once(tex, is_display):
    assert not list(faults(to_mathml(tex, is_display=is_display) or ""))


@pytest.mark.parametrize(
    "unit", [*COMMANDS, r"\text", r"\not\\", r"\operatorname{ ", r"\mathbf{a}", "-1.", "a_1^2", "x^x_"]
)
def test_longest_formula_of_any_kind_takes_a_moment(unit):
    start = time.process_time()

    to_mathml((unit * MAX_CHARS)[:MAX_CHARS], is_display=True)
    to_mathml("{" * 18 + unit * 80 + "}" * 18, is_display=True)

    assert time.process_time() - start < 2


def test_library_is_loaded_by_a_formula_only():
    program = """if True:
        import sys, django
        django.setup()
        from chat.html import render_markdown
        render_markdown("It fell from $5 to $4, *and* more.")
        before = "latex2mathml" in sys.modules
        render_markdown("$x$")
        print(before, "latex2mathml" in sys.modules)
    """
    environment = {"DJANGO_SETTINGS_MODULE": "tests.settings", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", program]

    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603

    assert done.stdout.split() == ["False", "True"]
