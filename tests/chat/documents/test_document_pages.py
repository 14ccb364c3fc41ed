"""The pages of people's documents: collections, uploads and their state, the reader, originals, and who may what."""

import io
import json
import uuid
from threading import BoundedSemaphore
from typing import Any

import pypdf
import pytest
from cryptography.fernet import Fernet
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from lxml.html import fromstring
from PIL import Image

from accounts.models import User
from chat.audit.scan import scan_database
from chat.conversations.actions import purge
from chat.documents import sources, worker
from chat.documents.access import reader_of
from chat.models import Collection, Document, DocumentPassage, PagePicture, Project
from chat.tools.base import SearchQuery
from reasoning.events import AssistantMessage
from tests.chat.attached import make_form, make_pdf
from tests.chat.card_samples import words
from tests.chat.document_samples import accept, load, word
from tests.chat.shared_talk import unzipped
from tests.factories import PASSWORD, client_of, end_turn, make_conversation, make_user, open_turn, sign_in_staff

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engine]
HTMX = {"HX-Request": "true"}
LEASE = b"# Storage\n\nThe Bryce site stores 412 pallets.\n\n# Lease\n\nIts lease ends on 30 June 2031."


@pytest.fixture
def collection(alice):
    return Collection.objects.create(owner=alice, name="Sites")


@pytest.fixture
def of_site(db):
    return Collection.objects.create(owner=None, name="Handbooks")


@pytest.fixture
def client(alice):
    return client_of(alice)


def polling(page: Any) -> str:
    return str(fromstring(page.text).xpath("string(//*[@id='documents']/@hx-trigger)"))


def add(client: Client, collection: Collection, *names: str, content: bytes = LEASE, **headers: str) -> Any:
    files = [SimpleUploadedFile(name, b"MZ\0" if name.endswith(".exe") else content) for name in names]
    return client.post(collection.get_absolute_url(), {"files": files}, headers=headers, follow=not headers)


def cite(owner: User, document: Document) -> None:
    """Have an answer of this person cite the first passage of a document."""
    url = f"{document.get_absolute_url()}{document.passages.first().anchor}"
    turn = open_turn(make_conversation(owner=owner).pk, text="When?")
    end_turn(turn, [AssistantMessage(text="In 2031. [1]", citations=({"ref": 1, "url": url},))])


def texts(page: Any, path: str) -> list[str]:
    """Return the texts of the elements at an XPath, white space folded."""
    return [words([found]) for found in fromstring(page.text).xpath(path)]


def test_collection_is_created_renamed_and_deleted(alice, client):
    created = client.post("/documents/", {"name": "  Site \n papers "}, follow=True)
    made = alice.collections.get()
    assert (made.name, "No documents yet." in created.text) == ("Site papers", True)

    client.post(made.get_absolute_url(), {"rename": "1", "name": "Leases"})
    assert texts(client.get("/documents/"), "//*[@class='selectable']//a") == ["Leases"]
    cite(alice, load(made, "lease.md", LEASE))
    asked = client.get(f"{made.get_absolute_url()}delete/")
    assert "1 document is deleted with the collection." in asked.text
    assert "1 answer cites it." in asked.text
    client.post(f"{made.get_absolute_url()}delete/")
    assert [*Collection.objects.all(), *DocumentPassage.objects.all()] == []


@pytest.mark.parametrize("name", ["", " ", "\u200b \u2060", "n" * 81])
def test_name_that_does_not_fit_is_refused_and_not_lost(client, collection, name):
    for address, form in (("/documents/", {}), (collection.get_absolute_url(), {"rename": "1"})):
        refused = client.post(address, {**form, "name": name})

        assert (refused.status_code, "between 1 and 80 characters" in refused.text) == (400, True)
        assert f'value="{name}"' in refused.text
    assert [each.name for each in Collection.objects.all()] == ["Sites"]


