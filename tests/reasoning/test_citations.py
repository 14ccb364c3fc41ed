"""Which sources an answer cites, and whether its quotations occur in them."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasoning.citations import (
    Citation,
    Source,
    check_citations,
    citation_from_json,
    citation_to_json,
    count_uncited,
    find_quotation,
)

PASSAGE = (
    "The ratio was 1.31 to 1.00 at December 31, 2025, and “1.24” before. The decline reflects the unplanned replacement"
    " of rotor blades on six of fourteen turbines — a costly event.\nNet income | $44.2 | (3)%"
)
OTHER = "Net leverage was 5.12 to 1.00. We were in compliance with each of these requirements at every test date."


def source(ref: int, text: str) -> Source:
    anchor = f"#item-7-p{ref}"
    return Source(
        ref,
        "filing",
        "10-K",
        "Northwind",
        "2026-02-26",
        "2025-12-31",
        "Item 7",
        anchor,
        f"/filings/n/{anchor}",
        text,
        "…",
    )


SOURCES = (source(1, PASSAGE), source(2, OTHER), source(3, "Nothing of note."))


def cited(answer: str) -> list[tuple[int, str | None, bool | None]]:
    return [(one.ref, one.quote, one.verified) for one in check_citations(answer, SOURCES)]


def is_quoted_in(quotation: str, passage: str) -> bool:
    return any(one.verified for one in check_citations(f'"{quotation}" [1]', [source(1, passage)]))


@pytest.mark.parametrize(
    ("answer", "refs"),
    [
        ("Fine [2]. Also [1].", [2, 1]),
        ("Both [1][2].", [1, 2]),
        ("Both [1, 2].", [1, 2]),
        ("Again [1] and [1].", [1]),
        ("Unknown [9] and [1].", [1]),
        ("`[1]` and ``a ` [2]`` only [3]", [3]),
        ("```\n[1]\n```\nText [2]", [2]),
        ("~~~\n[1]\n```\n[1]\n~~~\n[2]", [2]),
        ("A link [1](https://example.com) and ![2](x) and \\[3]", []),
        ("[1]: https://example.com\n\nText [2]", [2]),
        ("No marker.", []),
        ("An open `tick [1]", [1]),
    ],
)
def test_markers_name_sources_by_first_appearance(answer, refs):
    assert cited(answer) == [(ref, None, None) for ref in refs]


@pytest.mark.parametrize(
    ("quotation", "is_found"),
    [
        ("The ratio was 1.31 to 1.00", True),
        ("The ratio was 1.31\n  to 1.00", True),
        ("the ratio was 1.31", False),
        ("ratio was 1.3", False),
        ("atio was 1.31", False),
        ("The ratio was 1.31 to 1.00 at December 31, 2025,", True),
        ("of rotor blades on six of fourteen turbines.", True),
        ("turbines - a costly event", True),
        ("turbines – a costly\u00a0event", True),
        ("The ratio … rotor blades", True),
        ("The ratio was [...] rotor blades...", True),
        ("rotor blades … The ratio", False),
        ("The ratio was **1.31** to 1.00", True),
        ("Net income $44.2 (3)%", True),
        ("…", False),
    ],
)
def test_quotation_is_found_word_for_word_or_not(quotation, is_found):
    assert is_quoted_in(quotation, PASSAGE) is is_found


@pytest.mark.parametrize(
    ("quotation", "passage", "is_found"),
    [
        ("收入增长了百分之五", "本公司收入增长了百分之五，主要由于销量。", True),
        ("收入增长了百分之五。", "本公司收入增长了百分之五，主要由于销量。", True),
        ("收入增长了百分之六", "本公司收入增长了百分之五，主要由于销量。", False),
        ("收入为5", "本公司收入为52亿元。", False),
        ("收入为5", "本公司收入为5亿元。", False),
        ("收入增长了百分之五", "本公司收入增长了百分之五十。", False),
        ("売上高は前年比で増加", "当社の売上高は前年比で増加しました。", True),
        ("บริษัทเพิ่มขึ้น", "รายได้ของบริษัทเพิ่มขึ้นร้อยละห้า", True),
        ("매출 증가", "올해 매출 증가를 기록했다.", True),
    ],
)
def test_quotation_in_a_language_without_spaces(quotation, passage, is_found):
    assert is_quoted_in(quotation, passage) is is_found


@pytest.mark.parametrize("forms", [("NFC", "NFD"), ("NFD", "NFC")])
def test_letters_with_accents_are_the_same_in_both_forms(forms):
    words = "die längeren Öffnungszeiten"
    quotation, passage = (unicodedata.normalize(form, words) for form in forms)

    assert is_quoted_in(quotation, f"Das sind {passage}.")
    assert find_quotation(quotation, f"Das sind {passage}.") == (9, 9 + len(passage))


def test_marks_inside_a_quotation_may_be_single_ones():
    assert is_quoted_in("and ‘1.24’ before", PASSAGE)


def test_row_is_quoted_with_and_without_its_separators():
    row = "Percentage of sales | 8% |  | 8%"

    assert is_quoted_in(row, row)
    assert is_quoted_in("Percentage of sales 8% 8%", row)
    assert not is_quoted_in("Percentage of sales 8% 5%", row)


@pytest.mark.parametrize("marks", ['""', "“”", "«»", "„”", "„“", '„"', "»«", "「」", "『』"])
def test_quotation_belongs_to_the_marker_after_it(marks):
    quote = "The ratio was 1.31 to 1.00"

    assert cited(f"See [2]. It said {marks[0]}{quote}{marks[1]} [1].") == [(2, None, None), (1, quote, True)]


def test_mark_between_words_opens_no_quotation():
    assert cited('See Home » Legal, a 12" pipe and «The ratio was 1.31» [1].') == [(1, "The ratio was 1.31", True)]


def test_quotation_without_marker_after_it_belongs_to_the_last_before():
    assert cited('As [2] and [1] say, "The ratio was 1.31".') == [(2, None, None), (1, "The ratio was 1.31", True)]


def test_wrong_source_leaves_a_quotation_unverified():
    assert cited('"The ratio was 1.31" [3]') == [(3, "The ratio was 1.31", False)]


def test_adjacent_markers_credit_the_source_that_has_it():
    assert cited('"Net leverage was 5.12 to 1.00" [1][2]') == [
        (1, None, None),
        (2, "Net leverage was 5.12 to 1.00", True),
    ]


def test_each_quotation_of_a_source_is_a_citation():
    assert cited('"The ratio was 1.31" [1] and "a costly event" [1] and more [1]') == [
        (1, "The ratio was 1.31", True),
        (1, "a costly event", True),
    ]


def test_quotation_stays_in_its_block():
    assert cited('- "The ratio was 1.31"\n- Fine [1]') == [(1, None, None)]
    assert cited('| "The ratio was 1.31" | x |\n| y | [1] |') == [(1, None, None)]


@pytest.mark.parametrize(
    "answer",
    [
        "> The decline reflects the unplanned replacement\n> of rotor blades [1]",
        "> The decline reflects the unplanned replacement\n> of rotor blades\n[1]",
        "> The decline reflects the unplanned replacement\n> of rotor blades\n\n[1]",
        "> The decline reflects the unplanned replacement of rotor blades\n\n— Northwind, Item 7 [1]",
        "> “The decline reflects the unplanned replacement of rotor blades”\n> — Item 7 [1]",
    ],
)
def test_blockquote_is_a_quotation_of_the_source_right_after_it(answer):
    [(ref, quote, is_found)] = cited(answer)

    assert (ref, is_found) == (1, True)
    assert quote == "The decline reflects the unplanned replacement of rotor blades"


def test_paragraph_after_a_blockquote_is_not_its_source():
    answer = "> The decline reflects the unplanned replacement of rotor blades\n\nAnother thing is stated [2]."

    assert cited(answer) == [
        (1, "The decline reflects the unplanned replacement of rotor blades", True),
        (2, None, None),
    ]


def test_unmarked_quotation_is_credited_to_the_only_source_that_has_it():
    assert cited('It says "the unplanned replacement of rotor blades".') == [
        (1, "the unplanned replacement of rotor blades", True)
    ]
    assert cited('It says "to 1.00".') == []
    assert cited('It says "the planned replacement of rotor blades".') == []


def test_unmarked_quotation_of_two_sources_is_credited_to_none():
    both = (source(1, PASSAGE), source(2, PASSAGE))

    assert check_citations('"the unplanned replacement of rotor blades"', both) == ()


@pytest.mark.spec("004 envelope")
def test_json_form_has_the_names_of_the_contract():
    [citation] = check_citations('"The ratio was 1.31" [1]', SOURCES)

    assert citation_to_json(citation) == {
        "ref": 1,
        "kind": "filing",
        "title": "10-K",
        "filing": "10-K",
        "date": "2026-02-26",
        "period": "2025-12-31",
        "section": "Item 7",
        "anchor": "#item-7-p1",
        "company": "Northwind",
        "url": "/filings/n/#item-7-p1",
        "snippet": PASSAGE[: PASSAGE.index(" fourteen")] + " …",
        "verified": True,
        "quote": "The ratio was 1.31",
    }


def test_json_form_leaves_out_an_absent_quotation():
    [citation] = check_citations("[1]", SOURCES)

    assert "quote" not in citation_to_json(citation)
    assert citation_to_json(citation)["verified"] is None


words = st.text('ab "“”«»[]12,>`~\n*-|.…\\!(:', max_size=120)


@given(words)
def test_any_answer_can_be_checked(answer):
    for citation in check_citations(answer, SOURCES):
        assert citation.ref in {1, 2, 3}
        assert citation_from_json(citation_to_json(citation)) == citation


@given(st.integers(0, 60), st.integers(1, 60))
def test_any_run_of_whole_words_is_found(start, length):
    passage = PASSAGE.replace("“1.24”", "1.24").split()
    quotation = " ".join(passage[start : start + length])

    if any(char.isalnum() for char in quotation):
        assert is_quoted_in(quotation, " ".join(passage))


@pytest.mark.parametrize("marker", ["", "".join(f"[{ref}]" for ref in range(1, 601))])
def test_work_on_quotations_is_bounded_with_many_sources(marker):
    """Each quotation could be looked for in each source, which takes minutes."""
    said = [f"Number {word} is such a word." for word in range(3_000)]
    sources = [source(ref, said[ref - 1]) for ref in range(1, 601)]

    credited = check_citations("\n\n".join(f"“{words}” {marker}" for words in said), sources)

    found = [(citation.ref, citation.quote) for citation in credited if citation.verified]
    assert found == [(ref, said[ref - 1]) for ref in range(1, 11 if marker else 51)]


@pytest.mark.slow
@pytest.mark.parametrize("piece", ['"a" ', "[1] ", "[1]", "`", '"', "> ", "\n", "```\n", "[1, ", "“", "a… "])
def test_hostile_answer_is_checked_in_time(piece):
    check_citations(piece * 20_000, SOURCES)


def test_citation_without_quotation_has_no_verdict():
    expected = Citation(1, "attachment", "b.pdf", "", None, None, "", "", "", "")
    assert citation_from_json({"ref": 1, "filing": "b.pdf"}) == expected


@pytest.mark.parametrize(
    ("quotation", "found"),
    [
        ('and "1.24" before.', "and “1.24” before."),
        (
            "The decline reflects … six of fourteen",
            "The decline reflects the unplanned replacement of rotor blades on six of fourteen",
        ),
        ("Net income $44.2", "Net income | $44.2"),
        ("turbines - a **costly** event", "turbines — a costly event"),
        ("It rose", None),
        ("…", None),
        ("", None),
    ],
)
def test_quotation_is_found_where_it_begins_and_ends(quotation, found):
    span = find_quotation(quotation, PASSAGE)

    assert (PASSAGE[slice(*span)] if span else None) == found


@pytest.mark.parametrize(
    ("answer", "uncited"),
    [
        ("The ratio fell to 1.31 in the year [1].", 0),
        ("The ratio fell to 1.31 in the year. [1] It rose again in the next one.", 1),
        ("It fell to 1.31 in that year, and to 1.2 in the next.", 1),
        ("Short one. And another.", 0),
        ("# A heading that has more than five words.\n\n| a table with words that end. |", 0),
        ("> A quotation of more than five words.", 0),
        ("```\nprint(1). Some code that ends with stops.\n```", 0),
        ("- The first point names no source here.\n- The second point does name one of them [2].", 1),
        ("He said “it was not so in that year.” [1]", 0),
        ("Here is what the filings say about it:", 0),
    ],
)
def test_sentences_without_a_source_are_counted(answer, uncited):
    assert count_uncited(answer) == uncited


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["a", "a.", ". ", "a.b", "[1]", ".[1] ", "”", ". ”"])
def test_hostile_answer_is_counted_in_time(piece):
    count_uncited(piece * 50_000)


@pytest.mark.parametrize("blanks", [" ", "\t", "\u00a0"])
def test_long_line_behind_a_quotation_is_read_in_time(blanks):
    answer = f"> It rose.\n\n{blanks * 300_000}x"

    check_citations(f"{answer} [1]", SOURCES)
