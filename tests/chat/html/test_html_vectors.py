"""No hostile text becomes more than text: in any context, read by either of two parsers of HTML."""

import re

import nh3
import pytest

from chat.html import RenderBudget, check_url, render_answer, render_markdown, render_unfinished, sanitize_html
from chat.html.link_check import EMPTY
from chat.html.math import ELEMENTS as MATHML
from chat.html.sanitize import TAGS, is_allowed
from reasoning.citations import Citation
from tests.chat import xss_vectors as vectors
from tests.chat.html_reader import faults, read, read_as_browser
from tests.chat.xss_urls import URLS

ATTRIBUTES = {"a": {"href"}, "ol": {"start"}, "code": {"class"}, "details": {"open"}}
ATTRIBUTES |= {"th": {"align"}, "td": {"align"}} | {tag: set(names) for tag, names in MATHML.items()}
CONTEXTS = {
    "alone": "{}",
    "in words": "Before {} after",
    "in a list": "- one\n- {}",
    "in a heading": "# {}",
    "in a table": "| a | b |\n|---|---|\n| {} | 2 |",
    "as a link's words": "[{}](https://www.sec.gov/)",
    "as a link's title": '[x](https://www.sec.gov/ "{}")',
    "as an image's words": "![{}](https://evil.example/x.png)",
    "as a fence's language": "```{}\ncode\n```",
    "in a fence": "```html\n{}\n```",
    "in code": "`{}`",
}


def nh3_sanitize(html):
    """Sanitize with nh3 and our allow-list: what would replace bleach, whose 6.4.0 is its last release."""
    return nh3.clean(
        html,
        tags=set(TAGS),
        attributes=ATTRIBUTES,
        attribute_filter=lambda tag, name, value: value if is_allowed(tag, name, value) else None,
        url_schemes={"http", "https", "mailto"},
        link_rel=None,
    )


def sanitizer_faults(html):
    for tag, attrs in read(html) + read_as_browser(html):
        if tag not in TAGS:
            yield tag
        for name, value in attrs.items():
            if name not in ATTRIBUTES.get(tag, ()) or (name == "href" and check_url(value) is None):
                yield tag, name, value


@pytest.mark.parametrize("context", CONTEXTS)
def test_no_vector_leaves_the_allow_list(context):
    texts = [CONTEXTS[context].replace("{}", vector) for vector in vectors.MARKUP]

    broken = {text: found for text in texts if (found := list(faults(render_markdown(text))))}

    assert not broken


@pytest.mark.parametrize("sanitize", [sanitize_html, nh3_sanitize])
def test_no_vector_survives_sanitizing(sanitize):
    inputs = [*vectors.MARKUP, *(f'<a href="{url}">x</a>' for url in URLS)]
    inputs = [text.replace("\ud83d", "").replace("\udc00", "") for text in inputs]

    broken = {text: found for text in inputs if (found := list(sanitizer_faults(sanitize(text))))}

    assert not broken
    assert [sanitize(sanitize(text)) for text in vectors.MUTATION] == [sanitize(text) for text in vectors.MUTATION]


@pytest.mark.parametrize("form", ["[x]({})", "[x](<{}>)", "<{}>", "![x]({})", '[x]({} "t")', "[x][y]\n\n[y]: {}"])
def test_no_refused_address_becomes_a_link(form):
    texts = [form.replace("{}", url) for url in URLS]

    linked = {
        text: attrs["href"]
        for text in texts
        for tag, attrs in read(render_markdown(text))
        if tag == "a"
        and re.search(r"javascript|data:|logout|%40|^/leaving/\?to=(?!https)", attrs["href"], re.IGNORECASE)
    }

    assert not linked
    assert not {text: found for text in texts if (found := list(faults(render_markdown(text))))}