def test_several_files_are_added_and_their_state_is_shown_until_they_are_read(client, collection):
    page = add(client, collection, "lease.md", "Ünlike.md", "tool.exe")

    assert texts(page, "//*[@class='notices']//p")[0].startswith("tool.exe can’t be read.")
    assert "2 documents were added." in page.text
    assert "waiting to be read" in texts(page, "//*[@data-status='waiting']")[0]
    assert "every 2s" in polling(page)
    worker.read_waiting()
    part = client.get(collection.get_absolute_url(), headers=HTMX)
    assert "<html" not in part.text
    assert "every 2s" not in polling(part)
    assert sorted(texts(part, "//*[@data-status='ready']//a[@dir]")) == ["lease.md", "Ünlike.md"]


def test_document_says_its_pages_or_why_it_cannot_be_read(client, collection):
    load(collection, "two.pdf", make_pdf("One.", "Two."))
    load(collection, "locked.pdf", make_pdf("Secret.", password="s"))

    shown = texts(client.get(collection.get_absolute_url()), "//*[@class='documents']/li")

    assert [line for line in shown if "2 pages" in line and line.startswith("two.pdf")]
    assert [line for line in shown if "locked.pdf is protected by a password." in line]


def test_script_uploads_one_file_and_gets_its_refusal_in_words(client, collection, settings):
    assert add(client, collection, "lease.md", **HTMX).status_code == 201
    settings.DOCUMENTS_PER_COLLECTION = 1

    refused = add(client, collection, "other.md", **HTMX)

    assert (refused.status_code, refused.json()["error"]["code"]) == (200, "too_many")
    assert [document.name for document in collection.documents.all()] == ["lease.md"]


def test_long_lists_have_pages(client, collection, monkeypatch):
    monkeypatch.setattr("chat.pages.documents.PAGE_DOCUMENTS", 2)
    for name in ("a.md", "b.md", "c.md"):
        accept(collection, name, LEASE)

    assert texts(client.get(collection.get_absolute_url(), {"page": "2"}), "//*[@class='documents']//a[@dir]") == [
        "c.md"
    ]
    assert len(texts(client.get(collection.get_absolute_url(), {"page": "x"}), "//*[@class='documents']//a[@dir]")) == 2


def test_deletion_of_a_document_says_how_many_answers_cite_it(alice, client, collection):
    document = load(collection, "lease.md", LEASE)
    cite(alice, document)
    address = f"{document.get_absolute_url()}delete/"

    assert "1 answer cites it." in client.get(address).text
    assert client.post(address)["Location"] == collection.get_absolute_url()
    gone = client.get(document.get_absolute_url())
    assert (gone.status_code, "The document was deleted" in gone.text) == (404, True)
    beside = client.get(document.get_absolute_url(), headers={"HX-Request": "true"})
    assert (beside.status_code, "The document was deleted" in beside.text, "<html" in beside.text) == (200, True, False)


def test_reader_shows_sections_pages_and_the_cited_words(client, collection):
    document = load(collection, "report.docx", word())
    passage = document.passages.get()
    address = f"{document.get_absolute_url()}?passage={passage.anchor[1:]}&quote=stores 412 pallets"

    page, panel = client.get(address), client.get(address, headers=HTMX)

    assert texts(page, "//h1") == ["Site report"]
    assert texts(page, "//section/h2") == ["Storage › Pallets"]
    for shown in (page, panel):
        assert texts(shown, "//*[@data-cited]//mark") == ["stores 412 pallets"]
        assert texts(shown, "//*[@data-passage]//td") == ["Rent", "9,200"]
    assert "<html" not in panel.text
    document = load(collection, "two.pdf", make_pdf("Storage costs rise.", "The lease ends."))
    assert texts(client.get(document.get_absolute_url()), "//p[contains(@class, 'passage__page')]") == [
        "Page 1",
        "Page 2",
    ]


def test_long_document_is_shown_in_parts(client, collection, monkeypatch):
    monkeypatch.setattr("chat.filings.reader.PART_PASSAGES", 2)
    pages = [f"Page number {number} of the lease." for number in range(5)]
    document = load(collection, "long.pdf", make_pdf(*pages))
    last = document.passages.last()

    page = client.get(document.get_absolute_url(), {"passage": last.anchor[1:]})

    assert [text.endswith(pages[4]) for text in texts(page, "//*[@data-passage]")] == [True]
    assert texts(page, "//nav[contains(@class, 'reader-parts')]/span") == ["Part 3 of 3"]
    assert len(texts(client.get(document.get_absolute_url()), "//*[@data-passage]")) == 2


