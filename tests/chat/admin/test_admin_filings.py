"""Staff load filings by hand: what is read is there at once, what isn't is named with its reason."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from chat.admin import filings
from chat.filings import submission
from chat.filings.models import Filing, Passage
from reasoning.events import AssistantMessage
from tests.factories import end_turn, make_conversation, open_turn, sign_in_staff

MADE = {
    "filing": "10-K",
    "company": "Plover",
    "date": None,
    "period": None,
    "section": "Item 1",
    "anchor": "#item-1-p1",
}

LIST, ADD = "/admin/filings/filing/", "/admin/filings/filing/add/"
REPORT = """<html><body><p>FORM 10-K</p><p>Plover Works, Inc.</p>
<p>(Exact name of registrant as specified in its charter)</p>
<p>For the fiscal year ended December 31, 2024</p>
<p>Item 1. Business</p><p>We make turbines for small rivers, and nothing else at all.</p>
<p>Item 1A. Risk Factors</p><p>Rivers may run dry in a summer without rain.</p></body></html>"""


@pytest.fixture(autouse=True)
def sam(client, db):
    return sign_in_staff(client)


def file(name: str, content: str | bytes = REPORT) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content if isinstance(content, bytes) else content.encode())


def sent(client: Client, *files: SimpleUploadedFile, **fields: str) -> Any:
    return client.post(ADD, {"documents": list(files), **fields}, follow=True)


def errors(answer: Any) -> list[str]:
    assert answer.status_code == 200
    return [str(error) for error in answer.context["form"].errors.get("documents", [])]


def test_file_becomes_a_filing_that_search_finds(client, sam):
    answer = sent(client, file("plover.htm"), filed_on="2025-02-14")

    filing = Filing.objects.get()
    page = answer.content.decode()
    assert answer.redirect_chain == [(LIST, 302)]
    assert (filing.form, filing.source_name, str(filing.filed_on)) == ("10-K", "plover.htm", "2025-02-14")
    assert f"Loaded plover.htm: {filing.company} 10-K, {filing.passages.count()} passages" in page
    assert Passage.objects.all().best("turbines rivers", 1)
    assert LogEntry.objects.get().user == sam


def test_unreadable_file_is_named_and_the_others_are_loaded(client):
    answer = sent(client, file("scan.htm", b"%PDF-1.7"), file("plover.htm"), file("note.txt", "Buy milk."))

    lines = errors(answer)
    assert [line.partition(" was skipped: ")[0] for line in lines] == ["scan.htm", "note.txt"]
    assert "not an HTML or text document" in lines[0]
    assert "not a filing" in lines[1]
    assert Filing.objects.get().source_name == "plover.htm"


def test_file_over_the_limit_is_refused_unread(client, monkeypatch):
    monkeypatch.setattr(submission, "MAX_BYTES", 100)

    assert "plover.htm was skipped: larger than the limit" in errors(sent(client, file("plover.htm")))[0]
    assert not Filing.objects.exists()


def test_no_file_and_too_many_are_refused(client):
    assert errors(client.post(ADD, {})) == ["This field is required."]
    assert errors(sent(client, *(file(f"{n}.htm") for n in range(filings.MAX_FILES + 1)))) == [
        "At most 20 files at once."
    ]
    assert not Filing.objects.exists()


def test_deletion_asks_first_and_removes_passages_from_search(client):
    sent(client, file("plover.htm"))
    filing = Filing.objects.get()
    url = reverse("admin:filings_filing_delete", args=[filing.pk])

    count = filing.passages.count()
    asked = client.get(url).content.decode()
    client.post(url, {"post": "yes"})

    assert f"{filing}: {count} passages, cited by 0 answers" in asked
    assert "turbines for small rivers" not in asked
    assert not Passage.objects.all().best("turbines rivers", 1)


def test_deletion_says_how_many_answers_cite_the_filing(client, alice):
    sent(client, file("plover.htm"))
    filing = Filing.objects.get()
    conversation = make_conversation(owner=alice)
    for slug in (filing.slug, filing.slug, f"{filing.slug}-2"):
        turn = open_turn(conversation.pk, text="Why?")
        citation = {"ref": 1, "url": f"/filings/{slug}/#item-1-p1", "snippet": f"not /filings/{filing.slug}/"}
        end_turn(turn, [AssistantMessage(text="So [1].", citations=(MADE | citation,))])

    asked = client.get(reverse("admin:filings_filing_delete", args=[filing.pk])).content.decode()

    assert "cited by 2 answers" in asked
    url = f"/filings/{filing.slug}/"
    filing.delete()
    answer = client.get(url)
    assert answer.status_code == 404
    assert "This source is not here any more" in answer.content.decode()


def test_filing_is_never_edited(client):
    sent(client, file("plover.htm"))
    url = reverse("admin:filings_filing_change", args=[Filing.objects.get().pk])

    assert client.post(url, {"company": "Forged"}).status_code == 403
    assert Filing.objects.get().company != "Forged"


@pytest.mark.sqlite
def test_incomplete_index_is_reported(client, monkeypatch):
    sent(client, file("plover.htm"))
    before = client.get(LIST).content.decode()
    monkeypatch.setattr("chat.search.fts5.SearchIndex.is_in_step", lambda index, connection: False)

    assert "manage.py reindex" not in before
    assert "manage.py reindex" in client.get(LIST).content.decode()


def test_staff_without_the_right_load_nothing(client, sam):
    sam.groups.clear()

    assert client.post(ADD, {"documents": [file("plover.htm")]}).status_code == 403
    assert not Filing.objects.exists()
