"""What people read of a failure: users without addresses, keys, settings and profiles, staff with the place to look."""

import re
from typing import Any, get_args

import pytest
from django.utils.translation import override

from chat.models import Turn
from chat.providers.base import Code, ProviderError, Reason
from chat.texts import error_texts
from chat.texts.error_texts import TEXTS, error_text, failure_text

PLACE = {"profile": "profile-canary", "key": "KEY_CANARY"}
PARAMS = {
    "host": "host-canary:8080",
    "seconds": 12.5,
    "model": "model-canary",
    "variable": "KEY_CANARY",
    "target": "target-canary",
    "status": 418,
    "wait_s": 100,
    "problem": "port",
    "other_api": "responses",
    "can_name_model": True,
}
SETTING = re.compile(r"\b[A-Z]+(?:_[A-Z]+)+\b|\breasoning\.\w|\.env\b|--\w|canary|\b/v1\b|HTTP")
ROWS = [pytest.param(row.code, row.reason, id=f"{row.code} {row.reason}") for row in TEXTS]


@pytest.mark.spec("product 40")
@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize(("code", "reason"), ROWS)
def test_users_read_no_address_key_setting_or_profile(code, reason, language):
    with override(language):
        found = {
            error_text(code, reason, params, for_staff=False, detail="detail-canary")
            for params in ({}, PARAMS, {**PARAMS, **PLACE})
        }

    assert found
    assert not any(SETTING.search(text) or "%" in text for text in found)


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize(("code", "reason"), ROWS)
def test_staff_read_the_place_and_what_the_service_said(code, reason, language):
    with override(language):
        plain, of_profile = (
            error_text(code, reason, params, for_staff=True, detail="It broke.")
            for params in (PARAMS, {**PARAMS, **PLACE})
        )

    assert "It broke." in plain
    assert "%(" not in plain + of_profile
    assert not re.search(r"OPENAI_(?:API_KEY|BASE_URL|MODEL|API)\b", of_profile)
    assert ("OPENAI_BASE_URL" in plain) <= ("profile-canary" in of_profile)


def test_every_code_and_reason_has_its_words():
    rows = {(row.code, row.reason) for row in TEXTS}

    assert len(rows) == len(TEXTS)
    assert {code for code in get_args(Code) if (code, "") not in rows} == set()
    assert set(get_args(Reason)) - {reason for _code, reason in rows} == set()


@pytest.mark.parametrize(
    ("error", "place", "text"),
    [
        (
            ProviderError("authentication", retryable=False),
            {},
            "The model service did not accept the key, or the key may not use this model. Check OPENAI_API_KEY.",
        ),
        (
            ProviderError("authentication", retryable=False),
            {"profile": "kimi"},
            "The model service did not accept the key, or the key may not use this model. "
            "Check the key variable of the model profile “kimi”.",
        ),
        (
            ProviderError("refused", "effort", {"other_api": "responses"}, retryable=False, detail="No effort here."),
            {"profile": "kimi"},
            "The model service does not accept the effort: set reasoning.effort to another value, or unset it. "
            "Set the API of the model profile “kimi” to “responses”. The service said: No effort here.",
        ),
        (
            ProviderError("server_error", params={"status": 500}, retryable=True, detail="tools param requires x"),
            {},
            "The model service failed (HTTP 500). Try again in a moment. The service said: tools param requires x",
        ),
        (
            ProviderError("unreachable", "bad_address", {"problem": "port"}, retryable=False),
            {"profile": "kimi"},
            "The port of the address must be a number from 1 to 65535. Check the address of the model profile “kimi”.",
        ),
        (
            ProviderError("refused", "redirect", {"host": "a.example", "target": "", "status": 302}, retryable=False),
            {},
            "a.example redirects requests to an unreadable address (HTTP 302), which is not followed. "
            "Check OPENAI_BASE_URL.",
        ),
    ],
)
def test_staff_text_in_full(error, place, text):
    assert failure_text(error, for_staff=True, place=place) == text


def test_text_is_in_the_language_of_the_viewer():
    with override("de"):
        staff = error_text("authentication", params={"profile": "kimi"}, for_staff=True)
        user = error_text("authentication", for_staff=False)

    assert staff.endswith("Prüfen Sie die Schlüsselvariable des Modellprofils „kimi“.")
    assert user == "Das Modell ist derzeit nicht verwendbar. Wenden Sie sich an Ihren Administrator."


@pytest.mark.parametrize(
    ("wait_s", "words"),
    [
        (None, "in a moment"),
        (0, "in a moment"),
        (7.2, "in about 8 seconds"),
        (90, "in about 90 seconds"),
        (100, "in about 2 minutes"),
        (7200, "in about 2 hours"),
        (86400, "tomorrow"),
    ],
)
def test_time_of_the_next_try_is_said_in_plain_words(wait_s, words):
    text = error_text("rate_limited", params={"wait_s": wait_s}, for_staff=False)

    assert text == f"The model has too many requests. Try again {words}."


STORED = "Nothing answers at host-canary:8080. Is OPENAI_BASE_URL right?"


@pytest.mark.parametrize(
    ("fields", "for_staff", "text"),
    [
        ({"error_code": "unreachable", "error_message": STORED}, True, STORED),
        (
            {"error_code": "unreachable", "error_message": STORED},
            False,
            "The model can’t be reached at the moment. Contact your administrator if this continues.",
        ),
        ({"error_code": "of another version", "error_message": STORED}, True, STORED),
        (
            {"error_code": "of another version", "error_message": STORED},
            False,
            "Stopped: something went wrong on this server.",
        ),
        ({"status": "completed", "error_message": "It was told the name only."}, False, "It was told the name only."),
        ({"status": "completed"}, False, ""),
    ],
)
def test_turns_of_earlier_versions_stay_readable(fields: dict[str, Any], for_staff, text):
    turn = Turn(**{"status": "errored", **fields})

    assert error_texts.turn_error_text(turn, for_staff=for_staff) == text


def test_only_staff_are_told_how_to_connect_a_model():
    assert error_text("", "offline", for_staff=False) == ""
    assert ".env" in error_text("", "offline", for_staff=True)