def test_original_is_a_download_that_is_no_page_of_this_site(client, collection):
    document = load(collection, "a”b.html", b"<script>alert(1)</script><p>Its lease ends.</p>")

    answer = client.get(f"{document.get_absolute_url()}file/")

    assert answer.content == b"<script>alert(1)</script><p>Its lease ends.</p>"
    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["Content-Disposition"].startswith("attachment;")
    assert answer["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert "no-store" in answer["Cache-Control"]


def test_everybody_reads_what_is_the_sites_and_nobody_changes_it(client, of_site):
    document = load(of_site, "rules.md", LEASE)
    page = client.get(of_site.get_absolute_url())

    assert "Handbooks" in client.get("/documents/").text
    assert not texts(page, "//*[@type='file' or @name='rename' or @data-icon='delete']")
    assert client.get(document.get_absolute_url()).status_code == 200
    assert client.get(f"{document.get_absolute_url()}file/").content == LEASE
    changes = [
        client.post("/documents/", {"name": "Mine", "site": "on"}),
        add(client, of_site, "x.md", **HTMX),
        client.post(of_site.get_absolute_url(), {"rename": "1", "name": "Mine"}),
        client.post(f"{of_site.get_absolute_url()}delete/"),
        client.post(f"{document.get_absolute_url()}delete/"),
    ]
    assert {change.status_code for change in changes} == {403}
    assert [each.name for each in (*Collection.objects.all(), *Document.objects.all())] == ["Handbooks", "rules.md"]


def test_staff_manage_what_is_the_sites_by_permission(alice):
    staff, without = Client(), client_of(make_user("tess", is_staff=True))
    sign_in_staff(staff)

    made = staff.post("/documents/", {"name": "Rules", "site": "on"}, follow=True)
    of_site = Collection.objects.get(owner=None)
    add(staff, of_site, "rules.md", **HTMX)

    assert "A collection of this site" in made.text
    assert add(without, of_site, "other.md", **HTMX).status_code == 403
    assert client_of(alice).get(of_site.documents.get().get_absolute_url()).status_code == 200
    assert staff.post(f"{of_site.get_absolute_url()}delete/").status_code == 302
    assert not Collection.objects.exists()


def test_tools_read_what_was_chosen_for_the_conversation_or_its_project(alice, client, collection, of_site):
    project = Project.objects.create(owner=alice, name="Harbour")
    conversation = make_conversation(owner=alice)
    load(collection, "lease.txt", LEASE)
    load(of_site, "rules.txt", LEASE)

    def found() -> set[str]:
        answer = sources.search(SearchQuery(text="pallets", kinds=("document",)), reader_of(conversation.pk))
        return {passage.title for passage in answer.passages}

    address = f"/chats/{conversation.pk}/collections/"
    assert found() == {"lease.txt", "rules.txt"}
    client.post(project.get_absolute_url(), {"reads": "some", "collection": of_site.pk.hex})
    client.post(f"/chats/{conversation.pk}/manage/", {"do": "move", "project": project.pk})
    assert found() == {"rules.txt"}
    picker = client.post(address, {"reads": "some", "collection": collection.pk.hex}, headers=HTMX)
    assert (found(), texts(picker, "//*[@class='collections__label']")) == ({"lease.txt"}, ["Sites"])
    assert client.post(address, {"reads": "none"})["Location"] == conversation.get_absolute_url()
    assert (found(), "No documents" in client.get(conversation.get_absolute_url()).text) == (set(), True)
    client.post(address, {"reads": "all"})
    assert found() == {"rules.txt"}
    assert client.post(address, {"reads": "some", "collection": "x"}).status_code == 404
    assert client.post(address, {}).status_code == 404


def test_what_is_somebody_elses_is_found_at_no_door(alice, bob, collection):
    """The addresses that name a collection or a document are all tried in test_access; these name one otherwise."""
    document = load(collection, "lease.md", LEASE)
    conversation, project = make_conversation(owner=bob), Project.objects.create(owner=bob, name="Mine")
    stranger = client_of(bob)
    url = f"{document.get_absolute_url()}{document.passages.first().anchor}"
    chosen = {"reads": "some", "collection": collection.pk.hex}
    form = json.dumps({"collections": [collection.pk.hex]})

    refused = [
        stranger.post(f"/chats/{conversation.pk}/collections/", chosen),
        stranger.post(project.get_absolute_url(), chosen),
        stranger.patch(f"/api/chats/{conversation.pk}/", form, content_type="application/json"),
    ]

    assert {answer.status_code for answer in refused} == {404}
    # Even if a choice of an earlier time names it.
    conversation.collection_ids = [collection.pk.hex]
    conversation.save()
    reader = reader_of(conversation.pk)
    assert sources.search(SearchQuery(text="pallets", kinds=("document",)), reader).passages == ()
    assert sources.read(url, reader).passages == ()
    assert sources.entries(reader, ("document",)) == []
    for address in ("/documents/", "/api/documents/collections/", conversation.get_absolute_url()):
        assert "Sites" not in stranger.get(address).text
    assert "Sites" not in unzipped(stranger.get("/data/export/"))["account.json"]


def test_export_and_deletion_of_the_account_know_documents(alice, client, collection, of_site):
    document = load(collection, "lease.md", LEASE)
    load(of_site, "rules.md", LEASE)

    files = unzipped(client.get("/data/export/"))

    assert files[f"documents/sites-{collection.pk.hex[:8]}/{document.pk.hex[:8]}-lease.md"] == LEASE.decode()
    assert not [name for name in files if "rules" in name]
    assert json.loads(files["account.json"])["collections"] == [{"name": "Sites", "documents": ["lease.md"]}]
    client.post("/data/delete-account/", {"password": PASSWORD})
    assert [each.name for each in Document.objects.all()] == ["rules.md"]
    assert not DocumentPassage.objects.filter(document=document.pk).exists()


def test_staff_list_documents_without_their_texts(collection):
    load(collection, "lease.md", LEASE)
    staff = Client()
    sign_in_staff(staff)

    listed = staff.get("/admin/chat/document/")
    shown = staff.get(f"/admin/chat/document/{Document.objects.get().pk}/change/")

    assert "lease.md" in listed.text
    assert "412 pallets" not in listed.text + shown.text
    assert staff.post("/admin/chat/document/add/").status_code == 403


def page_picture(document: Document, page: int) -> str:
    return f"{document.get_absolute_url()}pages/{page}.webp"


def shown_pages(client: Client, document: Document) -> list[tuple[str, ...]]:
    """Return address, alternative text and size of the pictures in a reader."""
    images = fromstring(client.get(document.get_absolute_url()).text).xpath("//*[@data-passage]//details//img")
    assert {image.get("loading") for image in images} <= {"lazy"}
    return [tuple(image.get(name) for name in ("src", "alt", "width", "height")) for image in images]


def test_reader_shows_pages_of_a_pdf_as_pictures(client, collection):
    document = load(collection, "two.pdf", make_pdf("Storage costs rise.", "The lease ends."))
    address = page_picture(document, 2)

    answer = client.get(address)

    assert shown_pages(client, document)[1] == (address, "Page 2 of two.pdf", "1200", "1600")
    with Image.open(io.BytesIO(answer.content)) as image:
        assert (image.format, image.size) == ("WEBP", (1200, 1600))
        assert image.convert("L").getextrema()[0] < 64  # ink
    assert answer["Content-Type"] == "image/webp"
    assert answer["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Cache-Control"] == "private, no-cache"
    assert client.get(address, headers={"If-None-Match": answer["ETag"]}).status_code == 304


@pytest.mark.parametrize(("width", "height", "size"), [(14_400, 20, (1200, 2)), (20, 14_400, (3, 2400))])
def test_picture_of_an_odd_page_is_bounded(client, collection, width, height, size):
    writer = pypdf.PdfWriter(io.BytesIO(make_pdf("Storage costs rise.", "The lease ends.")))
    writer.pages[1].mediabox = pypdf.generic.RectangleObject((0, 690, width, 690 + height))
    out = io.BytesIO()
    writer.write(out)
    document = load(collection, "odd.pdf", out.getvalue())

    answer = client.get(page_picture(document, 2))

    with Image.open(io.BytesIO(answer.content)) as image:
        assert all(abs(drawn - most) <= 1 for drawn, most in zip(image.size, size, strict=True))


def test_picture_shows_what_a_form_was_filled_in_with(client, collection):
    blank, filled = (
        load(
            collection,
            f"{name}.pdf",
            make_form(
                [{"/FT": "/Tx", "/T": "Name", "/V": value, "/Rect": [50, 500, 300, 530], "/DA": "/Helv 14 Tf 0 g"}]
            ),
        )
        for name, value in (("blank", ""), ("filled", "Ada Lovelace"))
    )

    assert client.get(page_picture(blank, 1)).content != client.get(page_picture(filled, 1)).content


def test_pages_that_nobody_may_see_or_that_are_none_are_not_found(bob, client, collection, of_site):
    document = load(collection, "two.pdf", make_pdf("Storage costs rise.", "The lease ends."))
    text = load(collection, "lease.md", LEASE)
    rules = load(of_site, "rules.pdf", make_pdf("Rules."))
    again = load(collection, "again.pdf", make_pdf("Storage."))
    accept(collection, "again.pdf", make_pdf("Another text."))

    assert client_of(bob).get(page_picture(rules, 1)).status_code == 200
    for who, address in (
        (client_of(bob), page_picture(document, 1)),
        (client, page_picture(document, 0)),
        (client, page_picture(document, 3)),
        (client, page_picture(document, 10**30)),
        (client, page_picture(text, 1)),
        (client, page_picture(again, 1)),  # passages are still those of the copy before
    ):
        assert who.get(address).status_code == 404
    assert Client().get(page_picture(rules, 1)).status_code == 302
    assert (shown_pages(client, text), shown_pages(client, again)) == ([], [])


def test_page_is_drawn_once_stored_encrypted_and_gone_with_its_document(client, collection, settings, monkeypatch):
    document = load(collection, "two.pdf", make_pdf("Storage costs rise.", "The lease ends."))
    drawn = client.get(page_picture(document, 1)).content
    with monkeypatch.context() as patched:
        patched.setattr("chat.documents.pictures.WAIT_LIMIT_S", 0.01)
        patched.setattr("chat.documents.pictures.drawing", BoundedSemaphore(0))  # nothing can be drawn any more
        assert client.get(page_picture(document, 1)).content == drawn
    stored = PagePicture.objects.get()
    assert Fernet(settings.CONTENT_KEYS[0]).decrypt(bytes(stored.sealed)) == drawn
    assert [*scan_database()] == []

    load(collection, "two.pdf", make_pdf("Another text."))
    assert not PagePicture.objects.exists()
    assert client.get(page_picture(document, 1)).content != drawn
    client.post(f"{document.get_absolute_url()}delete/")
    assert not PagePicture.objects.exists()
    assert client.get(page_picture(document, 1)).status_code == 404


def test_large_files_wait_for_a_slot_and_are_refused_without_one(client, collection, monkeypatch):
    large, small = load(collection, "large.md", LEASE * 9), load(collection, "small.md", LEASE)
    monkeypatch.setattr("chat.files.slots.LARGE_BYTES", large.size)
    with monkeypatch.context() as patched:
        patched.setattr("chat.files.slots.SLOT_WAIT_S", 0.01)
        patched.setattr("chat.files.slots.large_files", BoundedSemaphore(0))
        refused = add(client, collection, "more.md", content=LEASE * 9, **HTMX)
        later = client.get(f"{large.get_absolute_url()}file/")
        assert add(client, collection, "other.md", **HTMX).status_code == 201
        assert client.get(f"{small.get_absolute_url()}file/").content == LEASE

    assert refused.json()["error"]["message"].startswith("more.md was not added: other files are being read.")
    assert (later.status_code, later["Retry-After"]) == (503, "5")
    for _each in range(3):  # a slot is free again afterwards
        assert client.get(f"{large.get_absolute_url()}file/").content == LEASE * 9
        assert add(client, collection, "more.md", content=LEASE * 9, **HTMX).status_code == 201


def test_pictures_are_few_and_those_of_deleted_accounts_and_documents_go(client, collection, monkeypatch):
    monkeypatch.setattr("chat.eventlog.documents.MAX_PICTURES", 2)
    document = load(collection, "three.pdf", make_pdf("One.", "Two.", "Three."))
    for page in (1, 2, 3):
        client.get(page_picture(document, page))
    assert {picture.page for picture in PagePicture.objects.all()} == {2, 3}

    PagePicture.objects.create(document_id=uuid.uuid4(), page=1, digest="")  # as version 0.2.0 would leave it
    purge()
    assert {picture.document for picture in PagePicture.objects.all()} == {document}
    client.post("/data/delete-account/", {"password": PASSWORD})
    assert not PagePicture.objects.exists()


def test_keys_of_pictures_are_rotated(client, collection, settings):
    document = load(collection, "one.pdf", make_pdf("Storage costs rise."))
    drawn = client.get(page_picture(document, 1)).content
    settings.CONTENT_KEYS = [Fernet.generate_key().decode(), *settings.CONTENT_KEYS]

    call_command("rotate_keys")

    settings.CONTENT_KEYS = settings.CONTENT_KEYS[:1]
    assert client.get(page_picture(document, 1)).content == drawn


def test_page_that_takes_too_long_says_so_once_and_keeps_its_text(client, collection, monkeypatch):
    document = load(collection, "two.pdf", make_pdf("Storage costs rise.", "The lease ends."))
    with monkeypatch.context() as patched:
        patched.setattr("chat.documents.pictures.TIME_LIMIT_S", 0.000_001)
        failed = client.get(page_picture(document, 1))

    assert (failed.status_code, failed["Content-Type"]) == (422, "text/plain; charset=utf-8")
    assert failed.text == "This page can’t be shown as a picture: it takes too long to draw."
    assert client.get(page_picture(document, 1)).text == failed.text  # it is not tried again
    page = client.get(document.get_absolute_url())
    assert failed.text in texts(page, "//*[@data-passage]//details/p")
    assert "Storage costs rise." in texts(page, "//*[@data-passage]/p")
    assert [address for address, *_ in shown_pages(client, document)] == [page_picture(document, 2)]
    assert client.get(page_picture(document, 2)).status_code == 200


def test_who_asks_for_many_slow_pages_has_to_wait(client, bob, of_site, monkeypatch):
    document = load(of_site, "rules.pdf", make_pdf("One.", "Two."))
    monkeypatch.setattr("chat.documents.pictures.SLOW_ALLOWED", 1)
    with monkeypatch.context() as patched:
        patched.setattr("chat.documents.pictures.TIME_LIMIT_S", 0.000_001)
        client.get(page_picture(document, 1))

    refused = client.get(page_picture(document, 2))

    assert (refused.status_code, refused["Retry-After"]) == (503, "5")
    assert "Try again in a moment." in refused.text
    assert client_of(bob).get(page_picture(document, 2)).status_code == 200
    assert client.get(page_picture(document, 2)).status_code == 200  # it is drawn by now


def test_page_is_asked_for_again_when_all_processes_are_at_work(client, collection, monkeypatch):
    document = load(collection, "one.pdf", make_pdf("Storage costs rise."))
    with monkeypatch.context() as patched:
        patched.setattr("chat.documents.pictures.WAIT_LIMIT_S", 0.01)
        patched.setattr("chat.documents.pictures.drawing", BoundedSemaphore(0))
        assert client.get(page_picture(document, 1)).status_code == 503

    assert client.get(page_picture(document, 1)).status_code == 200
