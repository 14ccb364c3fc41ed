"""The ``reasoning.*`` settings by name, value and layer."""

import pytest

from reasoning.errors import SettingError
from reasoning.settings import ReasoningSettings, parse_layer, setting_name


@pytest.mark.spec("001 ERR-001")
def test_rejected_value_names_the_allowed_ones():
    settings = ReasoningSettings()

    with pytest.raises(SettingError, match=r"reasoning\.format: 'xml' is not allowed; 'field' or 'native' only"):
        settings.with_value("reasoning.format", "xml")

    assert settings == ReasoningSettings()


ODD_NUMBERS: tuple[object, ...] = (
    "1_000",
    "١٢",
    "１２",
    " 5",
    "5 ",
    "+5",
    "-5",
    "5.0",
    5.0,
    "1e3",
    "0x10",
    True,
    [5],
    "9" * 99,
)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("reasoning.enabled", word) for word in ("maybe", "yes", "no", "0", 1, "", None)),
        ("reasoning.effort", "huge"),
        ("reasoning.maxTokens", "0"),
        ("reasoning.maxTokens", "many"),
        *(("reasoning.maxTokens", number) for number in ODD_NUMBERS),
        ("reasoning.stripFromContext", "some"),
        ("reasoning.summary", ""),
        ("reasoning.colour", "red"),
    ],
)
def test_invalid_value_is_refused_by_name(key, value):
    with pytest.raises(SettingError, match=key):
        ReasoningSettings().with_value(key, value)


@pytest.mark.spec("001 BR-007")
def test_native_format_is_accepted():
    assert ReasoningSettings().with_value("reasoning.format", "native").format == "native"


def test_later_layer_wins_and_an_unset_value_falls_through():
    settings = ReasoningSettings.from_layers(
        {"reasoning.effort": "low", "reasoning.maxTokens": 100}, None, {"reasoning.effort": "high"}
    )

    assert (settings.effort, settings.max_tokens) == ("high", 100)


@pytest.mark.spec("001 BR-003")
def test_display_does_not_depend_on_context():
    settings = ReasoningSettings().with_value("reasoning.includeInContext", "true")

    assert settings.include_in_response
    assert not settings.with_value("reasoning.includeInResponse", "false").include_in_response


@pytest.mark.parametrize(
    ("text", "layer"),
    [
        ("", {}),
        ("effort=low", {"reasoning.effort": "low"}),
        (" reasoning.enabled = off , maxtokens=5,", {"reasoning.enabled": False, "reasoning.maxTokens": 5}),
        ("includeInContext=Yes,maxTokens=1", {"reasoning.includeInContext": True, "reasoning.maxTokens": 1}),
    ],
)
def test_layer_in_one_line(text, layer):
    assert parse_layer(text) == layer


def test_setting_is_found_without_its_prefix_and_in_any_case():
    assert (
        setting_name("STRIPFROMCONTEXT") == setting_name("reasoning.stripFromContext") == "reasoning.stripFromContext"
    )


@pytest.mark.spec("001 ERR-001")
def test_error_has_key_value_and_allowed_words():
    with pytest.raises(SettingError) as refused:
        parse_layer("format=xml")

    assert (refused.value.key, refused.value.value) == ("reasoning.format", "xml")
    assert refused.value.allowed == ("field", "native")


def test_what_nobody_set_is_shown_as_it_acts():
    shown = ReasoningSettings().as_dict()

    assert (shown["reasoning.includeInContext"], shown["reasoning.stripFromContext"]) == (False, "none")
    assert (shown["reasoning.effort"], shown["reasoning.maxTokens"]) == (None, None)
