"""Documents on their way into a collection: what is read of each kind, limits, replacement, and dead processes."""

import io
import subprocess
import sys
import tracemalloc
import zlib
from zipfile import ZipFile

import openpyxl
import pytest
from cryptography.fernet import Fernet
from django.core.management import CommandError, call_command
from django.db import connection

from chat.documents import collections, loading, worker
from chat.documents.access import Reader
from chat.documents.search import read_passages, search_passages
from chat.eventlog import documents, leases
from chat.models import Collection, Document
from chat.tools.base import SearchQuery
from chat.validation import InvalidInputError
from reasoning.events import AssistantMessage
from tests.chat.attached import make_form, make_pdf
from tests.chat.document_samples import (
    accept,
    archive,
    book,
    changed,
    load,
    mail,
    pdf,
    saved,
    slides,
    strict,
    word,
    workbook,
)
from tests.factories import end_turn, make_conversation, make_user, open_turn

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engine]
CANARY = "canary-of-the-document"
LONG = "The warehouse keeps its records for ten years. " * 20
NOTES = f"# Storage\n\nBryce stores 412 pallets. {LONG}\n\n# Lease\n\nIt ends in 2031. {LONG}"


@pytest.fixture
def collection(alice):
    return Collection.objects.create(owner=alice, name="Sites")


def reader_for(collection):
    return Reader(make_conversation(owner=collection.owner).pk, collection.owner_id, (collection.pk,))


def found(collection, text):
    return search_passages(SearchQuery(text=text), reader_for(collection)).passages


@pytest.mark.parametrize(
    ("name", "content", "passages"),
    [
        (
            "report.docx",
            word(),
            [("Storage › Pallets", 0, "Storage\nPallets\nThe Bryce site stores 412 pallets.\n\nRent | 9,200")],
        ),
        ("sites.xlsx", workbook(), [("Sites", 0, "Sites\nSite | Pallets | Share\nBryce | 412 | 12.5%\nfar away")]),
        (
            "talk.pptx",
            slides(),
            [
                ("Storage", 1, "Storage\nThe Bryce site stores 412 pallets."),
                ("Lease", 2, "Lease\nIts lease ends on 30 June 2031.\n\nAsk about renewal."),
            ],
        ),
        (
            "sites.epub",
            book(),
            [
                ("Storage", 0, "Storage\nThe Bryce site stores 412 pallets."),
                ("Lease", 0, "Lease\nIts lease ends on 30 June 2031."),
            ],
        ),
        (  # short sections together, named by what both are in
            "sites.md",
            b"# Sites\n\n## Storage\n\nIt stores 412 pallets.\n\n## Lease\n\nIt ends in 2031.",
            [("Sites", 0, "Sites\nStorage\nIt stores 412 pallets.\n\nLease\nIt ends in 2031.")],
        ),
        (
            "lease.eml",
            mail(),
            [
                (
                    "Lease of Bryce",
                    0,
                    "Lease of Bryce\nFrom: ada@example.org\nTo: alice@example.org\n\n"
                    "The lease ends on 30 June 2031.\n\nAttachments: lease.pdf",
                )
            ],
        ),
        ("two.pdf", pdf("Storage", "Lease"), [("Storage", 1, "Storage"), ("Lease", 2, "Lease")]),
        ("page.html", b"<html><h1>A</h1><h2>B</h2><p>C</p></html>", [("A › B", 0, "A\nB\nC")]),
        ("read.md", b"# A\n\n```\n# no heading\n```\n", [("A", 0, "A\n```\n# no heading\n```")]),
        ("table.csv", b"Site;Pallets\nBryce;412\n", [("", 0, "Site | Pallets\nBryce | 412")]),
        ("two.txt", b"First.\fSecond.", [("", 1, "First."), ("", 2, "Second.")]),
        ("old.rtf", rb"{\rtf1 Bryce stores 412 pallets.\par}", [("", 0, "Bryce stores 412 pallets.")]),
    ],
)
def test_passages_of_each_kind(collection, name, content, passages):
    document = load(collection, name, content)

    assert (document.status, document.problem) == ("ready", "")
    assert list(document.passages.values_list("section", "page", "text")) == passages
    assert documents.content_of(document) == content


