"""Source links for markers, verdicts on quotations, and labels: from our own records, and no failed check is lost."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.html import cite_label, render_answer, render_markdown, source_url
from reasoning.citations import Citation, Source, check_citations, citation_numbers
from tests.chat.html_reader import read

LINK = (
    '<a class="cite" data-citation="" href="/filings/1/?passage=p{0}#p{0}" title="Item 7">'
    '<span class="visually-hidden">Source </span>{0}</a>'
)
UNVERIFIED = (
    '<a class="cite" data-citation="" href="/filings/1/?passage=p{0}#p{0}" title="Not found in the passage"'
    ' data-verified="false">'
    '<span class="visually-hidden">Unverified source </span>{0}?</a>'
)


def source(ref=1, text="", **changes):
    values = {
        "kind": "filing",
        "title": "10-K",
        "publisher": "Northwind",
        "date": "2026-02-26",
        "period": "2025-12-31",
        "section": "Item 7",
        "anchor": f"#p{ref}",
        "url": f"/filings/1/#p{ref}",
        "snippet": "",
    }
    return Source(ref=ref, text=text, **(values | changes))


def answer(text, *sources):
    """Render an answer with the citations that the check finds in it; what links say of quotations is left out."""
    html = render_answer(text, check_citations(text, sources), sources).replace(' dir="auto"', "").strip()
    return re.sub(r"(?:&amp;quote=[^#&]*)+", "", html)


def by_hand(ref, quote=None, verified=None, **changes):
    values = {
        "kind": "filing",
        "title": "10-K",
        "publisher": "",
        "date": None,
        "period": None,
        "section": "Item 7",
        "anchor": "#p1",
    }
    return Citation(ref=ref, url=f"/filings/1/#p{ref}", snippet="", quote=quote, verified=verified, **values, **changes)


@pytest.mark.parametrize(
    ("quotes", "query"),
    [
        ([], "passage=p1"),
        (["It fell.", "It fell.", "So & so"], "passage=p1&quote=It+fell.&quote=So+%26+so"),
        (["a b c d e f g h i j k l m n"], "passage=p1&quote=a+b+c+d+e+f+%E2%80%A6+i+j+k+l+m+n"),
        (["1", "2", "3", "4"], "passage=p1&quote=1&quote=2&quote=3"),
    ],
)
def test_address_says_what_the_reader_page_marks(quotes, query):
    assert source_url(source(1), quotes) == f"/filings/1/?{query}#p1"


class TestSourceLinks:
    @pytest.mark.spec("004 trace")
    def test_marker_of_a_source_is_a_source_link(self):
        assert answer("It fell. [1]", source(1)) == f"<p>It fell.\u00a0{LINK.format(1)}</p>"

    @pytest.mark.parametrize("markers", ["[1][2]", "[1, 2]", "[1,2]", "[1; 2]"])
    def test_several_markers_are_several_links(self, markers):
        assert answer(f"a {markers}", source(1), source(2)) == f"<p>a\u00a0{LINK.format(1)}{LINK.format(2)}</p>"

    def test_unknown_number_stays_text(self):
        assert answer("a [2] b [1, 9]", source(1)) == f"<p>a [2] b\u00a0{LINK.format(1)}[9]</p>"

    def test_markers_beyond_the_limit_stay_text(self):
        html = answer("a [1] " * 1_999 + "b [1, 1] [1]", source(1))

        assert html.count("data-citation") == 2_000
        assert "b [1, 1]" in html

    @pytest.mark.parametrize("text", ["`[1]`", "```\n[1]\n```", "[[1]](https://www.sec.gov/)", "    [1]"])
    def test_code_and_links_hold_no_source_link(self, text):
        assert "data-citation" not in answer(text, source(1))

    @pytest.mark.parametrize("url", ["javascript:alert(1)", "//x.example/", "https://x.example/", "/\\x", '/"x', ""])
    def test_address_that_is_not_ours_gives_no_source_link(self, url):
        assert answer("a [1]", source(1, url=url)) == "<p>a [1]</p>"

    def test_section_is_escaped(self):
        html = answer("a [1]", source(1, section='"><script>\x07'))

        assert [(tag, attrs.get("title")) for tag, attrs in read(html)] == [
            ("p", None),
            ("a", '"><script> '),
            ("span", None),
        ]


def fragment_of(link):
    return link["href"].partition("#")[2]


class TestQuotations:
    FOUND = source(1, "We saw a further outage of comparable length within any period.")

    @pytest.mark.parametrize("quotation", ["“{}”", '"{}"', "«{}»", "„{}”", "„{}“", "»{}«", "「{}」"])
    def test_verified_quotation_is_marked(self, quotation):
        html = answer(f"It says {quotation.format('a further outage')} [1].", self.FOUND)

        assert html == f'<p>It says <q data-verified="true">a further outage</q>\u00a0{LINK.format(1)}.</p>'

    def test_mark_between_words_opens_no_quotation(self):
        html = answer("See Home » Legal, a 12″ pipe and «a further outage» [1].", self.FOUND)

        assert html.count("<q ") == 1
        assert 'and <q data-verified="true">a further outage</q>' in html

    def test_failed_quotation_marks_its_source_link(self):
        html = answer("It says “no outage” [1]. Also [1].", self.FOUND)

        assert html == (
            f'<p>It says <q data-verified="false">no outage</q>\u00a0{UNVERIFIED.format(1)}. '
            f"Also\u00a0{LINK.format(1)}.</p>"
        )

    def test_failed_quotation_leads_to_no_words_of_another_one(self):
        text = "It says “a further outage” [1] and “no outage” [1]."

        html = render_answer(text, check_citations(text, [self.FOUND]), [self.FOUND])

        found, failed = (attrs for tag, attrs in read(html) if tag == "a")
        assert "quote=a+further+outage" in found["href"]
        assert (failed["data-verified"], failed["href"]) == ("false", "/filings/1/?passage=p1#p1")

    def test_source_link_before_the_quotation_is_marked_where_none_follows(self):
        html = answer("a [1]\n\nAs [1] says, “no outage”.\n\nb [1]", self.FOUND)

        assert (
            html.split("\n")[1]
            == f'<p>As\u00a0{UNVERIFIED.format(1)} says, <q data-verified="false">no outage</q>.</p>'
        )
        assert html.count("data-verified") == 2

    def test_marks_inside_marks_belong_to_the_words(self):
        html = answer('It says “a "further" outage” [1].', source(1, 'a "further" outage'))

        assert '<q data-verified="true">a "further" outage</q>' in html

    def test_verified_blockquote_shows_its_source(self):
        html = answer("> a further outage of\n> comparable length\n\n[1]", self.FOUND)

        assert '<blockquote data-verified="true">' in html
        assert (
            '<footer><span>10-K · 2026-02-26 · Item 7</span><span class="found">found word for word</span></footer>'
        ) in html
        assert html.endswith(f"<p>{LINK.format(1)}</p>")

    @pytest.mark.parametrize(
        "after", [" [1]", "\n> — the 10-K [1]", "\n>\n> — the 10-K [1]", "\n\n[1]", "\n\n— 10-K [1]"]
    )
    def test_blockquote_that_fails_says_so_with_its_source_link(self, after):
        html = answer(f"> no outage was seen{after}", self.FOUND)

        assert '<blockquote data-verified="false">' in html
        assert '<span class="unfound">not found in the passage</span>' in html
        assert UNVERIFIED.format(1) in html

    def test_failed_quotation_that_is_not_in_the_html_marks_every_link(self):
        html = render_answer("a [1] b [1] c [2]", [by_hand(1, "elsewhere", verified=False), by_hand(2)])

        assert html.count("Unverified source") == 2
        assert ">2</a>" in html

    @given(
        st.lists(
            st.sampled_from(
                ["“no such”", '"thing"', "«x»", " [1]", " [2]", "[1, 2]", "\n\n", "\n", "> ", "- ", "*", "word "]
            ),
            max_size=14,
        ).map("".join)
    )
    def test_every_failed_check_is_shown(self, text):
        sources = [source(1, "word thing"), source(2, "x")]
        failed = {citation.ref for citation in check_citations(text, sources) if citation.verified is False}

        html = render_answer(text, check_citations(text, sources), sources)

        links = [attrs for tag, attrs in read(html) if tag == "a"]
        unverified = {fragment_of(attrs) for attrs in links if attrs.get("data-verified") == "false"}
        assert {f"p{ref}" for ref in failed} & set(map(fragment_of, links)) <= unverified


class TestNumbers:
    def test_links_count_from_one_by_first_appearance(self):
        sources = [source(4), source(2)]
        citations = check_citations("b [4] a [2] c [4]", sources)
        html = render_answer("b [4] a [2] c [4]", citations, sources, numbers=citation_numbers(citations))

        assert re.findall(r"</span>(\d)</a>", html) == ["1", "2", "1"]
        assert html.index("passage=p4") < html.index("passage=p2")


@pytest.mark.parametrize(
    ("changes", "label"),
    [
        ({"anchor": "#item-7-p31"}, "10-K · 2026-02-26 · Item 7 ¶31"),
        ({"date": None, "period": "2024-09-28"}, "10-K · period 2024-09-28 · Item 7"),
        ({"date": None, "period": None}, "10-K · Item 7"),  # no date is invented
    ],
)
def test_label_names_form_date_and_section(changes, label):
    assert cite_label(source(1, **changes)) == label


def test_failure_to_cite_leaves_the_answer(monkeypatch):
    monkeypatch.setattr("chat.html.render.cite", lambda *args: 1 / 0)

    assert render_answer("*a* [1]", (), [source(1)]) == render_markdown("*a* [1]")
