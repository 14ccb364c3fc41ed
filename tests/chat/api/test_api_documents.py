"""The API of collections and documents: the same rules as the pages, in the form of the API."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts.access.tokens import create_token
from chat.documents import loading, worker
from chat.models import Collection
from tests.chat.attached import make_pdf
from tests.factories import make_conversation

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engine]
COLLECTIONS = "/api/documents/collections/"
JSON = {"content_type": "application/json"}
LEASE = b"The Bryce site stores 412 pallets."


@pytest.fixture
def client(alice):
    return Client(headers={"Authorization": f"Bearer {create_token(alice)[1]}"})


@pytest.fixture
def address(alice):
    return f"{COLLECTIONS}{Collection.objects.create(owner=alice, name='Sites').pk}/documents/"


def add(client: Client, address: str, name: str, content: bytes = LEASE, **more: object) -> object:
    return client.post(address, {"files": SimpleUploadedFile(name, content), **more})


def test_collection_is_created_listed_renamed_and_deleted(client):
    made = client.post(COLLECTIONS, {"name": "Sites"}, **JSON)
    address = made["Location"]
    Collection.objects.create(owner=None, name="Handbooks")

    assert (made.status_code, made.json()) == (201, client.get(address).json())
    assert [(each["name"], each["site"]) for each in client.get(COLLECTIONS).json()] == [
        ("Handbooks", True),
        ("Sites", False),
    ]
    assert client.patch(address, {"name": "Leases"}, **JSON).json()["name"] == "Leases"
    assert client.delete(address).status_code == 204
    assert client.get(address).json()["error"]["code"] == "not_found"


def test_document_is_added_and_its_state_followed(client, address):
    made = add(client, address, "lease.txt")

    assert (made.status_code, made.json()["status"]) == (201, "waiting")
    worker.read_waiting()
    state = client.get(made["Location"]).json()
    assert (state["name"], state["size"], state["status"]) == ("lease.txt", len(LEASE), "ready")
    assert "problem" not in state
    assert client.get(address).json() == [state]
    assert client.delete(made["Location"]).status_code == 204
    assert client.get(address).json() == []


def test_document_that_cannot_be_read_says_why(client, address):
    made = add(client, address, "locked.pdf", make_pdf("Secret.", password="s"))
    worker.read_waiting()

    state = client.get(made["Location"]).json()

    assert state["status"] == "failed"
    assert state["problem"]["code"] == "encrypted"
    assert state["problem"]["message"].startswith("locked.pdf is protected by a password.")


def test_refusals_name_field_and_reason(client, address, settings, monkeypatch):
    settings.DOCUMENT_MAX_BYTES = 100
    of_site = Collection.objects.create(owner=None, name="Handbooks")
    both = {"files": [SimpleUploadedFile("a.txt", LEASE), SimpleUploadedFile("b.txt", LEASE)]}
    cut = client.generic("POST", address, b"--x\r\n", content_type="multipart/form-data")
    answers = {
        "invalid_name": client.post(COLLECTIONS, {"name": ""}, **JSON),
        "unknown_field": add(client, address, "a.txt", surprise="1"),
        "read_only": add(client, f"{COLLECTIONS}{of_site.pk}/documents/", "a.txt"),
        "unsupported_type": add(client, address, "tool.exe", b"MZ\0"),
        "too_large": add(client, address, "large.txt", LEASE * 9),
        "unsupported_media_type": client.post(address, {"files": "x"}, **JSON),
        "invalid_multipart": cut,
        "invalid": client.post(address, both),
    }
    monkeypatch.setattr(loading, "UPLOADS_ALLOWED", 0)
    answers["too_many_uploads"] = add(client, address, "a.txt")

    assert {code: answer.json()["error"]["code"] for code, answer in answers.items()} == {
        code: code for code in answers
    }
    assert [answer.status_code for answer in answers.values()] == [400, 400, 403, 415, 413, 415, 400, 400, 429]
    assert "Retry-After" in answers["too_many_uploads"]
    assert client.post(COLLECTIONS, {"name": "x", "site": True}, **JSON).status_code == 403
    assert client.post(COLLECTIONS, {"name": "\u200b\u202e"}, **JSON).json()["error"]["code"] == "invalid_name"
    assert client.post(COLLECTIONS, {"name": "x", "site": 1}, **JSON).json()["error"]["field"] == "site"


def test_collections_of_a_conversation_are_chosen(alice, client, address):
    conversation = f"/api/chats/{make_conversation(owner=alice).pk}/"
    chosen = [client.get(COLLECTIONS).json()[0]["id"]]

    assert client.get(conversation).json()["collections"] is None
    assert client.patch(conversation, {"collections": chosen}, **JSON).json()["collections"] == chosen
    assert client.patch(conversation, {"collections": []}, **JSON).json()["collections"] == []
    assert client.patch(conversation, {"collections": None}, **JSON).json()["collections"] is None
    for wrong, status in (("x", 400), ([1], 404), ({}, 400)):
        assert client.patch(conversation, {"collections": wrong}, **JSON).status_code == status


def test_deleted_collection_is_not_read_any_more(alice, client, address):
    conversation = f"/api/chats/{make_conversation(owner=alice).pk}/"
    kept, deleted = (client.post(COLLECTIONS, {"name": name}, **JSON).json()["id"] for name in ("Kept", "Deleted"))
    client.patch(conversation, {"collections": [kept, deleted]}, **JSON)

    client.delete(f"{COLLECTIONS}{deleted}/")

    read = client.get(conversation).json()["collections"]
    assert read == [kept]
    assert client.get("/api/chats/").json()[0]["collections"] == [kept]
    assert client.patch(conversation, {"collections": read}, **JSON).status_code == 200
