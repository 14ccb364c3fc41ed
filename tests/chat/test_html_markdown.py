"""What markdown becomes: structure, code, tables, text direction, and what happens when it is too much."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.utils import translation
from django.utils.safestring import SafeString
from hypothesis import given, settings
from hypothesis import strategies as st

from chat.html import arender, render_markdown
from chat.html.postprocess import HIGHLIGHT_CLASSES
from tests.chat.html_reader import faults, read, render_seconds, tags, words
from tests.chat.xss_vectors import MARKUP

STYLES = Path(__file__).resolve().parents[2] / "static" / "css" / "chat.css"

HOSTILE = ["[", "![", "*a **b ", "`", "> ", "- a\n\n", "&", "|a", "“", "(\"'", "<http://a> ", "~~~\n\nx\n\n"]
HOSTILE += ["$", "$a ", "$$", "$$ a\n", "$$\n\na\n", r"\(", r"\[ ", r"$\foo$ ", "$x$ ", "\\[\n", "$$\n"]


def test_result_is_safe_string():
    assert isinstance(render_markdown("x"), SafeString)


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("a *b* **c** ~~d~~ `e`", "<p>a <em>b</em> <strong>c</strong> <s>d</s> <code>e</code></p>"),
        ("# A", "<h3>A</h3>"),
        ("## A", "<h4>A</h4>"),
        ("A\n---", "<h4>A</h4>"),
        ("###### A", "<h6>A</h6>"),
        ("- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>"),
        ("3. a", '<ol start="3">\n<li>a</li>\n</ol>'),
        ("> a", "<blockquote>\n<p>a</p>\n</blockquote>"),
        ("a  \nb", "<p>a<br>\nb</p>"),
        ("---", "<hr>"),
        ("<b>a</b> & <query>", "<p>&lt;b&gt;a&lt;/b&gt; &amp; &lt;query&gt;</p>"),
        ("AAPL.com and foo.py", "<p>AAPL.com and foo.py</p>"),
        ("[a]: https://x.example/\n\n[a]", "<p>[a]: https://x.example/</p>\n<p>[a]</p>"),
        ("", ""),
        (" \n\n", ""),
    ],
)
def test_markdown_becomes_plain_structure(markdown, html):
    assert render_markdown(markdown).replace(' dir="auto"', "").strip() == html


def test_blocks_take_the_direction_of_their_words():
    html = render_markdown("שלום\n\n- hi\n\n> hi\n\n### שלום")

    assert all(attrs["dir"] == "auto" for _, attrs in read(html))


@pytest.mark.parametrize("text", ["- مرحبا\n- hi", "1. (12) שלום", "> שלום", "|שלום|\n|-|\n|a|"])
def test_what_right_to_left_words_stand_in_runs_that_way(text):
    frames = [attrs["dir"] for tag, attrs in read(render_markdown(text)) if tag in ("ul", "ol", "blockquote", "table")]

    assert frames == ["rtl"]


def test_control_characters_and_lone_surrogates_are_replaced():
    assert words(render_markdown("a\x00b\x1bc\ud800d\ufffee")).strip() == "a\ufffdb\ufffdc\ufffdd\ufffde"


class TestCode:
    def test_fence_is_figure_with_caption_and_copy_button(self):
        html = render_markdown("```python\nx = 1\n```")

        assert tags(html)[:5] == ["figure", "figcaption", "button", "pre", "code"]
        assert ("button", {"type": "button", "class": "btn btn--quiet", "data-copy-code": ""}) in read(html)
        assert "<figcaption>Python <button" in html
        assert '<pre tabindex="0"><code>' in html

    def test_code_is_highlighted_by_classes_alone(self):
        html = render_markdown('```python\ndef f(x):\n    return "s"  # c\n```')

        assert '<span class="k">def</span>' in html
        assert '<span class="c"># c</span>' in html
        assert "style" not in html

    @pytest.mark.parametrize("language", ["python", "js", "json", "sql", "diff", "html", "yaml", "nonsense", ""])
    def test_highlighting_keeps_every_character(self, language):
        code = "\n\n  <a b='c'>\t&amp; \"x\" # y -- z\n+ 1\n- 2\n\n"

        html = render_markdown(f"```{language}\n{code}```")

        assert words(html[html.index("<pre") :]).strip("\n") == code.strip("\n")

    def test_last_line_is_highlighted_as_the_others(self):
        html = render_markdown("```diff\n- a\n+ b\n```")

        assert '<span class="gd">- a</span>\n<span class="gi">+ b</span></code>' in html

    def test_unknown_language_is_named_but_not_run(self):
        html = render_markdown("```brainfuck\n+++\n```")

        assert "<figcaption>brainfuck <button" in html
        assert "<span" not in html

    def test_long_code_is_not_highlighted(self):
        assert "<span" not in render_markdown("```python\n" + "x = 1\n" * 3000 + "```")

    def test_indented_code_is_code(self):
        assert "<figcaption>Code <button" in render_markdown("    x\n")

    def test_every_class_has_a_colour_that_reads(self):
        rules = dict(re.findall(r"\.code \.(\w+) \{ color: (light-dark\([^)]*\))", STYLES.read_text()))

        assert rules.keys() == HIGHLIGHT_CLASSES
        for rule in rules.values():
            light, dark = re.findall(r"#[0-9a-f]{6}", rule)
            assert contrast(light, "#f4f4ef") >= 4.5
            assert contrast(dark, "#191b17") >= 4.5


class TestTables:
    TABLE = "| Test | Limit | Note |\n|---|---|---|\n| A | ≥ 1.20 [1] | x |\n| B | $(5.5) | |\n| C | — | 3 |"

    def test_table_scrolls_in_a_named_region(self):
        region = read(render_markdown(self.TABLE))[0]

        assert region == (
            "div",
            {"class": "scroll", "tabindex": "0", "role": "region", "aria-label": "Table: Test, Limit, Note"},
        )

    def test_numeric_column_is_marked_with_its_head(self):
        cells = [(tag, attrs.get("class")) for tag, attrs in read(render_markdown(self.TABLE)) if tag in ("th", "td")]

        assert cells == [("th", None), ("th", "n"), ("th", None)] + [("td", None), ("td", "n"), ("td", None)] * 3

    @pytest.mark.parametrize("value", ["1", "-1.5", "(3.4)", "$1,234.50", "12 %", "1.3x", "€5bn", "−7", "+2 bps", "~5"])
    def test_figures_are_numbers(self, value):
        assert 'class="n"' in render_markdown(f"|a|\n|-|\n|{value}|")

    @pytest.mark.parametrize("value", ["Item 7", "2024-11-01", "10-K", "a1", "1 and 2", "-", ""])
    def test_other_cells_are_not(self, value):
        assert 'class="n"' not in render_markdown(f"|a|\n|-|\n|{value}|")

    def test_right_to_left_cell_says_so(self):
        assert '<td dir="auto">שלום</td>' in render_markdown("|a|\n|-|\n|שלום|")


class TestImages:
    @pytest.mark.parametrize(
        ("markdown", "text"),
        [
            ("![a chart](https://x.example/p.png)", "[image: a chart, x.example]"),
            ("![](https://x.example/p.png)", "[image: x.example]"),
            ("![a chart](data:image/png;base64,x)", "[image: a chart]"),
            ("![](/logout)", "[image]"),
            ("![a *b* `c`](x.png)", "[image: a b c]"),
        ],
    )
    def test_image_is_text(self, markdown, text):
        html = render_markdown(markdown)

        assert words(html).strip() == text
        assert tags(html) == ["p"]


class TestTooMuch:
    def test_block_over_the_limit_is_plain(self):
        html = render_markdown("*word* " * 20_000)

        assert html.startswith('<p class="plain" dir="auto">*word* *word*')

    def test_long_fence_is_plain_in_a_box(self):
        html = render_markdown("```\n" + "<x>\n\n" * 20_000 + "```\n\n*after*\n")

        assert tags(html) == ["pre", "code", "p", "em"]

    def test_other_blocks_of_a_long_answer_are_rendered(self):
        html = render_markdown("*a*\n\n" + "word " * 20_000 + "\n\n*b*\n")

        assert [tag for tag in tags(html) if tag == "em"] == ["em", "em"]

    @pytest.mark.parametrize(
        "text", ["> " * 40 + "deep", "".join("  " * n + "- a\n" for n in range(30)), "|a|b\n|-|-\n" + "|\n" * 9000]
    )
    def test_too_deep_or_dense_block_loses_no_words(self, text):
        assert words(render_markdown(text)).split() == text.split()

    def test_deep_emphasis_is_flattened(self):
        html = render_markdown("*" * 400 + "x" + "*" * 400)

        assert tags(html).count("strong") <= 6
        assert "x" in words(html)

    @pytest.mark.slow
    @pytest.mark.parametrize("unit", HOSTILE)
    def test_cost_of_a_hostile_answer_is_linear(self, unit):
        short, long = (render_seconds(unit * (size // len(unit))) for size in (60_000, 240_000))

        assert long < 12 * short + 0.5


def test_no_failure_is_raised(monkeypatch, caplog):
    monkeypatch.setattr("chat.html.render.sanitize_html", lambda html: 1 / 0)

    html = render_markdown("*a* <b> secret words, never rendered before")

    assert html == '<p class="plain" dir="auto">*a* &lt;b&gt; secret words, never rendered before</p>\n'
    assert "ZeroDivisionError" in caplog.text
    assert "secret" not in caplog.text


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(st.text(max_size=30), st.sampled_from(MARKUP)), max_size=6).map("\n".join))
def test_any_text_renders_within_the_allow_list(text):
    html = render_markdown(text)

    assert not list(faults(html))
    html.encode()


def test_strings_follow_the_language():
    with translation.override("de"):
        german = render_markdown("```\nx\n```")

    assert "Kopieren" in german
    assert "Copy" in render_markdown("```\nx\n```")


async def test_rendering_off_the_loop_gives_the_same():
    assert await arender(render_markdown, "*a*") == render_markdown("*a*")


def contrast(one, other):
    low, high = sorted(luminance(colour) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def luminance(colour):
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