@pytest.mark.parametrize(("name", "content"), [("a.docx", word()), ("a.xlsx", workbook()), ("a.pptx", slides())])
def test_strict_office_file_is_read_as_any(collection, name, content):
    texts = load(collection, name, content).passages.values_list("section", "page", "text")
    usual = list(texts)
    document = load(collection, f"strict-{name}", strict(content))

    assert (document.status, document.problem) == ("ready", "")
    assert list(document.passages.values_list("section", "page", "text")) == usual


def test_passages_of_a_long_table_begin_with_its_heads(collection):
    rows = [f"Site {number};{number * 7}" for number in range(200)]
    document = load(collection, "long.csv", "\n".join(["Site;Pallets", *rows]).encode())

    texts = list(document.passages.values_list("text", flat=True))
    assert len(texts) > 2
    assert {text.split("\n")[0] for text in texts} == {"Site | Pallets"}
    assert [row for text in texts for row in text.split("\n")[1:]] == [row.replace(";", " | ") for row in rows]


@pytest.mark.parametrize(("name", "mark"), [("bulletin.txt", ""), ("headings.md", "# "), ("bold.html", "<html><p><b>")])
def test_document_of_headings_alone_has_short_passages(collection, name, mark):
    lines = [f"STORM WARNING {number} OF THE COAST" for number in range(200)]
    document = load(collection, name, "\n\n".join(f"{mark}{line}" for line in lines).encode())

    texts = list(document.passages.values_list("text", flat=True))
    assert max(map(len, texts)) < 2_000
    assert [line for text in texts for line in text.split("\n")] == lines


def test_document_of_very_many_pages_is_read_as_far_as_passages_are_stored(collection, monkeypatch):
    monkeypatch.setattr(loading, "MAX_PASSAGES", 3)
    document = load(collection, "pages.txt", b"One.\fTwo.\fThree.\fFour.")

    assert (document.status, document.is_cut) == ("ready", True)
    assert list(document.passages.values_list("text", flat=True)) == ["One.", "Two.", "Three."]


def test_title_and_pages_are_those_that_the_file_states(collection):
    document = load(collection, "two.pdf", pdf("Storage", "Lease"))

    assert (document.title, document.pages, document.is_cut) == ("Site report", 2, False)


@pytest.mark.parametrize(
    ("title", "is_given"),
    [
        *((title, False) for title in ("Word Document", "Untitled", "Document1", "about:blank", "lease_v2.docx")),
        *((title, False) for title in ("Microsoft Word - lease.docx", "https://docs.example/lease?page=1")),
        *((title, True) for title in ("Documents of 2031", "Lease: first draft", "What is in lease.docx", "A.1 Terms")),
    ],
)
def test_title_that_no_person_gave_is_none(collection, title, is_given):
    page = f"<html><head><title>{title}</title></head><p>The lease.</p></html>".encode()

    assert str(load(collection, "lease.html", page)) == (title if is_given else "lease.html")


def test_value_that_was_typed_into_a_form_is_found_on_its_page(collection):
    field = {"/FT": "/Tx", "/T": "landlord", "/V": "Northwind"}
    load(collection, "form.pdf", make_form([], [field]))

    (passage,) = found(collection, "Northwind")

    assert (passage.page, passage.kind) == (2, "document")
    assert "landlord: Northwind" in passage.text


def bomb_of_a_page() -> bytes:
    """Return a PDF of a page whose content unpacks to more than a process may have."""
    packer = zlib.compressobj(9)
    drawn = b"BT /F1 12 Tf (more) Tj ET " * 40_000
    stream = b"".join(packer.compress(drawn) for _each in range(1_100)) + packer.flush()
    objects = (
        b"1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj "
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>endobj "
    )
    head = b"4 0 obj<</Length " + str(len(stream)).encode() + b"/Filter/FlateDecode>>stream\n"
    return b"%PDF-1.4\n" + objects + head + stream + b"\nendstream endobj\ntrailer<</Root 1 0 R>>"


