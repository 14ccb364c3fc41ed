"""How long the switch holds, how much is shown, and what stays behind of it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.checks import ERROR, run_checks
from django.db import models
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from accounts import scratchpad
from accounts.models import AuditEntry, User
from accounts.preferences import SCRATCHPAD_UNTIL, visibility
from reasoning.scratchpad import TRUNCATED, Scratchpad

URL = "/accounts/toggles/show-scratchpad/"


@pytest.fixture(autouse=True)
def _site_allows_it(settings: Settings) -> None:
    settings.REASONING_SCRATCHPAD_ENABLED = True


@pytest.mark.spec("product 9")
def test_switch_that_ran_out_closes_the_gate_by_itself(client: Client, ada: User) -> None:
    client.force_login(ada)
    client.post(URL, {"on": "true"})
    until = client.session[SCRATCHPAD_UNTIL]
    just_now = int((timezone.now() - timedelta(seconds=1)).timestamp())

    assert scratchpad.grant_for(ada, {SCRATCHPAD_UNTIL: until}) is not None
    assert scratchpad.grant_for(ada, {SCRATCHPAD_UNTIL: just_now}) is None
    assert not visibility(ada, {SCRATCHPAD_UNTIL: just_now}).scratchpad


@pytest.mark.spec("004 scratchpad")
def test_gate_shows_about_two_hundred_tokens(ada: User) -> None:
    soon = int((timezone.now() + timedelta(minutes=5)).timestamp())
    grant = scratchpad.grant_for(ada, {SCRATCHPAD_UNTIL: soon})
    assert grant is not None

    shown = scratchpad.reveal(Scratchpad("word " * 10_000), grant)

    assert shown.endswith(TRUNCATED)
    assert 700 < len(shown) <= 800 + len(TRUNCATED)


@pytest.mark.spec("004 scratchpad")
def test_audit_row_has_no_room_for_a_text() -> None:
    texts = [
        field.name for field in AuditEntry._meta.get_fields() if isinstance(field, models.TextField | models.JSONField)
    ]
    longest = max(field.max_length or 0 for field in AuditEntry._meta.fields if isinstance(field, models.CharField))

    assert not texts
    assert longest <= 40


@pytest.mark.spec("product 9")
@pytest.mark.parametrize(
    ("setting", "value"),
    [("SCRATCHPAD_ADMIN_ONLY", False), ("DEBUG", True), ("SECRET_KEY_IS_SET", False), ("CONTENT_KEYS", [])],
)
def test_unsafe_flag_fails_the_check_and_does_not_merely_warn(settings: Settings, setting: str, value: object) -> None:
    settings.DEBUG, settings.SECRET_KEY_IS_SET = False, True
    setattr(settings, setting, value)

    ours = [found for found in run_checks(include_deployment_checks=True) if str(found.id).startswith("accounts.E")]

    assert [found.level for found in ours] == [ERROR]


def test_checks_of_a_deployment_do_not_stop_work_on_a_laptop(settings: Settings) -> None:
    settings.DEBUG, settings.SCRATCHPAD_ADMIN_ONLY = True, False

    assert not [found for found in run_checks() if str(found.id).startswith("accounts.")]
