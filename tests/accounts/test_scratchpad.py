"""The admin-gated scratchpad: switch, gate, panel."""

import uuid
from datetime import timedelta

import pytest
from django.db import models
from django.utils import timezone
from lxml import html as markup

from accounts.access import scratchpad
from accounts.access.visibility import SCRATCHPAD_UNTIL, visibility
from accounts.models import AuditEntry
from reasoning.errors import ScratchpadError
from reasoning.scratchpad import TRUNCATED, Scratchpad, ScratchpadGrant
from tests.factories import client_of, make_user

URL = "/accounts/toggles/show-scratchpad/"
CANARY = "canary-5c1e"
FLAGS = ["REASONING_ENABLED", "REASONING_SCRATCHPAD_ENABLED", "SCRATCHPAD_ADMIN_ONLY"]


@pytest.fixture(autouse=True)
def _enabled(settings):
    settings.REASONING_SCRATCHPAD_ENABLED = True


@pytest.fixture
def adas(ada):
    return client_of(ada)


def switched_on() -> dict[str, int]:
    return {SCRATCHPAD_UNTIL: int((timezone.now() + timedelta(minutes=5)).timestamp())}


@pytest.mark.spec("product 9")
def test_gate_is_open_to_administrators_and_superusers_only(ada, alice, sam):
    root = make_user("root", is_staff=True, is_superuser=True)
    inactive = make_user("gone", is_superuser=True, is_active=False)

    assert [scratchpad.grant_for(user, switched_on()) is not None for user in (ada, root, alice, sam, inactive)] == [
        True,
        True,
        False,
        False,
        False,
    ]


@pytest.mark.spec("product 9")
@pytest.mark.parametrize("flag", FLAGS)
def test_each_flag_closes_gate_and_switch(adas, ada, settings, flag):
    setattr(settings, flag, False)

    assert scratchpad.grant_for(ada, switched_on()) is None
    assert not visibility(ada, switched_on()).scratchpad_possible
    assert adas.post(URL, {"on": "true"}).status_code == 404


@pytest.mark.spec("product 9", "product 14")
@pytest.mark.parametrize(
    "session",
    [
        {},
        {SCRATCHPAD_UNTIL: 1},
        {SCRATCHPAD_UNTIL: "9999999999"},
        {SCRATCHPAD_UNTIL: True},
        None,  # a bearer token has no session
    ],
)
def test_gate_is_closed_unless_the_session_switched_it_on(ada, session):
    assert scratchpad.grant_for(ada, session) is None


def test_grant_cannot_be_made_elsewhere():
    with pytest.raises(ScratchpadError):
        ScratchpadGrant(object())


@pytest.mark.spec("product 9")
def test_text_is_revealed_only_while_the_switch_of_this_session_is_on(adas, ada):
    pad = Scratchpad(CANARY)
    other_session = client_of(ada).session.session_key

    def reveal(key):
        return scratchpad.reveal(pad, ada, key)

    assert reveal(adas.session.session_key) is None
    adas.post(URL, {"on": "true"})
    assert [reveal(adas.session.session_key), reveal(other_session), reveal(None)] == [CANARY, None, None]
    adas.post(URL, {"on": "false"})
    assert reveal(adas.session.session_key) is None


@pytest.mark.spec("004 scratchpad")
def test_panel_shows_the_caution_and_escaped_text(adas, ada):
    adas.post(URL, {"on": "true"})
    pad = Scratchpad("<img src=x>plan")

    first, later = (
        scratchpad.render_panel(pad, ada, adas.session.session_key, card_id="m-a1", is_first=is_first)
        for is_first in (True, False)
    )

    assert first is not None
    assert later is not None
    panel = markup.fragment_fromstring(first)
    assert panel.get("id") == "m-a1-pad"  # the placeholder of the live card
    assert panel.get("data-scratchpad") is not None
    assert "Debug view. Not shown to users. Not stored." in panel.text_content()
    assert panel.get_element_by_id("m-a1-pad-text").text == "<img src=x>plan"
    text = markup.fragment_fromstring(later)
    assert (text.get("id"), text.text, len(text)) == ("m-a1-pad-text", "<img src=x>plan", 0)


@pytest.mark.spec("product 9")
def test_panel_is_not_rendered_without_a_grant(adas, ada):
    key = adas.session.session_key

    assert scratchpad.render_panel(Scratchpad(CANARY), ada, key, card_id="m-a1", is_first=True) is None


@pytest.mark.spec("004 scratchpad")
def test_panel_shows_about_two_hundred_tokens(adas, ada):
    adas.post(URL, {"on": "true"})

    shown = scratchpad.reveal(Scratchpad("word " * 10_000), ada, adas.session.session_key)

    assert shown is not None
    assert shown.endswith(TRUNCATED)
    assert 700 < len(shown) <= 800 + len(TRUNCATED)


@pytest.mark.spec("004 scratchpad")
def test_switch_expires_and_is_audited(adas, ada, settings):
    settings.SCRATCHPAD_TOGGLE_MINUTES = 7
    conversation = uuid.uuid4()

    response = adas.post(URL, {"on": "true", "conversation": str(conversation)})
    left_s = adas.session[SCRATCHPAD_UNTIL] - timezone.now().timestamp()
    adas.post(URL, {"on": "false"})

    assert response.status_code == 204
    assert 6 * 60 < left_s <= 7 * 60
    entries = AuditEntry.objects.order_by("created_at").values_list("user", "action", "conversation")
    assert list(entries) == [(ada.pk, "scratchpad_on", conversation), (ada.pk, "scratchpad_off", None)]


def test_other_users_have_no_switch(alice, sam):
    for user in (alice, sam):
        client = client_of(user)
        assert client.post(URL, {"on": "true"}).status_code == 404
        assert SCRATCHPAD_UNTIL not in client.session

    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize("form", [{"on": "perhaps"}, {"on": "true", "conversation": "not-an-id"}, {}])
def test_invalid_form_changes_nothing(adas, form):
    assert adas.post(URL, form).status_code == 400
    assert SCRATCHPAD_UNTIL not in adas.session
    assert not AuditEntry.objects.exists()


@pytest.mark.spec("004 scratchpad")
def test_audit_entry_has_no_room_for_a_text():
    fields = [field for field in AuditEntry._meta.fields if field.name != "username"]

    assert not [field.name for field in fields if isinstance(field, models.TextField | models.JSONField)]
    assert max(field.max_length or 0 for field in fields if isinstance(field, models.CharField)) <= 40
