from __future__ import annotations

import re

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse

from accounts import audit, tokens
from accounts.demo import ensure_people
from accounts.models import AccessToken, AuditEntry, User
from tests.factories import make_conversation, make_turn, make_user


@pytest.fixture
def root(client: Client, db: None) -> User:
    user = make_user("root", is_staff=True, is_superuser=True)
    client.force_login(user)
    return user


def test_audit_is_read_and_never_written(client: Client, root: User) -> None:
    entry = audit.record(root, audit.SCRATCHPAD_ON)

    assert client.get(reverse("admin:accounts_auditentry_changelist")).status_code == 200
    assert client.get(reverse("admin:accounts_auditentry_change", args=[entry.pk])).status_code == 200
    for action in ("add", "delete"):
        arguments = [] if action == "add" else [entry.pk]
        url = reverse(f"admin:accounts_auditentry_{action}", args=arguments)
        assert client.post(url, {"post": "yes"}).status_code == 403
    client.post(reverse("admin:accounts_auditentry_change", args=[entry.pk]), {"action": "forged"})
    assert AuditEntry.objects.get().action == audit.SCRATCHPAD_ON


def test_audit_says_in_words_what_was_done_and_is_filtered_by_it(client: Client, root: User) -> None:
    audit.record(root, audit.SCRATCHPAD_ON)
    audit.record(root, audit.SHARE_REVOKED)
    url = reverse("admin:accounts_auditentry_changelist")

    whole = client.get(url)
    found = client.get(url, {"action": audit.SHARE_REVOKED})

    assert "scratchpad switched on" in whole.content.decode()
    assert audit.SCRATCHPAD_ON not in re.sub(r'href="[^"]*"', "", whole.content.decode())
    assert [entry.action for entry in found.context["cl"].result_list] == [audit.SHARE_REVOKED]


def test_audit_rows_refuse_to_be_changed_or_deleted(alice: User) -> None:
    entry = audit.record(alice, audit.SCRATCHPAD_ON)

    with pytest.raises(TypeError):
        entry.save()
    with pytest.raises(TypeError):
        entry.delete()
    with pytest.raises(TypeError):
        AuditEntry.objects.update(action="forged")
    with pytest.raises(TypeError):
        AuditEntry.objects.all().delete()


def test_tokens_show_neither_digest_nor_text(client: Client, root: User) -> None:
    row, plaintext = tokens.create_token(root, "laptop")

    for name, arguments in (("changelist", []), ("change", [row.pk])):
        page = client.get(reverse(f"admin:accounts_accesstoken_{name}", args=arguments)).content.decode()
        assert "laptop" in page
        assert row.digest not in page
        assert plaintext not in page


def test_token_can_be_revoked_there(client: Client, root: User) -> None:
    row, _plaintext = tokens.create_token(root)

    client.post(reverse("admin:accounts_accesstoken_delete", args=[row.pk]), {"post": "yes"})

    assert not AccessToken.objects.exists()


@pytest.mark.spec("001 ERR-001")
@pytest.mark.parametrize("layer", ['{"reasoning.format": "xml"}', '{"reasoning.nonsense": 1}', "[1]"])
def test_person_with_a_setting_that_is_not_allowed_is_not_saved(client: Client, root: User, layer: str) -> None:
    url = reverse("admin:accounts_user_change", args=[root.pk])
    form = client.get(url).context["adminform"].form
    data = {name: form[name].value() or "" for name in form.fields if name not in ("password", "last_login")}
    data |= {"reasoning": layer, "date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}

    response = client.post(url, data)

    assert response.status_code == 200
    assert "reasoning" in response.context["adminform"].form.errors
    root.refresh_from_db()
    assert root.reasoning == {}


def test_demo_staff_read_conversations_and_change_none(client: Client, db: None, settings: LazySettings) -> None:
    settings.DEMO_PASSWORD = "demo-password-1"
    people = ensure_people()
    conversation = make_conversation(owner=people["demo"], title="Covenants")
    make_turn(conversation, answer="Covenants hold.")
    client.force_login(people["sam"])

    listed = client.get("/admin/chat/conversation/")
    page = client.get(f"/admin/chat/conversation/{conversation.pk}/change/")

    assert "Covenants" in listed.content.decode()
    assert page.status_code == 200
    assert "Save" not in page.content.decode()
    assert client.post(f"/admin/chat/conversation/{conversation.pk}/delete/", {"post": "yes"}).status_code == 403
    assert client.get(conversation.get_absolute_url()).status_code == 404
