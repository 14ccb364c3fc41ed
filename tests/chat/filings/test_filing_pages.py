"""The reader page's account of a filing: headings once, paragraphs as such, tables with their columns."""

import pytest
from lxml import html as markup

from chat.filings import reader
from chat.filings.ingest import ingest
from chat.filings.reader import ReaderPart, ReaderPassage, passage_parts, reader_sections, table_rows, without_title
from chat.pages import filings
from tests.chat.card_samples import all_of, draw, one, words
from tests.factories import client_of, make_user

TEXT = "<p>" + "Ordinary text of the section that goes on for a while. " * 6 + "</p>"


def parts_of(text: str, heading: str = "") -> list[ReaderPart]:
    return list(passage_parts(text, heading))


def cells(part: ReaderPart) -> list[list[str]]:
    return [[cell.text for cell in row] for row in (*part.heads, *part.rows)]


def passage(text: str) -> ReaderPassage:
    return ReaderPassage("item-7-p31", "31", tuple(passage_parts(text, "Covenants")))


def test_passage_shows_text_and_table_each_as_what_it_is():
    found = parts_of("Costs\nThey rose.\n\n | 2024 | 2023\nWages | 4 | 3\nRent: |  | 2\n\nRent ended.")

    assert [part.kind for part in found] == ["heading", "text", "table", "text"]
    assert cells(found[2]) == [["", "2024", "2023"], ["Wages", "4", "3"], ["Rent:", "", "2"]]


def test_heads_of_columns_are_above_their_figures():
    (found,) = parts_of(" | Second quarter |  | Six months\n | 2018 | 2017 | 2018 | 2017\nSales | 4 | 3 | 2 | 1")

    assert [[(cell.text, cell.columns) for cell in row] for row in found.heads] == [
        [("", 1), ("Second quarter", 2), ("Six months", 2)],
        [("", 1), ("2018", 1), ("2017", 1), ("2018", 1), ("2017", 1)],
    ]
    assert all(cell.is_figure for cell in found.heads[1][1:])


def test_passage_can_be_linked_to():
    shown = one(draw("chat/reader/_passage.html", passage=passage("One.\n\nTwo <b>.")), "[data-passage]")

    assert shown.get("id") == "item-7-p31"
    assert one(shown, "a").get("href") == "#item-7-p31"
    assert [line.text for line in all_of(shown, "p")] == ["One.", "Two <b>."]


def test_table_scrolls_and_aligns_its_figures():
    shown = draw("chat/reader/_passage.html", passage=passage("Net sales | $ 391,035 | (1.2)%\nNote | all"))
    rows = [[words([cell]) for cell in row] for row in all_of(shown, "tr")]

    assert rows == [["Net sales", "$ 391,035", "(1.2)%"], ["Note", "all", ""]]
    assert [cell.get("class") for cell in all_of(shown, "td")][:3] == [None, "n", "n"]
    assert one(shown, ".scroll").get("tabindex") == "0"


@pytest.mark.parametrize("text", ["391,035", "$1", "(5)", "12.5 %", "—", "−3", "2025"])
def test_figure_cells_are_recognised(text):
    ((figure, word),) = table_rows([f"{text} | Item 7"])

    assert (figure.is_figure, word.is_figure) == (True, False)


@pytest.mark.parametrize("text", ["Q3 2025", "10-K", "", "a", "1 of 3"])
def test_words_with_digits_are_no_figures(text):
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
def test_title_of_a_section_is_shown_once(text, shown):
    assert without_title(text, "Item 7", "Our Discussion", form="10-K") == shown


@pytest.mark.django_db
def test_page_shows_a_filing_with_headings_heads_and_unique_ids():
    rows = "<tr><td></td><td>2024</td><td>2023</td></tr><tr><td>Sales</td><td>4.5</td><td>3.5</td></tr>"
    items = "".join(
        f"<p><b>Item {item}</b></p>{TEXT}<p><b>On this</b></p>{TEXT}<table>{rows}</table>"
        for item in ("1. Business", "2. Properties", "3. Legal Proceedings")
    )
    filing = ingest(f"<body><p>FORM 10-K</p>{items}</body>".encode(), name="a.html")
    client = client_of(make_user("alice"))

    page = markup.fromstring(client.get(filing.get_absolute_url()).content)

    ids = page.xpath("//@id")
    assert len(ids) == len(set(ids))
    assert [one.text_content() for one in page.xpath("//main//h3")] == ["FORM 10-K", *["On this"] * 3]
    assert [one.text.strip() for one in page.xpath("//main//thead//th")] == ["2024", "2023"] * 3
    assert page.xpath("//main//p[contains(., '|')]") == []


