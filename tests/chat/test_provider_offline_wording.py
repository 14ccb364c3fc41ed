"""What the offline analyst quotes of odd passages, and how it words an answer: echoes, counts, names, languages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chat.html.render import render_answer
from chat.providers.analyst.language import is_foreign
from chat.providers.analyst.passages import QUOTABLE, Passage
from chat.providers.analyst.question import read_question
from chat.providers.analyst.replies import Reply
from chat.providers.analyst.steps import decide
from chat.providers.analyst.tables import names_columns
from chat.tools.search_filings import SearchFilings

TOOLS = (SearchFilings().schema,)
RESTAURANTS = (
    "Restaurants at December 31, | 2023 | 2022 | 2021\nConventional franchised | 21,818 | 21,720 | 21,607\n"
    "Total systemwide restaurants | 41,822 | 40,275 | 40,031"
)


def reply(
    question: str, *texts: str, company: str = "Amrum Grill, Inc.", asked: str | None = None, **searched: Any
) -> Reply:
    record = {"company": company, "filing": "10-K", "date": "2024-02-22", "period": None, "section": "Item 1"}
    passages = [record | {"ref": ref, "url": f"/f/#item-1-p{ref}", "text": text} for ref, text in enumerate(texts, 1)]
    scope = {"query": "q", "filings": 1, "companies": [company], "company": asked} | searched
    messages = [
        {"role": "user", "content": question},
        {"role": "tool", "content": json.dumps({"passages": passages, "searched": scope})},
    ]
    step = decide(messages, TOOLS)
    assert isinstance(step, Reply)
    return step


def kinds(text: str) -> list[tuple[str, str]]:
    passage = Passage(1, "Amrum Grill, Inc.", "10-K", None, None, "Item 1", "/f", text)
    return [(piece.kind, piece.text) for piece in passage.pieces]


def quotable(text: str) -> list[str]:
    return [piece for kind, piece in kinds(text) if kind in QUOTABLE]


def test_header_row_is_no_answer_and_stands_above_the_row_that_is() -> None:
    said = reply("How many restaurants does Amrum Grill have?", RESTAURANTS).answer

    assert said.count("\n- ") == 1
    assert (
        'under the columns "Restaurants at December 31, | 2023 | 2022 | 2021": '
        '"Total systemwide restaurants | 41,822 | 40,275 | 40,031" [1]'
    ) in said


@pytest.mark.parametrize(
    ("row", "below", "is_header"),
    [
        ("(in millions) | Nine months ended September 30, 2025 | Nine months ended September 30, 2024", "a | 1", True),
        ("(in millions) | 2025", "Revenue | 86.3", True),
        ("| 2024 | Change | 2023", "Revenue | $31,370 | 5% | $29,915", True),
        ("Fiscal year | 13 weeks ended July 30, 2023", "Net sales | 42.9", True),
        ("Title of each class | Trading symbol | Exchange", "Common stock | AGR | NYSE", True),
        ("Trading symbol | AGR", "Exchange | NYSE", False),
        ("Date signed | November 18, 2024", None, False),
        ("Millrace | May 31, 2027 | 22,000", "Harrow | June 30, 2026 | 31,000", False),
        ("Net income | 7.1 | 14.9", None, False),
    ],
)
def test_rows_that_only_name_columns_are_told_from_facts(row: str, below: str | None, is_header: bool) -> None:
    assert names_columns(row, below, is_first=True) is is_header


def test_sentence_that_a_page_cuts_is_joined_again() -> None:
    start = "In addition, if one of our suppliers suffers an incident (which has happened in the"
    text = f"{start}\n\npast), we may have to pay for it. Sales rose."

    assert quotable(text) == [f"{start}\n\npast), we may have to pay for it.", "Sales rose."]


@pytest.mark.parametrize(
    "fragment",
    [
        "developed together with the people who run our restaurants, they are meant to please. Sales rose.",
        "Sales rose. In addition, if one of our suppliers suffers an incident, and many of them have had one in the "
        "years before this report, which has happened in the",
    ],
)
def test_what_a_passage_cuts_in_mid_sentence_is_not_quoted(fragment: str) -> None:
    assert quotable(fragment) == ["Sales rose."]


def test_run_in_heading_is_no_answer() -> None:
    assert quotable("Comparable Sales. Comparable sales fell 2.0% in the quarter.") == [
        "Comparable sales fell 2.0% in the quarter."
    ]


def test_lead_in_is_quoted_only_with_its_list() -> None:
    listed = "We sell in these places:\n\n• the islands\n\n• the coast"

    assert quotable(listed) == [listed]
    assert quotable("We sell in these places:") == []


def test_second_quotation_must_hold_what_was_asked() -> None:
    said = reply(
        "How many employees does Amrum Grill have?",
        "We had 1,940 employees at December 31, 2024. They work hard.",
        "Two employees who were hurt have brought claims.",
        "We pay our employees well.",
        "At December 31, 2024, we had 1,940 employees.",
    ).answer

    assert said.count("\n- ") == 1
    assert "1,940 employees" in said


def test_count_in_a_row_is_a_cell_of_its_own() -> None:
    said = reply(
        "How many employees does Amrum Grill have?",
        "10.1 | Employee Stock Purchase Plan of March 10, 2015 | 8-K | 10.1 | 3/13/15",
        "At December 31, 2024, we had 1,940 employees.",
    ).answer

    assert said.count("\n- ") == 1
    assert "1,940 employees" in said


def test_fuller_wording_of_the_same_fact_is_quoted() -> None:
    said = reply(
        "What charge does Amrum Grill expect?",
        "Amrum Grill expects to record a charge of $30 for the kitchen.",
        "Amrum Grill expects to record a charge of $30 million for the kitchen.",
    ).answer

    assert "$30 million" in said
    assert said.count("\n- ") == 1


def test_wording_counts_one_as_one_and_ends_with_one_stop() -> None:
    made = reply("How many moons does Amrum Grill own?", "We own two grills.", company="Amrum Grill, Inc.")
    said = " ".join((made.answer, made.thinking, *made.summary))

    assert ".." not in said
    assert "1 passage " in said
    assert "1 passages" not in said
    assert "1 sentence or table row of" in said


def test_summary_names_the_company_as_its_filings_do() -> None:
    made = reply("How much gas does McAmrum's burn?", "We burn gas.", company="McAmrum’s Corporation", asked="McAmrum")

    assert made.summary[0] == "Searched the filings for “q”, only in those of McAmrum’s Corporation."


@pytest.mark.parametrize("query", ["**bold** _it_", "[link](http://x)", "`code` # | ~~", "a <b>x</b> &lt;"])
def test_echo_shows_markup_as_it_was_typed(query: str) -> None:
    said = reply("How many moons does Amrum Grill own?", "We own grills.", query=query).answer
    html = str(render_answer(said, ()))

    assert not any(tag in html for tag in ("<strong", "<em", "<b>", "<a ", "<code", "<del"))
    assert 'Searched for: "' in said


@pytest.mark.parametrize(
    ("typed", "query"),
    [
        ("What was **Amrum Grill's** <b>revenue</b>?", "Amrum Grill's revenue"),
        ("<script>alert(1)</script>What is the [revenue](http://evil.example/x) of Amrum?", "revenue Amrum"),
        ("# `revenue` of _Amrum_ <img src=x onerror=y>", "revenue Amrum"),
        ("revenue https://evil.example/a?b=c of Amrum", "revenue Amrum"),
    ],
)
def test_tags_addresses_and_markdown_are_no_search_words(typed: str, query: str) -> None:
    assert read_question(typed).query == query


@pytest.mark.parametrize(
    "question",
    [
        "Wie viele Mitarbeiter hat Amrum Grill?",
        "Quel est le chiffre d'affaires d'Amrum en 2024 ?",
        "¿Cuántos empleados tiene Amrum?",
        "Quanti dipendenti ha Amrum?",
        "Combien d’employés ?",
        "Amrum の従業員数は？",
        "Сколько сотрудников у Amrum?",
    ],
)
def test_question_in_another_language_is_told_and_still_tried(question: str) -> None:
    said = reply(question, "We had 1,940 employees.").answer

    assert said.startswith("I read English questions")
    assert "These filings do not answer this." in said
    assert "Amrum" in read_question(question).query or "Amrum" not in question


def test_words_of_a_foreign_question_that_stand_in_the_filings_are_quoted() -> None:
    said = reply("Wie hoch ist die Debt Service Coverage Ratio?", "The debt service coverage ratio was 1.31.").answer

    assert said.startswith("I read English questions")
    assert '"The debt service coverage ratio was 1.31." [1]' in said


@pytest.mark.parametrize(
    "question",
    [
        "How many employees does Amrum have?",
        "Amrum revenue 2024",
        "What did El Pollo Loco sell?",
        "La Quinta revenue",
        "Is there a war or a man in it?",
        "What was Amrum's cash?",
    ],
)
def test_english_is_not_taken_for_another_language(question: str) -> None:
    assert not is_foreign(question)
