"""Nobody but its owner reaches a conversation: every address that names one, every method, every other persona."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from chat.eventlog.documents import store
from chat.files.extraction import PDF
from chat.models import Attachment, Collection, Conversation, Document, Feedback, QueuedMessage, Share, Turn
from chat.sharing.export import Choice
from chat.sharing.links import create_link
from tests.chat.attached import attach, make_pdf
from tests.factories import client_of, make_answer, make_conversation

pytestmark = [pytest.mark.django_db, pytest.mark.spec("product 14")]
# What would change something if its sender were the owner.
FORM = {
    **{"text": "/set effort low", "model": "", "effort": "low", "title": "Mine", "verdict": "poor", "summary": "on"},
    "expires": "never",
}
DELETED = {"do": "restore"}


@pytest.fixture
def conversation(alice):
    """Return an answered and shared conversation."""
    conversation = make_conversation(owner=alice, title="Ferry")
    make_answer(conversation)
    attach(conversation)
    QueuedMessage.objects.create(conversation=conversation, text="Later?", priority=QueuedMessage.Priority.HELD)
    create_link(alice, conversation, Choice(summary=True, trace=True, thinking=True), days=7)
    read = {"media_type": PDF, "pages": 1, "status": Document.Status.READY}
    store(alice.collections.create(name="Papers"), "lease.pdf", make_pdf("The lease ends."), digest="", **read)
    return conversation


def patterns(entries: list[Any], prefix: str = "") -> Iterator[str]:
    for entry in entries:
        route = f"{prefix}{entry.pattern}"
        if isinstance(entry, URLResolver):
            yield from patterns(entry.url_patterns, route)
        elif isinstance(entry, URLPattern):
            yield route


def addresses(conversation: Conversation) -> list[str]:
    """Return every address of the site that names the conversation, what belongs to it, or a document."""
    named = {
        "<id:conversation_id>": str(conversation.pk),
        "<id:turn_id>": str(conversation.turns.get().pk),
        "<id:link_id>": str(conversation.shares.get().pk),
        "<id:attachment_id>": str(conversation.attachments.get().pk),
        "<int:message_id>": str(conversation.queue.get().pk),
        "<id:collection_id>": str(conversation.owner.collections.get().pk),
        "<id:document_id>": str(Document.objects.get().pk),
        "<int:page>": "1",
    }
    found = []
    for route in patterns(get_resolver().url_patterns):
        if "<slug:token>" not in route and any(name in route for name in named):
            for name, value in named.items():
                route = route.replace(name, value)
            found.append(f"/{route}")
    return found


def rows() -> list[Any]:
    of_one = (Turn, Share, Feedback, Attachment, QueuedMessage, Collection, Document)
    models = (Conversation.all_objects, *(model.objects for model in of_one))
    return [list(model.order_by("pk").values()) for model in models]


def statuses(client: Client, address: str) -> set[int]:
    sent = [client.get(address), client.post(address, FORM), client.post(address, DELETED)]
    for method in (client.patch, client.delete):
        sent.append(method(address, b'{"title": "Mine", "reasoning.effort": "low"}', content_type="application/json"))
    return {answer.status_code for answer in sent}


@pytest.mark.parametrize(
    "who", [pytest.param("bob", marks=pytest.mark.slow), pytest.param("sam", marks=pytest.mark.slow), "ada"]
)
def test_others_find_nothing_and_change_nothing(request, conversation, who):
    client = client_of(request.getfixturevalue(who))
    before = rows()
    found = addresses(conversation)
    assert len(found) > 20

    assert {
        address: answers for address in found if not 404 in (answers := statuses(client, address)) <= {404, 405}
    } == {}
    assert rows() == before


@pytest.mark.slow
def test_others_restore_no_deleted_conversation(conversation, bob):
    conversation.deleted_at = conversation.updated_at
    conversation.save()
    before = rows()

    assert {status for address in addresses(conversation) for status in statuses(client_of(bob), address)} <= {404, 405}
    assert rows() == before


def test_visitors_are_sent_to_sign_in(conversation):
    before = rows()

    for address in ("/", "/chats/", "/filings/", "/shares/", "/api/chats/", "/api/models/", *addresses(conversation)):
        # A form with a text is answered with the sign-in form, which keeps it.
        allowed = {401, 405} if address.startswith("/api/") else {302, 401}
        assert statuses(Client(), address) <= allowed, address
    assert rows() == before


def test_ids_without_dashes_lead_to_the_same_addresses(alice, conversation):
    alice.is_superuser = True  # who may open the preview, too
    alice.save()
    client = client_of(alice)

    for address in addresses(conversation):
        answers = [client.get(address).status_code, client.get(without_dashes(address)).status_code]
        assert answers in ([200, 200], [405, 405]), address


def without_dashes(address: str) -> str:
    return "/".join(part.replace("-", "") if len(part) == 36 else part for part in address.split("/"))


def test_envelope_names_its_turn_for_every_address(alice, conversation):
    client = client_of(alice)
    envelope = client.get(f"/api/chats/{conversation.pk}/messages/").json()[-1]

    copied = client.get(f"/chats/{conversation.pk.hex}/turns/{envelope['id']}/copy/")

    assert copied.content.decode() == "Because **so**."
