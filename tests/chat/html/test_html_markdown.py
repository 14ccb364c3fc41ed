"""What markdown becomes: structure, code, tables, text direction, and what happens when it is too much."""

import pytest
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from chat.html import render_markdown
from tests.chat.html_reader import faults, read, tags, words
from tests.chat.xss_vectors import MARKUP

HOSTILE = ["[", "![", "*a **b ", "`", "> ", "- a\n\n", "&", "|a", "“", "(\"'", "<http://a> ", "~~~\n\nx\n\n"]
HOSTILE += ["$", "$a ", "$$", "$$ a\n", "$$\n\na\n", r"\(", r"\[ ", r"$\foo$ ", "$x$ ", "\\[\n", "$$\n"]

DETAILS = "<details>\n<summary>a <em>b</em></summary>\n<ul>\n<li>c</li>\n</ul>\n</details>\n<p>d</p>"
BOLD = [f"<strong>{text}</strong>" for text in ("「記述子」", "中文：", "没修。")]
NOTES = "<p>a<sup>1</sup> b.</p>\n<p><sup>1</sup>: c<br>\n<sup>two</sup>: d</p>"


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("a *b* **c** ~~d~~ `e`", "<p>a <em>b</em> <strong>c</strong> <s>d</s> <code>e</code></p>"),
        ("# A", "<h3>A</h3>"),
        ("- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>"),
        ("3. a", '<ol start="3">\n<li>a</li>\n</ol>'),
        ("- [x] a\n- `[ ]` b", '<ul>\n<li class="task">☑ a</li>\n<li><code>[ ]</code> b</li>\n</ul>'),
        ("a<br>b<BR />c", "<p>a<br>\nb<br>\nc</p>"),
        ("H<sub>2</sub> <kbd>a</kbd> <u>**b**</u>", "<p>H<sub>2</sub> <kbd>a</kbd> <u><strong>b</strong></u></p>"),
        ("<sub>a</u> <u>b", "<p>&lt;sub&gt;a&lt;/u&gt; &lt;u&gt;b</p>"),
        ("**a <u>b** c</u>", "<p><strong>a &lt;u&gt;b</strong> c&lt;/u&gt;</p>"),
        ("<details>\n<summary>a *b*</summary>\n\n- c\n\n</details>\n\nd", DETAILS),
        ("<details>a</details>\u00a0", "<details>\n<p>a</p>\n</details>"),
        ("<details> is an element", "<p>&lt;details&gt; is an element</p>"),
        ("**「記述子」**のが **中文：**中文 **没修。**下", f"<p>{BOLD[0]}のが {BOLD[1]}中文 {BOLD[2]}下</p>"),
        ("~~删除：~~中文 **Hinweis:**Text", "<p><s>删除：</s>中文 <strong>Hinweis:</strong>Text</p>"),
        ("> a", "<blockquote>\n<p>a</p>\n</blockquote>"),
        ("a  \nb", "<p>a<br>\nb</p>"),
        ("<b>a</b> & <query>", "<p>&lt;b&gt;a&lt;/b&gt; &amp; &lt;query&gt;</p>"),
        ("AAPL.com and foo.py", "<p>AAPL.com and foo.py</p>"),
        ("[a]: ftp://x.example/\n\n[a]", "<p>[a]: ftp://x.example/</p>\n<p>[a]</p>"),
        ("a[^1] b.\n\n[^1]: c\n[^two]: d", NOTES),
        ("", ""),
    ],
)
def test_markdown_becomes_plain_structure(markdown, html):
    assert render_markdown(markdown).replace(' dir="auto"', "").strip() == html


def test_blocks_take_the_direction_of_their_words():
    html = render_markdown("שלום\n\n- hi\n\n> hi\n\n### שלום")

    assert all(attrs["dir"] == "auto" for _, attrs in read(html))


@pytest.mark.parametrize("text", ["- مرحبا\n- hi", "1. (12) שלום", "> שלום", "|שלום|\n|-|\n|a|"])
def test_frames_of_right_to_left_words_have_that_direction(text):
    frames = [attrs["dir"] for tag, attrs in read(render_markdown(text)) if tag in ("ul", "ol", "blockquote", "table")]

    assert frames == ["rtl"]


def test_control_characters_and_lone_surrogates_are_replaced():
    assert words(render_markdown("a\x00b\x1bc\ud800d\ufffee")).strip() == "a\ufffdb\ufffdc\ufffdd\ufffde"


class TestCode:
    def test_fence_is_figure_with_caption_and_copy_button(self):
        html = render_markdown("```python\nimport x\n```")

        assert tags(html)[:5] == ["figure", "figcaption", "button", "pre", "code"]
        assert ("button", {"type": "button", "class": "btn btn--quiet", "data-copy-code": ""}) in read(html)
        assert "<figcaption>Python <button" in html
        assert '<pre tabindex="0"><code>' in html
        assert '<span class="k">import</span>' in html

    @pytest.mark.parametrize("language", ["python", "diff", "html", "nonsense", ""])
    def test_highlighting_changes_no_character(self, language):
        code = "\n\n  <a b='c'>\t&amp; \"x\" # y -- z\n+ 1\n- 2\n\n"

        html = render_markdown(f"```{language}\n{code}```")

        assert words(html[html.index("<pre") :]).strip("\n") == code.strip("\n")

    def test_long_code_is_not_highlighted(self):
        assert "<span" not in render_markdown("```python\n" + "x = 1\n" * 3000 + "```")


class TestTables:
    TABLE = "| Test | Limit | Note |\n|---|---|---|\n| A | ≥ 1.20 [1] | x |\n| B | $(5.5) | |\n| C | — | 3 |"

    def test_table_scrolls_in_a_named_region(self):
        region = read(render_markdown(self.TABLE))[0]

        assert region == (
            "div",
            {"class": "scroll", "tabindex": "0", "role": "region", "aria-label": "Table: Test, Limit, Note"},
        )

    def test_columns_are_aligned_as_written(self):
        html = render_markdown("| a | b | c | d |\n|:--|:-:|--:|---|\n| 1 | $2 | x | 3 |")

        aligned = [attrs.get("align") for tag, attrs in read(html) if tag in ("th", "td")]

        assert aligned == ["left", "center", "right", None] * 2
        assert "style=" not in html


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

    @pytest.mark.parametrize(
        "text", ["> " * 40 + "deep", "".join("  " * n + "- a\n" for n in range(30)), "|a|b\n|-|-\n" + "|\n" * 9000]
    )
    def test_too_deep_or_dense_block_loses_no_words(self, text):
        assert words(render_markdown(text)).split() == text.split()

    def test_deep_emphasis_is_flattened(self):
        html = render_markdown("*" * 400 + "x" + "*" * 400)

        assert tags(html).count("strong") <= 6
        assert "x" in words(html)

    @pytest.mark.parametrize("unit", HOSTILE)
    def test_hostile_answer_is_rendered_in_time(self, unit):
        assert render_markdown(unit * (120_000 // len(unit)))


def test_no_failure_is_raised(monkeypatch, caplog):
    monkeypatch.setattr("chat.html.render.sanitize_html", lambda html: 1 / 0)

    html = render_markdown("*a* <b> secret words, never rendered before")

    assert html == '<p class="plain" dir="auto">*a* &lt;b&gt; secret words, never rendered before</p>\n'
    assert "ZeroDivisionError" in caplog.text
    assert "secret" not in caplog.text


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
