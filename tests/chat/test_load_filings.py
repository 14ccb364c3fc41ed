"""Loading from the command line: what is loaded, skipped and refused, one line each."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from chat.filings.ingest import ingest
from chat.filings.submission import DocumentError
from chat.models import Filing


def annual_report() -> bytes:
    return (
        b"<html><body><p>FORM 10-K</p><p>For the fiscal year ended June 30, 2021</p><p><b>Acme Widgets, Inc.</b></p>"
        b"<p>(Exact name of registrant as specified in its charter)</p></body></html>"
    )


@pytest.mark.django_db
def test_command_names_what_fails_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_bytes(annual_report())
    (tmp_path / "b.html").write_bytes(b"%PDF-1.7")
    (tmp_path / "notes.md").write_text("no filing")
    out, err = StringIO(), StringIO()

    with pytest.raises(SystemExit) as stopped:
        call_command("load_filings", str(tmp_path), "--filed", "2021-09-03", stdout=out, stderr=err)

    assert stopped.value.code == 1
    assert "a.html: Acme Widgets, Inc. 10-K, filed 2021-09-03" in out.getvalue()
    assert out.getvalue().endswith("1 filing loaded, 1 failed.\n")
    assert "b.html: not loaded: not an HTML or text document" in err.getvalue()


@pytest.mark.django_db
def test_command_names_what_it_skips_in_a_folder_once_each(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_bytes(annual_report())
    for name in ("notes.md", "scan.pdf", "facts.json", ".hidden.md"):
        (tmp_path / name).write_text("no filing")
    out = StringIO()

    call_command("load_filings", str(tmp_path), stdout=out)

    skipped = [
        line.split(":")[0] for line in out.getvalue().splitlines() if "skipped: not a filing by its ending" in line
    ]
    assert skipped == ["facts.json", "notes.md", "scan.pdf"]


@pytest.mark.django_db
def test_text_without_any_sign_of_a_filing_is_refused() -> None:
    with pytest.raises(DocumentError, match="not a filing"):
        ingest(b"Shopping list\n\nBread, milk and a new pen for the office.\n", name="note.txt")

    assert not Filing.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    "text",
    [
        "                 FORM 10-Q\n\nACME CORP\n",
        "Item 1.   Business\n\nWe make things.\n\nItem 2.   Properties\n\nA mill.\n\nItem 3.   Other\n\nNone.\n",
        "<SEC-HEADER>\nACCESSION NUMBER: 0000123456-21-000007\n</SEC-HEADER>\nOur results were good.\n",
    ],
)
def test_text_with_one_sign_of_a_filing_is_loaded(text: str) -> None:
    assert ingest(text.encode(), name="note.txt").passages.exists()
