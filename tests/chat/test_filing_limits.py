"""Files from a stranger: refused with the limit that they pass, or parsed in time, with nothing of this host."""

from __future__ import annotations

import gzip
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from chat.filings.ingest import ingest, read_document
from chat.filings.passages import cut_passages
from chat.filings.submission import MAX_BYTES, MAX_TAGS_AND_LINES, DocumentError
from tests.chat.filing_samples import annual_report
from tests.factories import make_user

HEAD = "<html><body><p>FORM 10-K</p><p>Item 1. Business</p><p>We make turbines.</p>"
TABLES = {
    "wide row": "<table><tr>" + "<td>1" * 40_000,
    "wide columns": "<table>" + "<tr><td colspan=3>1<td>2" * 6_000,
    "spans": "<table>" + "<tr><td rowspan=999999999 colspan=999999999>1<td>2" * 5_000,
    "nested tables": "<table><tr><td>x<td>y" * 3_000,
    "deep nesting": "<div>" * 100_000 + "x",
    "one word": "<p>" + "a" * 1_000_000,
    "short sentences": "<p>" + "A. " * 100_000,
    "Items": "<p>Item 1. Business" * 8_000,
    "links": "<a href='#i1'>Item 1</a><p id=i1>" * 10_000,
    "footers": "".join(f"<p>Acme report company {number}" for number in range(20_000)),
}


def passages_of(content: str | bytes) -> str:
    return "\n".join(passage.text for passage in cut_passages(read_document(content, name="a.htm").blocks))


@pytest.mark.parametrize(
    ("content", "names"),
    [
        (b"x" * (2 * MAX_BYTES), r"larger than the limit of 25 MB \(50.0 MB\)"),
        (b"<p>" * (MAX_TAGS_AND_LINES + 1), f"more than the limit of {MAX_TAGS_AND_LINES} tags and lines"),
        (b"a\n" * (MAX_TAGS_AND_LINES + 1), f"more than the limit of {MAX_TAGS_AND_LINES} tags and lines"),
        (gzip.compress(annual_report()), "not an HTML or text document"),
    ],
    ids=["bytes", "tags", "lines", "gzip"],
)
def test_file_over_a_limit_is_refused_with_the_limit(content: bytes, names: str) -> None:  # review S, "not done"
    with pytest.raises(DocumentError, match=names):
        read_document(content, name="a.htm")


def test_command_refuses_a_large_file_unread(tmp_path: Path) -> None:
    path = tmp_path / "large.htm"
    with path.open("wb") as file:
        file.truncate(2 * MAX_BYTES)
    out = StringIO()

    with pytest.raises((SystemExit, CommandError)):
        call_command("load_filings", str(path), stdout=out, stderr=out)

    assert "larger than the limit of 25 MB (50.0 MB)" in out.getvalue()


@pytest.mark.timeout(120)
@pytest.mark.parametrize("body", TABLES.values(), ids=TABLES)
def test_hostile_layout_is_parsed_in_time(body: str) -> None:
    assert "We make turbines." in passages_of(HEAD + body)


def test_entities_name_no_file_and_do_not_expand() -> None:
    declared = '<!ENTITY a0 "lollollol">' + "".join(
        f'<!ENTITY a{number} "{f"&a{number - 1};" * 10}">' for number in range(1, 12)
    )
    for system in ("file:///etc/passwd", "http://127.0.0.1:9/x", "php://filter"):
        outside = f'<!ENTITY x SYSTEM "{system}"><!ENTITY % y SYSTEM "{system}"> %y;'
        found = passages_of(f'<?xml version="1.0"?><!DOCTYPE a [{declared}{outside}]>{HEAD}<p>See &x; and &a11;.</p>')

        assert "root:" not in found
        assert len(found) < 5_000
        assert "See &x; and &a11;." in found


@pytest.mark.django_db
def test_page_of_a_filing_with_scripts_shows_its_words_alone(client: Client) -> None:
    hidden = (
        "<script>alert('zebra')</script><style>zebra{}</style><svg onload=alert(1)><text>zebra</text></svg>"
        "<template>zebra</template><p style='display:none'>zebra</p><!-- zebra --><iframe srcdoc='zebra'></iframe>"
    )
    shown = "<p onclick=alert(1)>Pressed <img src=x onerror=zebra> here &lt;script&gt;alert(1)&lt;/script&gt;.</p>"
    filing = ingest(f"{HEAD}{hidden}{shown}</body></html>".encode(), name="a.htm")
    client.force_login(make_user("carol"))

    page = client.get(filing.get_absolute_url()).content.decode()

    assert "zebra" not in page
    assert "Pressed here &lt;script&gt;alert(1)&lt;/script&gt;." in page
    assert "onclick" not in page