LAUGHS = b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "%s">]><x>&b;</x>' % (b"&a;" * 1_000)
OUTSIDE = (
    b'<!DOCTYPE w [<!ENTITY e SYSTEM "file:///etc/passwd">]><w:document xmlns:w="http://schemas.openxmlformats.org/'
    b'wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>&e;</w:t></w:r></w:p></w:body></w:document>'
)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("bomb.docx", lambda: changed(word(), "word/document.xml", b" " * (101 * 1024**2)), "memory"),
        (
            "bomb.epub",
            lambda: archive({"META-INF/container.xml": b"x", **{f"{n}": b"x" for n in range(20_001)}}),
            "memory",
        ),
        ("laughs.xlsx", changed(workbook(), "xl/workbook.xml", LAUGHS), "empty"),
        ("outside.docx", changed(word(), "word/document.xml", OUTSIDE), "empty"),
        ("nested.eml", b"Subject: x\n" + b"Content-Type: message/rfc822\n\n" * 3_000, "unreadable"),
        ("scan.pdf", make_pdf(""), "scan"),
        ("locked.pdf", make_pdf("x", password="secret"), "encrypted"),
        ("broken.pdf", b"%PDF-1.7 nothing", "unreadable"),
        pytest.param("bomb.pdf", bomb_of_a_page, "memory", marks=pytest.mark.slow),
        ("blank.txt", b" \n ", "empty"),
    ],
)
def test_file_that_cannot_be_read_says_why_and_holds_nothing_up(collection, name, content, problem):
    accept(collection, "a-good.txt", b"Bryce stores 412 pallets.")
    accept(collection, name, content() if callable(content) else content)
    accept(collection, "z-good.txt", b"Bryce stores 412 pallets.")

    assert worker.read_waiting() == 3

    read = dict(collection.documents.values_list("name", "problem"))
    assert read == {"a-good.txt": "", name: problem, "z-good.txt": ""}
    assert len(found(collection, "pallets")) == 2