@pytest.mark.slow
@pytest.mark.spec("product 43")
@pytest.mark.parametrize("around", ["<sub>{}</sub>", "<u>{}", "<details>\n<summary>{}</summary>\n\n{}\n</details>"])
def test_no_vector_leaves_the_allow_list_inside_allowed_tags_whole_or_torn(around):
    budget = RenderBudget()
    texts = [around.replace("{}", vector) for vector in vectors.MARKUP]
    ends = [text[: len(text) * part // 4] for text in texts for part in (1, 2, 3)]

    broken = {text: found for text in texts + ends if (found := list(faults(render_markdown(text))))}
    drawn = {text: render_unfinished("", text, EMPTY, budget) for text in texts + ends}
    torn = {text: found for text, html in drawn.items() if (found := list(faults(html)))}

    assert not broken
    assert not torn


def test_vectors_stay_harmless_beside_citations():
    citation = Citation(
        3, "10-K", "N", None, None, 'A"><script>', "#a", "/filings/1/#a", "", 'x" onclick="y', verified=True
    )
    texts = [f'{vector} [3] "x" onclick="y"' for vector in vectors.MARKUP]

    rendered = [read_as_browser(render_answer(text, [citation])) for text in texts]

    assert not [
        tag for tags in rendered for tag, _ in tags if tag in {"script", "img", "svg", "iframe", "style", "form"}
    ]
    assert not [name for tags in rendered for _, attrs in tags for name in attrs if name.startswith(("on", "hx", "id"))]


@pytest.mark.parametrize(
    "html",
    [
        "<p>a <em>b</em> <strong>c</strong> <s>d</s> <del>e</del></p>",
        '<ol start="3"><li>a</li></ol><ul><li>b</li></ul>',
        '<pre><code class="language-c++">a &lt; b</code></pre>',
        "<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>b</td></tr></tbody></table>",
        '<a href="https://www.sec.gov/x?a=1&amp;b=2#c">a</a>',
        '<math display="block"><mfrac><mi mathvariant="bold">a</mi><mn>1</mn></mfrac></math>',
        "<blockquote>a<br>b<hr></blockquote>",
        "<p>H<sub>2</sub><sup>3</sup> <kbd>a</kbd> <u>b</u></p>",
        "<details><summary>a</summary><p>b</p></details>",
        '<table><tbody><tr><td align="right">b</td></tr></tbody></table>',
        '<math><semantics><mi>a</mi><annotation encoding="application/x-tex">a &lt; b</annotation></semantics></math>',
    ],
)
def test_allowed_markup_stays(html):
    assert sanitize_html(html) == nh3_sanitize(html) == html


@pytest.mark.parametrize(
    ("html", "left"),
    [
        ('<p id="m-1" class="card" style="color:red" dir="rtl" title="x" hx-get="/x" data-x="y">a</p>', "<p>a</p>"),
        ('<code class="language-x y">a</code>', "<code>a</code>"),
        (f'<code class="language-{"a" * 33}">a</code>', "<code>a</code>"),
        ('<ol start="x"><li>a</li></ol>', "<ol><li>a</li></ol>"),
        ('<td align="char" style="text-align:left">a</td>', "a"),
        ('<math><annotation encoding="text/html">a</annotation></math>', "<math><annotation>a</annotation></math>"),
        ("<span>a</span><q>b</q><bdi>c</bdi>", "abc"),
        ("a<!-- b -->c", "ac"),
        ('<img src="x">', ""),
        (
            '<math><maction actiontype="toggle"><mi onclick="a" style="b" href="#">x</mi></maction></math>',
            "<math><mi>x</mi></math>",
        ),
    ],
)
def test_everything_else_is_dropped(html, left):
    assert sanitize_html(html) == nh3_sanitize(html) == left


def test_no_element_or_attribute_that_acts_is_listed():
    names = {*MATHML, *(name for values in MATHML.values() for name in values)}

    assert names.isdisjoint({"annotation-xml", "maction", "mglyph", "malignmark", "href", "style", "class", "id"})
