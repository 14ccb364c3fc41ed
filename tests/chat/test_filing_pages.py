"""The reader page's account of a filing: headings once, paragraphs as such, tables with their columns."""

from __future__ import annotations

import pytest
from django.test import Client
from lxml import html as markup

from chat.filings.ingest import ingest
from chat.pages.filings import ReaderPart, ReaderPassage, passage_parts, reader_sections, table_rows, without_title
from tests.chat.card_samples import all_of, draw, one, words
from tests.factories import make_user

TEXT = "<p>" + "Ordinary text of the section that goes on for a while. " * 6 + "</p>"


def parts_of(text: str, heading: str = "") -> list[ReaderPart]:
    return list(passage_parts(text, heading))


def cells(part: ReaderPart) -> list[list[str]]:
    return [[cell.text for cell in row] for row in (*part.heads, *part.rows)]


def passage(text: str) -> ReaderPassage:
    return ReaderPassage("item-7-p31", "31", tuple(passage_parts(text, "Covenants")))


def test_passage_shows_text_and_table_each_as_what_it_is() -> None:
    found = parts_of("Costs\nThey rose.\n\n | 2024 | 2023\nWages | 4 | 3\nRent: |  | 2\n\nRent ended.")

    assert [part.kind for part in found] == ["heading", "text", "table", "text"]
    assert cells(found[2]) == [["", "2024", "2023"], ["Wages", "4", "3"], ["Rent:", "", "2"]]


def test_heads_of_columns_are_above_their_figures() -> None:
    (found,) = parts_of(" | Second quarter |  | Six months\n | 2018 | 2017 | 2018 | 2017\nSales | 4 | 3 | 2 | 1")

    assert [[(cell.text, cell.columns) for cell in row] for row in found.heads] == [
        [("", 1), ("Second quarter", 2), ("Six months", 2)],
        [("", 1), ("2018", 1), ("2017", 1), ("2018", 1), ("2017", 1)],
    ]
    assert all(cell.is_figure for cell in found.heads[1][1:])


def test_passage_can_be_linked_to() -> None:
    shown = one(draw("chat/_passage.html", passage=passage("One.\n\nTwo <b>.")), "[data-passage]")

    assert shown.get("id") == "item-7-p31"
    assert one(shown, "a").get("href") == "#item-7-p31"
    assert [line.text for line in all_of(shown, "p")] == ["One.", "Two <b>."]


def test_table_scrolls_and_aligns_its_figures() -> None:
    shown = draw("chat/_passage.html", passage=passage("Net sales | $ 391,035 | (1.2)%\nNote | all"))
    rows = [[words([cell]) for cell in row] for row in all_of(shown, "tr")]

    assert rows == [["Net sales", "$ 391,035", "(1.2)%"], ["Note", "all", ""]]
    assert [cell.get("class") for cell in all_of(shown, "td")][:3] == [None, "n", "n"]
    assert one(shown, ".scroll").get("tabindex") == "0"


@pytest.mark.parametrize("text", ["391,035", "$1", "(5)", "12.5 %", "—", "−3", "2025"])
def test_figure_cells_are_recognised(text: str) -> None:
    ((figure, word),) = table_rows([f"{text} | Item 7"])

    assert (figure.is_figure, word.is_figure) == (True, False)


@pytest.mark.parametrize("text", ["Q3 2025", "10-K", "", "a", "1 of 3"])
def test_words_with_digits_are_no_figures(text: str) -> None:
    assert not any(cell.is_figure for row in table_rows([f"{text} | x"]) for cell in row)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Item 7. Our Discussion\nCosts\nThey rose.", "Costs\nThey rose."),
        ("PART II\nItem 7. Our Discussion\nCosts\nThey rose.", "PART II\nCosts\nThey rose."),
        ("Item 7. | Our Discussion\n\nThey rose.", "They rose."),
        ("Item 7. Our Discussion and more was told.", "Item 7. Our Discussion and more was told."),
        ("They rose.", "They rose."),
    ],
)
def test_title_of_a_section_is_shown_once(text: str, shown: str) -> None:
    assert without_title(text, "Item 7", "Our Discussion", form="10-K") == shown


@pytest.mark.django_db
def test_page_shows_a_filing_with_headings_heads_and_unique_ids() -> None:
    rows = "<tr><td></td><td>2024</td><td>2023</td></tr><tr><td>Sales</td><td>4.5</td><td>3.5</td></tr>"
    items = "".join(
        f"<p><b>Item {item}</b></p>{TEXT}<p><b>On this</b></p>{TEXT}<table>{rows}</table>"
        for item in ("1. Business", "2. Properties", "3. Legal Proceedings")
    )
    filing = ingest(f"<body><p>FORM 10-K</p>{items}</body>".encode(), name="a.html")
    client = Client()
    client.force_login(make_user("alice"))

    page = markup.fromstring(client.get(filing.get_absolute_url()).content)

    ids = page.xpath("//@id")
    assert len(ids) == len(set(ids))
    assert [one.text_content() for one in page.xpath("//main//h3")] == ["FORM 10-K", *["On this"] * 3]
    assert [one.text.strip() for one in page.xpath("//main//thead//th")] == ["2024", "2023"] * 3
    assert page.xpath("//main//p[contains(., '|')]") == []


@pytest.mark.django_db
def test_section_that_resumes_has_another_id() -> None:
    items = "".join(
        f"<p><b>Item {item}</b></p>{TEXT}" for item in ("1. Business", "2. Properties", "3. Legal Proceedings")
    )
    filing = ingest(f"<body>{items}</body>".encode(), name="a.html")
    filing.passages.filter(section="Item 3").update(section="Item 1", section_title="Business")

    assert [section.slug for section in reader_sections(filing)] == ["item-1", "item-2", "item-1-2"]
