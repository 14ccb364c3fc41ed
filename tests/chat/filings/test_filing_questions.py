"""The sample filings and questions of SHARED_DIR: sections and facts that are found."""

import pytest

from chat.filings.ingest import ingest, read_document
from tests.benchmarks.filings import measure

EXPECTED = {
    "apple-10k-fy2024.html": "1 1A 1B 1C 2 3 4 5 6 7 7A 8 9 9A 9B 9C 10 11 12 13 14 15 16",
    "nvidia-10k-fy2024.html": "1 1A 1B 1C 2 3 4 5 6 7 7A 8 9 9A 9B 9C 10 11 12 13 14 15 16",
    "mcdonalds-10k-fy2023.html": "1 1A 1C 2 3 5 7 7A 8 9A 10 12 15",
    "medicis-10k-fy1999.html": "1 2 3 4 5 6 7 7A 8 9 10 11 12 13 14",
    "commonwealth-income-v-10k-fy2015.html": "1 1A 1B 2 3 4 5 6 7 7A 8 9 9A 9B 10 11 12 13 14 15",
}
QUARTERLY = {
    "homedepot-10q-q2-fy2023.html": "I,1 I,2 I,3 I,4 II,1 II,1A II,2 II,5 II,6",
    "alcoa-10q-q2-2018.html": "I,1 I,2 I,3 I,4 II,1 II,4 II,6",
}


@pytest.fixture
def folder(shared_dir):
    return shared_dir / "filings"


@pytest.mark.parametrize("name", EXPECTED)
def test_annual_reports_show_every_item(folder, name):
    found = {block.section for block in read_document((folder / name).read_bytes(), name=name).blocks}

    assert found == {"Cover", "Signatures", *(f"Item {code}" for code in EXPECTED[name].split())}


@pytest.mark.parametrize("name", QUARTERLY)
def test_quarterly_reports_show_every_item_under_its_part(folder, name):
    found = {block.section for block in read_document((folder / name).read_bytes(), name=name).blocks}
    items = (code.split(",") for code in QUARTERLY[name].split())

    assert found == {"Cover", "Signatures", *(f"Part {part}, Item {item}" for part, item in items)}


@pytest.mark.slow
@pytest.mark.django_db
def test_questions_find_the_passage_that_holds_the_fact(folder):
    for path in sorted(folder.glob("*.html")):
        ingest(path)
    figures = measure(folder)

    assert figures.doc_at_5 >= 0.99
    assert figures.quote_at_5 >= 0.85, figures.missed
    assert figures.section_at_5 >= 0.85
