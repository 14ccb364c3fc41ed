from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from accounts import scratchpad
from accounts.models import AuditEntry, User
from accounts.preferences import SCRATCHPAD_UNTIL, visibility
from reasoning.errors import ScratchpadError
from reasoning.scratchpad import Scratchpad, ScratchpadGrant
from tests.factories import make_user

URL = "/accounts/toggles/show-scratchpad/"
CANARY = "canary-5c1e"


@pytest.fixture(autouse=True)
def _site_allows_it(settings: Settings) -> None:
    settings.REASONING_SCRATCHPAD_ENABLED = True


def _on() -> dict[str, int]:
    return {SCRATCHPAD_UNTIL: int((timezone.now() + timedelta(minutes=5)).timestamp())}


@pytest.mark.spec("product 9")
def test_administrator_with_all_five_conditions_gets_a_grant_that_reveals(ada: User) -> None:
    grant = scratchpad.grant_for(ada, _on())

    assert grant is not None
    assert scratchpad.reveal(Scratchpad(CANARY), grant) == CANARY


@pytest.mark.spec("product 9")
@pytest.mark.parametrize(
    ("flag", "value"),
    [("REASONING_ENABLED", False), ("REASONING_SCRATCHPAD_ENABLED", False), ("SCRATCHPAD_ADMIN_ONLY", False)],
)
def test_any_flag_the_wrong_way_closes_the_gate(ada: User, settings: Settings, flag: str, value: bool) -> None:
    setattr(settings, flag, value)

    assert scratchpad.grant_for(ada, _on()) is None
    assert not visibility(ada, _on()).scratchpad_possible


@pytest.mark.spec("product 9")
@pytest.mark.parametrize(
    "session", [{}, {SCRATCHPAD_UNTIL: 1}, {SCRATCHPAD_UNTIL: "9999999999"}, {SCRATCHPAD_UNTIL: True}]
)
def test_switch_that_is_not_on_now_closes_the_gate(ada: User, session: dict[str, object]) -> None:
    assert scratchpad.grant_for(ada, session) is None


@pytest.mark.spec("product 14")
def test_bearer_of_a_token_has_no_session_and_so_no_grant(ada: User) -> None:
    assert scratchpad.grant_for(ada, None) is None


@pytest.mark.spec("product 9")
def test_neither_owner_nor_staff_pass(alice: User, sam: User) -> None:
    assert scratchpad.grant_for(alice, _on()) is None
    assert scratchpad.grant_for(sam, _on()) is None


@pytest.mark.spec("product 9")
def test_superuser_passes_and_inactive_administrator_does_not(ada: User) -> None:
    root = make_user("root", is_staff=True, is_superuser=True)
    ada.is_active = False

    assert scratchpad.grant_for(root, _on()) is not None
    assert scratchpad.grant_for(ada, _on()) is None


def test_grant_cannot_be_made_elsewhere() -> None:
    with pytest.raises(ScratchpadError):
        ScratchpadGrant(object())


@pytest.mark.spec("004 scratchpad")
def test_switch_holds_for_the_minutes_of_the_site_and_is_audited(client: Client, ada: User, settings: Settings) -> None:
    settings.SCRATCHPAD_TOGGLE_MINUTES = 7
    client.force_login(ada)
    conversation = uuid.uuid4()

    response = client.post(URL, {"on": "true", "conversation": str(conversation)})

    left_s = client.session[SCRATCHPAD_UNTIL] - timezone.now().timestamp()
    assert response.status_code == 204
    assert 6 * 60 < left_s <= 7 * 60
    assert scratchpad.grant_for(ada, client.session) is not None
    entry = AuditEntry.objects.get()
    assert (entry.user, entry.action, entry.conversation) == (ada, "scratchpad_on", conversation)


def test_switching_off_closes_at_once_and_is_audited(client: Client, ada: User) -> None:
    client.force_login(ada)
    client.post(URL, {"on": "true"})

    client.post(URL, {"on": "false"})

    assert scratchpad.grant_for(ada, client.session) is None
    assert set(AuditEntry.objects.values_list("action", flat=True)) == {"scratchpad_on", "scratchpad_off"}


def test_switch_is_of_one_session(ada: User) -> None:
    here, elsewhere = Client(), Client()
    here.force_login(ada)
    elsewhere.force_login(ada)

    here.post(URL, {"on": "true"})

    assert scratchpad.grant_for(ada, elsewhere.session) is None


def test_for_everyone_else_there_is_no_switch(client: Client, alice: User, sam: User) -> None:
    for person in (alice, sam):
        client.force_login(person)
        assert client.post(URL, {"on": "true"}).status_code == 404
        assert SCRATCHPAD_UNTIL not in client.session

    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize("flag", ["REASONING_ENABLED", "REASONING_SCRATCHPAD_ENABLED", "SCRATCHPAD_ADMIN_ONLY"])
def test_where_the_site_has_none_administrators_have_no_switch_either(
    client: Client, ada: User, settings: Settings, flag: str
) -> None:
    setattr(settings, flag, False)
    client.force_login(ada)

    assert client.post(URL, {"on": "true"}).status_code == 404


@pytest.mark.parametrize("form", [{"on": "perhaps"}, {"on": "true", "conversation": "not-an-id"}, {}])
def test_odd_form_is_refused_and_changes_nothing(client: Client, ada: User, form: dict[str, str]) -> None:
    client.force_login(ada)

    assert client.post(URL, form).status_code == 400
    assert SCRATCHPAD_UNTIL not in client.session
    assert not AuditEntry.objects.exists()