@pytest.mark.parametrize(
    ("name", "content", "code", "words"),
    [
        ("empty.txt", b"", "unsupported_type", "empty.txt is empty."),
        ("tool.exe", b"MZ\x00\x01", "unsupported_type", "tool.exe can’t be read. Allowed are text, PDF, DOCX"),
        ("old.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "unsupported_type", "old.doc is of an old Office format."),
        ("zip.docx", archive({"a": b"b"}), "unsupported_type", "zip.docx can’t be read."),
        ("big.txt", b"x" * 2001, "too_large", "big.txt is too large"),
        ("quota.txt", b"x" * 1999, "quota", "quota.txt was not added: your documents would use more than"),
    ],
)
def test_file_that_is_not_accepted_is_named_with_the_reason(collection, alice, settings, name, content, code, words):
    settings.DOCUMENT_MAX_BYTES, settings.DOCUMENT_QUOTA_BYTES = 2000, 2500
    accept(collection, "first.txt", b"x" * 600, person=alice)

    with pytest.raises(InvalidInputError) as refused:
        accept(collection, name, content, person=alice)

    assert (refused.value.code, refused.value.field) == (code, "files")
    assert refused.value.message.startswith(words)
    assert collection.documents.count() == 1


def test_quota_counts_the_text_of_a_small_file_too(collection, settings):
    settings.DOCUMENT_QUOTA_BYTES = 100_000
    rows = "".join(paragraph("The site stores pallets. " * 400) for _each in range(20))
    body = f'<w:document xmlns:w="{W}"><w:body>{rows}</w:body></w:document>'
    first = load(collection, "a.docx", changed(word(), "word/document.xml", body.encode()))
    assert first.size < 50_000

    with pytest.raises(InvalidInputError, match="your documents would use more than"):
        accept(collection, "b.md", b"Bryce")
    assert load(collection, "a.docx", word()).status == "ready"  # a copy takes the place of its text as well
    assert load(collection, "b.md", b"Bryce").status == "ready"


def test_mail_of_very_many_header_lines_takes_no_memory_to_recognise(collection):
    content = b"a:\n" * 300_000
    tracemalloc.start()
    try:
        accept(collection, "a.eml", content)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 20 * len(content)


def test_collection_that_is_full_takes_a_new_copy_of_what_it_has(collection, settings):
    settings.DOCUMENTS_PER_COLLECTION = 1
    load(collection, "notes.md", b"First copy.")

    with pytest.raises(InvalidInputError, match="at most 1 documents"):
        accept(collection, "other.md", b"Another.")
    assert load(collection, "notes.md", b"Second copy.").passages.get().text == "Second copy."


def test_file_that_is_loaded_again_unchanged_stays_as_it_is(collection):
    first = load(collection, "notes.md", NOTES.encode())

    again = accept(collection, "notes.md", NOTES.encode())

    assert (again.pk, again.status, again.changed_at) == (first.pk, "ready", first.changed_at)


def test_citations_of_unchanged_passages_survive_a_new_copy(collection):
    load(collection, "notes.md", NOTES.encode())
    before = {passage.text: passage.url for passage in found(collection, "warehouse pallets 2031")}

    load(collection, "notes.md", f"# Foreword\n\nNew. {LONG}\n\n{NOTES}".encode())

    kept = {passage.text: passage.url for passage in found(collection, "warehouse pallets 2031 Foreword")}
    assert len(kept) == len(before) + 1
    for text, url in before.items():
        (passage,) = read_passages(url, reader_for(collection)).passages
        assert passage.text == text


def test_copy_that_came_while_the_last_one_was_read_is_read_itself(collection):
    document = accept(collection, "notes.md", b"First copy.")
    assert loading.claim(document)
    accept(collection, "notes.md", b"Second copy.")

    loading.read(document)

    document.refresh_from_db()
    assert (document.status, document.passages.count()) == ("waiting", 0)
    assert load(collection, "notes.md", b"Second copy.").passages.get().text == "Second copy."


def test_document_of_a_process_that_was_killed_is_read_by_another(collection):
    with subprocess.Popen([sys.executable, "-c", "pass"]) as gone:
        gone.wait()
    host, _pid, start = leases.worker().rsplit(":", 2)
    document = accept(collection, "notes.md", NOTES.encode())
    reading = Document.objects.filter(pk=document.pk)
    reading.update(status="reading", worker=f"{host}:{gone.pid}:{start}")

    assert worker.read_waiting() == 1
    assert reading.get().status == "ready"


def test_people_wait_for_no_more_than_the_next_document_of_each_other(collection):
    for number in range(3):
        accept(collection, f"{number}.md", NOTES.encode())
    others = Collection.objects.create(owner=make_user("carol"), name="Leases")
    accept(others, "lease.md", NOTES.encode())

    claimed = [loading.claim_next().name for _document in range(4)]

    assert claimed == ["0.md", "lease.md", "1.md", "2.md"]


def test_document_that_a_living_process_reads_is_left_to_it(collection):
    document = accept(collection, "notes.md", NOTES.encode())
    assert loading.claim(document)

    assert not loading.claim(document)
    assert worker.read_waiting() == 0


def test_deletion_says_how_many_answers_cite_a_document(collection, alice):
    document = load(collection, "notes.md", NOTES.encode())
    passage = found(collection, "pallets")[0]
    for owner in (alice, alice, make_user("carol")):
        turn = open_turn(make_conversation(owner=owner).pk, text="How many?")
        end_turn(turn, [AssistantMessage(text="412 [1].", citations=({"url": passage.url},))])

    assert collections.cited_by(document) == 2
    collections.delete_document(alice, document)
    assert not found(collection, "pallets")


def test_contents_are_stored_encrypted_and_passages_readable(collection, settings):
    document = load(collection, "report.docx", changed(word(), "docProps/app.xml", CANARY.encode()))
    with connection.cursor() as cursor:
        cursor.execute("SELECT sealed_content FROM chat_document")
        stored = bytes(cursor.fetchone()[0])
    settings.CONTENT_KEYS = [Fernet.generate_key().decode(), *settings.CONTENT_KEYS]
    call_command("rotate_keys", verbosity=0)
    settings.CONTENT_KEYS = settings.CONTENT_KEYS[:1]

    assert stored.startswith(b"gAAAA")
    document.refresh_from_db()
    assert documents.content_of(document).startswith(b"PK")


def test_command_loads_folders_into_the_collection_of_a_person(alice, tmp_path, capsys):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "hidden.txt").write_text("hidden")
    (tmp_path / "notes.md").write_text(NOTES)
    (tmp_path / "two.pdf").write_bytes(pdf("Storage", "Lease"))
    (tmp_path / "scan.pdf").write_bytes(make_pdf(""))
    (tmp_path / "tool.exe").write_bytes(b"MZ\x00")

    with pytest.raises(SystemExit):
        call_command("load_documents", tmp_path, collection="Sites", owner="alice")

    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        "notes.md: Storage, 2 passages",
        "two.pdf: Site report, 2 passages, 2 pages",
        "2 documents loaded, 2 failed.",
    ]
    assert "scan.pdf has no text layer: it is a scan." in printed.err
    assert "tool.exe can’t be read." in printed.err
    assert Collection.objects.get(owner=alice).name == "Sites"


