"""Staff read feedback and end links; they learn neither a link's address nor what masked notes hold."""

from typing import Any

import pytest
from django.test import Client

from accounts.models import AuditEntry, User
from chat.eventlog.link_tokens import token_of
from chat.models import Feedback, Turn
from chat.sharing.export import Choice
from chat.sharing.links import create_link
from tests.factories import make_conversation, make_turn, sign_in_staff

FEEDBACK, SHARES = "/admin/chat/feedback/", "/admin/chat/share/"


@pytest.fixture(autouse=True)
def sam(client, db):
    return sign_in_staff(client)


@pytest.fixture
def link(alice):
    conversation = make_conversation(owner=alice)
    make_turn(conversation)
    return create_link(alice, conversation, Choice(summary=True, trace=False, thinking=False), days=7)


def _judged(owner: User, *, model: str, is_good: bool, reason: str = "", note: str = "") -> Feedback:
    turn = make_turn(make_conversation(owner=owner))
    Turn.objects.filter(pk=turn.pk).update(model=model)
    return Feedback.objects.create(turn=turn, is_good=is_good, reason=reason, note=note)


def _found(client: Client, **query: str) -> set[Any]:
    return {row.pk for row in client.get(FEEDBACK, query).context["cl"].result_list}


def test_feedback_is_filtered_by_verdict_reason_and_model(client, alice):
    good = _judged(alice, model="kimi", is_good=True)
    wrong = _judged(alice, model="kimi", is_good=False, reason="incorrect")
    slow = _judged(alice, model="glm", is_good=False, reason="unclear")

    assert _found(client) == {good.pk, wrong.pk, slow.pk}
    assert _found(client, is_good__exact="0") == {wrong.pk, slow.pk}
    assert _found(client, reason="unclear") == {slow.pk}
    assert _found(client, turn__model="kimi") == {good.pk, wrong.pk}
    assert "Hard to follow" in client.get(FEEDBACK).content.decode()


def test_note_is_masked_and_feedback_is_not_changed(client, alice):
    row = _judged(alice, model="kimi", is_good=False, note="It printed sk-proj-Pl0verOfTheNote7Wq2Zx9Lm3Rt8 there")
    url = f"{FEEDBACK}{row.pk}/"

    pages = client.get(FEEDBACK).content.decode() + client.get(f"{url}change/").content.decode()

    assert "It printed" in pages
    assert "Pl0verOfTheNote" not in pages
    assert [client.post(f"{url}{action}/", {"post": "yes"}).status_code for action in ("change", "delete")] == [403] * 2


def test_link_is_ended_at_once_with_an_entry_in_the_audit(client, link, sam):
    answer = client.post(SHARES, {"action": "revoke", "_selected_action": [link.pk]}, follow=True)
    client.post(SHARES, {"action": "revoke", "_selected_action": [link.pk]})

    link.refresh_from_db()
    assert link.revoked_at is not None
    assert "1 link was revoked." in answer.content.decode()
    AuditEntry.objects.get(user=sam, action=AuditEntry.Action.SHARE_REVOKED, conversation=link.conversation_id)  # one
    assert Client().get(f"/s/{token_of(link)}/").status_code == 404


def test_staff_without_the_right_are_offered_no_action(client, link, sam):
    sam.groups.get().permissions.remove(*sam.groups.get().permissions.filter(codename="change_share"))

    page = client.get(SHARES).content.decode()
    client.post(SHARES, {"action": "revoke", "_selected_action": [link.pk]})

    link.refresh_from_db()
    assert "Revoke the selected" not in page
    assert link.revoked_at is None
