from __future__ import annotations

import pytest
from django.core.checks import run_checks
from pytest_django import Settings


@pytest.fixture(autouse=True)
def _safe(settings: Settings) -> None:
    settings.DEBUG = False
    settings.SECRET_KEY_IS_SET = True


def _found() -> set[str]:
    return {str(message.id) for message in run_checks(tags=["security"], include_deployment_checks=True)}


def test_safe_site_has_nothing_to_say() -> None:
    assert not {code for code in _found() if code.startswith("accounts.")}


@pytest.mark.spec("product 9")
@pytest.mark.parametrize(
    ("setting", "value", "code"),
    [
        ("SCRATCHPAD_ADMIN_ONLY", False, "accounts.E001"),
        ("DEBUG", True, "accounts.E002"),
        ("SECRET_KEY_IS_SET", False, "accounts.E003"),
        ("CONTENT_KEYS", [], "accounts.E004"),
    ],
)
def test_unsafe_flag_is_an_error(settings: Settings, setting: str, value: object, code: str) -> None:
    setattr(settings, setting, value)

    assert code in _found()


def test_demo_people_on_a_public_site_are_a_warning(settings: Settings) -> None:
    settings.DEMO_PASSWORD = "known to many"
    assert "accounts.W001" not in _found()

    settings.IS_LOOPBACK_ONLY = False

    assert "accounts.W001" in _found()
