"""``manage.py check --deploy``."""

import pytest
from django.core.checks import ERROR, run_checks


@pytest.fixture(autouse=True)
def _safe_settings(settings):
    settings.DEBUG = False
    settings.SECRET_KEY_IS_SET = True


def findings(*, is_deployment: bool = True) -> dict[str, int]:
    found = run_checks(tags=["security"] if is_deployment else None, include_deployment_checks=is_deployment)
    return {str(message.id): message.level for message in found if str(message.id).startswith("accounts.")}


def test_safe_site_has_no_findings():
    assert findings() == {}


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
def test_unsafe_flag_is_an_error_of_deployment_only(settings, setting, value, code):
    setattr(settings, setting, value)

    assert findings() == {code: ERROR}
    assert findings(is_deployment=False) == {}


@pytest.mark.parametrize(
    ("public", "setting", "value", "found"),
    [
        (False, "DEMO_PASSWORD", "known to many", []),
        (True, "DEMO_PASSWORD", "known to many", ["accounts.W001"]),
        (False, "REASONING_SCRATCHPAD_ENABLED", True, ["accounts.W002"]),
        (True, "BEHIND_HTTPS_PROXY", False, ["accounts.W003"]),
        (False, "BEHIND_HTTPS_PROXY", False, []),
    ],
)
def test_what_a_public_site_should_not_have_is_a_warning(settings, public, setting, value, found):
    settings.IS_LOOPBACK_ONLY, settings.BEHIND_HTTPS_PROXY = not public, True
    setattr(settings, setting, value)

    assert list(findings()) == found