@pytest.mark.parametrize("name", ["", "  ", "x" * 81])
def test_command_refuses_a_name_that_no_page_accepts(tmp_path, name):
    (tmp_path / "notes.md").write_text(NOTES)

    with pytest.raises(CommandError, match="name: between 1 and 80 characters are needed"):
        call_command("load_documents", tmp_path, collection=name)

    assert not Collection.objects.exists()


def test_files_of_one_name_in_two_folders_do_not_replace_each_other(alice, tmp_path):
    for year in (2024, 2025):
        (tmp_path / "years" / str(year)).mkdir(parents=True)
        (tmp_path / "years" / str(year) / "report.md").write_text(f"Bryce stores {year} pallets.")
    (tmp_path / "years" / "notes.md").write_text("Other notes.")

    call_command("load_documents", tmp_path / "years", collection="Sites", owner="alice")

    stored = Collection.objects.get(owner=alice).documents.order_by("name").values_list("name", "passages__text")
    assert list(stored) == [
        ("2024 report.md", "Bryce stores 2024 pallets."),
        ("2025 report.md", "Bryce stores 2025 pallets."),
        ("notes.md", "Other notes."),
    ]


def test_long_names_that_differ_at_their_ends_stay_two(collection):
    for part in (1, 2):
        load(collection, f"{'Minutes of the meeting of the board. ' * 4}Part {part}.md", f"Part {part}.".encode())

    names = list(collection.documents.values_list("name", flat=True))
    assert [name[-9:] for name in sorted(names)] == ["Part 1.md", "Part 2.md"]


def test_command_loads_into_a_collection_of_the_site_without_a_person(tmp_path, capsys):
    (tmp_path / "notes.md").write_text("Bryce stores 412 pallets.")

    call_command("load_documents", tmp_path / "notes.md", tmp_path / "notes.md")

    assert Collection.objects.get().owner is None
    assert capsys.readouterr().out.endswith("2 documents loaded.\n")


W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
M = "http://schemas.openxmlformats.org/officeDocument/2006/math"