@pytest.mark.django_db
def test_section_that_resumes_has_another_id():
    items = "".join(
        f"<p><b>Item {item}</b></p>{TEXT}" for item in ("1. Business", "2. Properties", "3. Legal Proceedings")
    )
    filing = ingest(f"<body>{items}</body>".encode(), name="a.html")
    filing.passages.filter(section="Item 3").update(section="Item 1", section_title="Business")

    assert [section.slug for section in reader_sections(filing)] == ["item-1", "item-2", "item-1-2"]


@pytest.fixture
def filing(db, monkeypatch):
    """Return a filing of five passages, of which a page shows two and the panel one on each side."""
    monkeypatch.setattr(reader, "PART_PASSAGES", 2)
    monkeypatch.setattr(filings, "PANEL_REACH", 1)
    bodies = ("Sales &amp; costs rose. More fell.", *(f"Text number {number}." for number in range(2, 6)))
    items = "".join(
        f"<p><b>Item {number}. Title {number}</b></p><p>{body}</p>" for number, body in enumerate(bodies, 1)
    )
    table = "<table><tr><td>Cost</td><td>4.5</td></tr><tr><td>Other</td><td>3.5</td></tr></table>"
    return ingest(f"<body>{items}{table}</body>".encode(), name="a.html")


@pytest.fixture
def read(filing, alice):
    """Return a function that reads the page of the filing for a query."""

    def page(query="", **headers):
        return markup.fromstring(client_of(alice).get(f"{filing.get_absolute_url()}{query}", headers=headers).content)

    return page


def passages_on(page: markup.HtmlElement) -> list[str]:
    return [passage.get("id") for passage in page.xpath("//*[@data-passage]")]


@pytest.mark.parametrize(
    ("query", "items"),
    [
        ("", [1, 2]),
        ("?part=2", [3, 4]),
        ("?part=9", [5]),
        ("?part=0", [1, 2]),
        ("?part=x&passage=%00", [1, 2]),
        ("?passage=item-4-p1", [3, 4]),  # the part that holds a cited passage
    ],
)
def test_long_filing_is_shown_in_parts(read, query, items):
    page = read(query)

    assert passages_on(page) == [f"item-{item}-p1" for item in items]
    contents = page.xpath("//nav[@id='toc']//a/@href")
    assert [link.rpartition("#")[0] == "" for link in contents] == [item in items for item in range(1, 6)]
    assert page.xpath("//a[@rel='prev']/@href") == ([f"?part={items[0] // 2}"] if items[0] > 1 else [])
    assert page.xpath("//a[@rel='next']/@href") == ([f"?part={items[0] // 2 + 2}"] if items[0] < 5 else [])


def test_cited_passage_and_quoted_words_are_marked(read):
    first = read("?passage=item-1-p1&quote=Sales+%26+costs+rose.&quote=More+fell&quote=absent")
    row = read("?passage=item-5-p1&quote=Cost+4.5")

    assert [one.get("id") for one in first.xpath("//*[@data-cited]")] == ["item-1-p1"]
    assert first.xpath("//mark/text()") == ["Sales & costs rose.", "More fell"]
    assert row.xpath("//td/mark/text()") == ["Cost", "4.5"]
    assert read("?passage=item-2-p1&quote=rose").xpath("//mark") == []


def test_panel_shows_what_is_around_the_passage(read):
    panel = read("?passage=item-3-p1", HX_Request="true")

    assert passages_on(panel) == ["item-2-p1", "item-3-p1", "item-4-p1"]
    assert panel.xpath("//title") == []
    assert panel.xpath("//a[@data-full-page]/@href")[0].endswith("/?passage=item-3-p1#item-3-p1")
