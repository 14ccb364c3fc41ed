"""Admin pages of users, access tokens and the audit trail. Staff must find no way to more privileges."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission
from django.urls import reverse

from accounts.access import tokens
from accounts.demo import ensure_users
from accounts.models import AccessToken, AuditEntry, ReasoningProfile, User
from chat.models import Conversation, Event
from chat.sharing.export import Choice
from chat.sharing.links import create_link
from tests.factories import client_of, make_administrator, make_conversation, make_turn, make_user, sign_in_staff

USERS = "/admin/accounts/user/"
PRIVILEGES = {"is_staff": "on", "is_superuser": "on", "user_permissions": [1], "groups": [1]}
PASSWORD = {"password1": "taken over 1234", "password2": "taken over 1234", "usable_password": "true"}


@pytest.fixture
def sam(client, db):
    return sign_in_staff(client)


@pytest.fixture
def roots(db):
    return client_of(make_user("root", is_staff=True, is_superuser=True))


def user_form(user: User) -> dict[str, Any]:
    joined = {"date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}
    return {"username": user.username, "email": "new@example.com", "is_active": "on", "reasoning": "{}", **joined}


def test_staff_change_an_account_without_granting_privileges(client, sam, alice):
    response = client.post(f"{USERS}{alice.pk}/change/", user_form(alice) | PRIVILEGES)

    alice.refresh_from_db()
    assert response.status_code == 302
    assert alice.email == "new@example.com"
    assert (alice.is_staff, alice.is_superuser) == (False, False)
    assert not alice.groups.exists()
    assert not alice.user_permissions.exists()


def test_staff_add_users_without_privileges(client, sam):
    response = client.post(f"{USERS}add/", {"username": "newcomer", **PASSWORD} | PRIVILEGES)

    created = User.objects.get(username="newcomer")
    assert response.status_code == 302
    assert (created.is_staff, created.is_superuser) == (False, False)


@pytest.mark.parametrize("kind", ["superuser", "staff", "administrator", "group member", "self"])
def test_staff_cannot_change_a_user_who_has_privileges(client, sam, kind):
    if kind == "self":
        user = sam
    elif kind == "administrator":
        user = make_administrator("ada")
    else:
        user = make_user("other", is_staff=kind == "staff", is_superuser=kind == "superuser")
    if kind == "group member":
        user.groups.add(Group.objects.create(name="Administrators"))
    before = user.password

    assert client.get(f"{USERS}{user.pk}/change/").status_code == 200
    assert client.post(f"{USERS}{user.pk}/change/", user_form(user)).status_code == 403
    assert client.post(f"{USERS}{user.pk}/password/", PASSWORD).status_code == 403
    user.refresh_from_db()
    assert (user.password, user.email) == (before, "")


def test_bulk_delete_of_a_user_who_has_privileges_is_refused(client, sam, alice, ada):
    sam.user_permissions.add(Permission.objects.get(codename="delete_user"))
    chosen = {"action": "delete_selected", "post": "yes"}

    assert client.post(USERS, chosen | {"_selected_action": [alice.pk, ada.pk]}).status_code == 403
    assert client.post(USERS, chosen | {"_selected_action": [alice.pk]}).status_code == 302
    assert set(User.objects.values_list("username", flat=True)) == {"sam", "ada"}


def test_superuser_deletes_a_user_with_everything_they_own(roots, client, sam, alice, bob):
    conversation = make_conversation(owner=alice, title="Private ferry")
    make_turn(conversation, question="Private?")
    create_link(alice, conversation, Choice(), days=None)
    tokens.create_token(alice, "Private laptop")
    kept = make_turn(make_conversation(owner=bob))
    sam.user_permissions.add(Permission.objects.get(codename="delete_user"))
    url = f"{USERS}{alice.pk}/delete/"

    page = roots.get(url).text
    assert client.post(url, {"post": "yes"}).status_code == 403, "staff who are no superusers"
    assert roots.post(url, {"post": "yes"}).status_code == 302

    assert "<li>Conversations: 1</li>" in page
    assert "<li>Events: " in page
    assert "Private" not in page
    assert not User.objects.filter(pk=alice.pk).exists()
    assert list(Conversation.all_objects.values_list("pk", flat=True)) == [kept.conversation_id]
    assert set(Event.objects.values_list("turn", flat=True)) == {kept.pk}
    trail = roots.get(reverse("admin:accounts_auditentry_changelist"), {"q": "alice"}).context["cl"].result_list
    assert {(entry.username, entry.action) for entry in trail} == {
        ("alice", "token_created"),
        ("alice", "share_created"),
    }


def test_superusers_grant_privileges(roots, alice):
    roots.post(f"{USERS}{alice.pk}/change/", user_form(alice) | {"is_staff": "on"})

    alice.refresh_from_db()
    assert alice.is_staff


def test_reasoning_settings_are_stored_in_their_own_form(roots, alice):
    roots.post(f"{USERS}{alice.pk}/change/", user_form(alice) | {"reasoning": '{"reasoning.enabled": "false"}'})

    alice.refresh_from_db()
    assert alice.reasoning == {"reasoning.enabled": False}


@pytest.mark.spec("001 ERR-001")
@pytest.mark.parametrize("layer", ['{"reasoning.format": "xml"}', '{"reasoning.nonsense": 1}', "[1]"])
def test_invalid_reasoning_setting_is_not_saved(roots, alice, layer):
    response = roots.post(f"{USERS}{alice.pk}/change/", user_form(alice) | {"reasoning": layer})

    assert "reasoning" in response.context["adminform"].form.errors
    alice.refresh_from_db()
    assert alice.reasoning == {}


def test_token_pages_show_neither_digest_nor_text(roots, alice):
    row, plaintext = tokens.create_token(alice, "laptop")

    for name, arguments in (("changelist", []), ("change", [row.pk])):
        page = roots.get(reverse(f"admin:accounts_accesstoken_{name}", args=arguments)).text
        assert "laptop" in page
        assert row.digest not in page
        assert plaintext not in page


def test_staff_revoke_tokens_and_are_audited(client, sam, alice):
    rows = [tokens.create_token(alice, name)[0] for name in ("laptop", "phone")]
    chosen = {"action": "delete_selected", "_selected_action": [rows[1].pk], "post": "yes"}

    client.post(f"/admin/accounts/accesstoken/{rows[0].pk}/delete/", {"post": "yes"})
    client.post("/admin/accounts/accesstoken/", chosen)

    assert not AccessToken.objects.exists()
    assert AuditEntry.objects.filter(user=sam, action=AuditEntry.Action.TOKEN_REVOKED).count() == 2


def test_saved_profiles_are_listed_with_their_values(roots, alice):
    ReasoningProfile.objects.create(owner=alice, name="careful", values={"reasoning.effort": "high"})

    page = roots.get(reverse("admin:accounts_reasoningprofile_changelist")).text

    assert "careful" in page
    assert "reasoning.effort" in page


def test_audit_pages_are_read_only(roots, alice):
    entry = AuditEntry.record(alice, AuditEntry.Action.SCRATCHPAD_ON)
    change = reverse("admin:accounts_auditentry_change", args=[entry.pk])

    assert roots.get(change).status_code == 200
    assert roots.post(change, {"action": "forged"}).status_code == 403
    assert roots.post(reverse("admin:accounts_auditentry_add")).status_code == 403
    url = reverse("admin:accounts_auditentry_delete", args=[entry.pk])
    assert roots.post(url, {"post": "yes"}).status_code == 403
    assert AuditEntry.objects.get().action == AuditEntry.Action.SCRATCHPAD_ON


def test_audit_list_labels_and_filters_actions(roots, alice):
    AuditEntry.record(alice, AuditEntry.Action.SCRATCHPAD_ON)
    AuditEntry.record(alice, AuditEntry.Action.SHARE_REVOKED)
    url = reverse("admin:accounts_auditentry_changelist")

    listed = re.sub(r'href="[^"]*"', "", roots.get(url).text)
    filtered = roots.get(url, {"action": AuditEntry.Action.SHARE_REVOKED}).context["cl"].result_list

    assert "scratchpad switched on" in listed
    assert AuditEntry.Action.SCRATCHPAD_ON not in listed
    assert [entry.action for entry in filtered] == [AuditEntry.Action.SHARE_REVOKED]


def test_audit_entries_cannot_be_changed_or_deleted(alice):
    entry = AuditEntry.record(alice, AuditEntry.Action.SCRATCHPAD_ON)

    for write in (
        entry.save,
        entry.delete,
        lambda: AuditEntry.objects.update(action="forged"),
        lambda: AuditEntry.objects.all().delete(),
    ):
        with pytest.raises(TypeError):
            write()


def test_demo_staff_read_conversations_and_change_none(client, db, settings):
    settings.DEMO_PASSWORD = "demo-password-1"
    users = ensure_users()
    conversation = make_conversation(owner=users["demo"], title="Covenants")
    make_turn(conversation, answer="Covenants hold.")
    client.force_login(users["sam"])

    page = client.get(f"/admin/chat/conversation/{conversation.pk}/change/")

    assert "Covenants" in client.get("/admin/chat/conversation/").text
    assert page.status_code == 200
    assert "Save" not in page.text
    assert client.post(f"/admin/chat/conversation/{conversation.pk}/delete/", {"post": "yes"}).status_code == 403
    assert client.get(conversation.get_absolute_url()).status_code == 404