def paragraph(text: str) -> str:
    return f'<w:p><w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<w:p><w:moveFrom><w:r><w:t>Moved.</w:t></w:r></w:moveFrom></w:p>" + paragraph("Moved."), "Moved."),
        ("<w:p><w:r><w:t>E = </w:t></w:r><m:oMath><m:r><m:t>mc²</m:t></m:r></m:oMath></w:p>", "E = mc²"),
        (paragraph("if x:") + paragraph("    return"), "if x:\n\n    return"),
        (
            f"<w:tbl><w:tr><w:tc>{paragraph('A')}<w:tbl><w:tr><w:tc>{paragraph('in')}</w:tc></w:tr></w:tbl></w:tc>"
            f"<w:tc>{paragraph('B')}</w:tc></w:tr></w:tbl>",
            "A in | B",
        ),
    ],
)
def test_word_document_is_read_once_and_whole(collection, body, text):
    source = f'<w:document xmlns:w="{W}" xmlns:m="{M}"><w:body>{body}</w:body></w:document>'
    document = load(collection, "a.docx", changed(word(), "word/document.xml", source.encode()))

    assert document.passages.get().text == text


def test_word_document_is_read_though_a_picture_is_missing_and_it_has_macros(collection):
    with ZipFile(io.BytesIO(word())) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    relations, types = "word/_rels/document.xml.rels", "[Content_Types].xml"
    image = b'<Relationship Id="rId99" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/image"'
    parts[relations] = parts[relations].replace(b"</Rel", image + b' Target="../NULL"/></Rel')
    usual = b"vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    parts[types] = parts[types].replace(usual, b"vnd.ms-word.document.macroEnabled.main+xml")

    document = load(collection, "a.docx", archive(parts))

    assert (document.title, document.passages.get().section) == ("Site report", "Storage › Pallets")


@pytest.mark.parametrize("header", ['To: "', "From: .:a;\t:", "Cc: ?=@"])
def test_mail_with_a_broken_header_is_read(collection, header):
    document = load(collection, "a.eml", f"{header}\nSubject: Lease\n\nIt ends in 2031.\n".encode())

    assert document.passages.get().text == f"Lease\n{header}\n\nIt ends in 2031."


def test_comments_of_a_word_document_are_read(collection):
    with ZipFile(io.BytesIO(word())) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    parts["word/comments.xml"] = f'<w:comments xmlns:w="{W}"><w:comment>{paragraph("Why?")}</w:comment></w:comments>'

    assert load(collection, "a.docx", archive(parts)).passages.last().text.endswith("Why?")


def test_values_stay_in_their_columns(collection):
    book = openpyxl.Workbook()
    book.active.append(["Site", "2024", "2025", "2026", "Sum"])
    book.active.append(["Bryce", None, None, None, 5])

    document = load(collection, "sparse.xlsx", saved(book))

    assert document.passages.get().text.endswith("Site | 2024 | 2025 | 2026 | Sum\nBryce |  |  |  | 5")


def test_formula_without_a_stored_value_is_shown_itself(collection):
    book = openpyxl.Workbook()
    book.active.append(["Rent", 9, "=B1*12"])

    assert load(collection, "sum.xlsx", saved(book)).passages.get().text.endswith("Rent | 9 | =B1*12")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("id,note\n1,'tis\n2,rock 'n' roll\n3,'em all", "id | note\n1 | 'tis\n2 | rock 'n' roll\n3 | 'em all"),
        ("a,b\n" + "1,2\n" * 3_000 + '"x ""y"", z",3', 'x "y", z | 3'),
        ("sep=;\r\nSite;Rent\r\nBryce;9,20", "Site | Rent\nBryce | 9,20"),
        (f"a,b\n{'x' * 1_100_000},2", "x | 2"),
    ],
)
def test_table_in_text_is_divided_at_its_delimiter_alone(collection, content, text):
    document = load(collection, "a.csv", content.encode())

    assert document.passages.order_by("ordinal").last().text.endswith(text)


@pytest.mark.parametrize("name", ["👨‍👩‍👧.txt", "می‌خواهم.txt"])
def test_name_with_joined_letters_stays(collection, name):
    assert load(collection, name, b"Bryce").name == name
