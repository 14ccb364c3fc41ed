"""Values of any shape become bounded strict JSON without secrets; the input is unchanged."""

import copy
import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reasoning.redaction import REDACTED, SECRETS_ONLY, RedactionPolicy, Redactor, redact_args, redact_trace
from tests.reasoning.redaction_samples import SECRETS, noise


def strict(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


@pytest.mark.spec("004 redaction")
def test_secret_key_covers_everything_under_it():
    shown = redact_args({"credentials": {"user": "bob", "pins": [1, 2]}, "password": 1234, "token": None, "auth": True})

    assert shown == {"credentials": "[redacted]", "password": "[redacted]", "token": None, "auth": True}


def test_weak_key_hides_what_looks_secret():
    assert redact_args({"key": noise(20, 1), "code": "10-K"}) == {"key": "[redacted]", "code": "10-K"}


def test_number_of_any_size_is_shown_by_its_size():
    huge = 10**5_000

    assert redact_args({"a": huge, "b": {huge, "x"}, "phone": huge}) == {
        "a": "[integer, 16610 bits]",
        "b": ["[integer, 16610 bits]", "x"],
        "phone": "[redacted]",
    }


@pytest.mark.spec("004 redaction")
def test_long_string_is_truncated():
    assert redact_args("x" * 1_000) == "x" * 256 + "…(truncated)"
    assert redact_args("word " * 100) == ("word " * 100)[:256] + "…(truncated)"
    assert redact_args("y" * 256) == "y" * 256


def test_truncation_hides_no_mask_and_splits_no_character():
    flags = redact_args("a" * 255 + "🇩🇪🇫🇷")
    family = redact_args("a" * 254 + "👩\u200d👩\u200d👧")
    masked = redact_args("b" * 249 + " password=hunter2 and more")

    assert flags == "a" * 255 + "…(truncated)"
    assert family == "a" * 254 + "…(truncated)"
    assert "hunter" not in masked


@pytest.mark.spec("004 redaction")
def test_vectors_become_counts():
    vector = [0.25] * 1_536

    assert redact_args({"query": "q", "embedding": vector}) == {"query": "q", "embedding": {"count": 1536}}
    assert redact_args({"points": vector}) == {"points": {"count": 1536}}
    assert redact_args({"years": list(range(2010, 2026))}) == {"years": list(range(2010, 2026))}
    assert "[vector]" in redact_args({"v": f"see {vector[:40]}"})["v"]


def test_encoded_and_raw_bytes_become_notes():
    encoded = noise(400, 3)

    assert redact_args({"image": f"data:image/png;base64,{encoded}"})["image"].startswith("[base64 ")
    assert redact_args({"raw": b"abc"}) == {"raw": "[3 bytes]"}


def test_pairs_use_the_name_beside_them():
    secret = noise(20, 4)
    headers = [["Authorization", f"Bearer {secret}"], ["Accept", "text/html"]]
    asgi = [(b"authorization", secret.encode()), (b"accept", b"text/html")]
    har = {"headers": [{"name": "X-Api-Key", "value": secret}, {"name": "Accept", "value": "*/*"}]}

    assert redact_args(headers) == [["Authorization", "[redacted]"], ["Accept", "text/html"]]
    assert redact_args(asgi) == [["authorization", "[redacted]"], ["accept", "[9 bytes]"]]
    assert redact_args(har)["headers"] == [
        {"name": "X-Api-Key", "value": "[redacted]"},
        {"name": "Accept", "value": "*/*"},
    ]


@pytest.mark.spec("004 redaction")
@pytest.mark.parametrize("label", ["aadhaar", "pesel", "taxId", "national_id", "insuranceNumber", "codiceFiscale"])
def test_identity_numbers_are_masked_by_their_form_behind_any_label(label):
    number = "RSSMRA85T10A562S"

    assert redact_args({label: number}) == {label: "[redacted]"}
    assert redact_args({label: [number]}) == {label: ["[redacted]"]}
    assert redact_args({label: {"number": number, "status": "open"}})[label] == {
        "number": "[redacted]",
        "status": "open",
    }
    assert redact_args({label: "pending"}) == {label: "pending"}


@pytest.mark.spec("004 redaction")
@pytest.mark.parametrize("label", ["ssn", "itin", "socialSecurity", "social_security_number"])
def test_last_digits_of_a_social_security_number_are_masked(label):
    assert redact_args({label: "6789"}) == {label: "[redacted]"}
    assert redact_args({label: {"last4": 6789}}) == {label: "[redacted]"}


def test_json_inside_strings_is_walked():
    inner = json.dumps({"password": "hunter2", "n": 1})

    assert json.loads(redact_args(inner)) == {"password": "[redacted]", "n": 1}
    assert "hunter2" not in redact_args(json.dumps(inner))
    assert "hunter2" not in redact_args('{"password": "hunter2", "password": null}')
    assert redact_args('{"a":  1}') == '{"a":  1}'


def test_keys_are_redacted_and_stay_apart():
    shown = redact_args({"bob@example.com": 1, "b@example.com": 2, 5: "a", "5": "b", None: 1, (1, 2): 3})

    assert "b***@example.com" in shown
    assert len(shown) == 6
    assert all(isinstance(key, str) for key in shown)


def test_input_is_not_touched():
    args = {"a": [{"password": "hunter2"}, [0.5] * 20], "b": {"c": "x" * 500}}
    before = copy.deepcopy(args)

    redact_args(args)

    assert args == before


def test_shared_value_is_no_cycle():
    part = {"a": 1}

    assert redact_args([part, part]) == [{"a": 1}, {"a": 1}]


def test_card_as_a_number_is_masked():
    assert redact_args({"n": 4111111111111111, "cik": 320193, "at": 1730448000123}) == {
        "n": "[redacted]",
        "cik": 320193,
        "at": 1730448000123,
    }


def test_size_is_bounded_in_bytes():
    for value in (
        {str(n): "x" * 200 for n in range(50_000)},
        ["é" * 250] * 20_000,
        [[]] * 100_000,
        [["a", "b" * 300]] * 9_000,
    ):
        assert len(strict(redact_args(value)).encode()) <= 102_400


@pytest.mark.spec("004 trace")
def test_only_declared_arguments_are_shown():
    args = {
        "query": "mail bob@example.com",
        "filter": "x" * 120,
        "ids": [1, 2],
        "n": 4,
        "api_key": "abc",
        "o": {"a": 1},
    }

    shown = Redactor().redact_args(args, shown=frozenset({"query"}))

    assert shown == {
        "query": "mail b***@example.com",
        "filter": "[text, 120 characters]",
        "ids": "[list, 2 items]",
        "n": "[number]",
        "api_key": "[redacted]",
        "o": "[object, 1 key]",
    }


def test_secrets_deep_in_arguments_are_masked():
    leaked = [
        case.text
        for case in SECRETS
        if json.dumps(case.private)[1:-1] in strict(redact_args({"note": [{"text": case.text}]}))
    ]

    assert not leaked


@pytest.mark.spec("product 12")
def test_secrets_only_shows_people():
    args = {"first_name": "Ann", "email": "a.b@example.com", "password": "hunter2"}

    assert Redactor(SECRETS_ONLY).redact_args(args) == {**args, "password": "[redacted]"}


@pytest.mark.spec("004 redaction")
@pytest.mark.parametrize("email", ["postgres://app:{}@db", "token={}@x"])
def test_email_that_was_none_is_stable(email):
    shown = redact_args({"email": email.format("Maple!77tree")})

    assert redact_args(shown) == shown


@pytest.mark.spec("004 redaction")
@pytest.mark.parametrize("value", [None, True, False, ""])
def test_email_that_is_missing_is_shown(value):
    assert redact_args({"email": value}) == {"email": value}


@pytest.mark.spec("004 trace")
def test_trace_has_the_same_shape():
    step = {
        "tool": "searchFilings",
        "args": {"query": "risk factors", "token": "abc"},
        "durationMs": 387,
        "results": 5,
        "topCitations": [{"filing": "10-K", "date": "2024-11-01", "snippet": "call (415) 555-0132, password=hunter2"}],
        "status": "ok",
        "redactions": {"secret": 1},
    }

    shown = redact_trace([step])[0]

    assert shown["args"] == {"query": "risk factors", "token": "[redacted]"}
    assert shown["topCitations"][0]["snippet"] == "call (415) 555-0132, password=[redacted]"
    assert {key: shown[key] for key in ("tool", "durationMs", "results", "status", "redactions")} == {
        key: step[key] for key in ("tool", "durationMs", "results", "status", "redactions")
    }


@pytest.mark.spec("004 redaction")
def test_trace_is_capped_by_whole_steps():
    steps = [{"tool": "t", "args": {str(n): "é" * 200 for n in range(8)}, "durationMs": 1} for _ in range(200)]

    shown = redact_trace(steps)

    assert len(json.dumps(shown, ensure_ascii=False).encode()) <= 102_400
    assert shown[-1]["omitted"] == 200 - (len(shown) - 1)
    assert redact_trace(shown) == shown


def test_trace_fits_its_bytes_whatever_they_are():
    """The step that counts what was left out is part of the limit."""
    steps = [{"tool": "t" * (n % 60), "args": {}} for n in range(40)]
    too_large = []
    for limit in range(150, 2_000, 7):
        shown = Redactor(RedactionPolicy(trace_bytes=limit)).redact_trace(steps)
        if len(strict(shown)) > limit:
            too_large.append(limit)

    assert not too_large


def test_odd_steps_fail_closed():
    assert redact_trace([{"args": {"password": "hunter2"}}, "hunter2"]) == [{"tool": "[unavailable]", "args": {}}]  # type: ignore[list-item]


def test_failure_shows_unavailable():
    class Hostile(dict[str, str]):
        def items(self):
            raise RuntimeError("hunter2")

    assert redact_args(Hostile(a="b")) == "[unavailable]"


_KEYS = st.sampled_from(["a", "password", "key", "email", "name", "value", "vector", "0"])
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40) | st.binary(max_size=8)
    | st.sampled_from([case.text for case in SECRETS]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(_VALUES)
def test_any_value_gives_strict_stable_json(value):
    once = redact_args(value)

    assert json.loads(strict(once)) == once
    assert redact_args(once) == once


def test_small_bounds_hold():
    policy = RedactionPolicy(max_nodes=50, max_depth=3, value_bytes=500)
    chance = random.Random(3)  # noqa: S311 - the same in every run
    value = [[[[chance.random() for _ in range(5)]]] for _ in range(400)]

    shown = Redactor(policy).redact_args(value)

    assert len(strict(shown)) <= 700
    assert Redactor(policy).redact_args(shown) == shown


@pytest.mark.parametrize(
    ("name", "value"),
    [("nhs_number", "405 304 5177"), ("steuerId", "12 345 678 903"), ("pesel", 44051401359), ("nif", ["12345678Z"])],
)
def test_label_of_a_persons_number_is_a_key_too(name, value):
    """Spec 004 redaction."""
    shown = redact_args({name: value})
    assert shown[name] == ([REDACTED] if isinstance(value, list) else REDACTED)
    assert redact_args({name: "asked"}) == {name: "asked"}
