"""Settings by name, and who may see what: tables over flags and viewers."""

from __future__ import annotations

import pytest

from reasoning.errors import SettingError
from reasoning.policy import (
    EXCERPT_CHARS,
    ReasoningSettings,
    SiteFlags,
    Viewer,
    parse_layer,
    setting_name,
    visibility,
)

USER = Viewer()
ADMINISTRATOR = Viewer(is_administrator=True, scratchpad_on=True)
SCRATCHPAD_SITE = SiteFlags(scratchpad_enabled=True)


@pytest.mark.spec("001 ERR-001")
def test_rejected_value_names_what_is_allowed_and_changes_nothing() -> None:
    settings = ReasoningSettings()

    with pytest.raises(SettingError, match=r"reasoning\.format: 'xml' is not allowed; 'field' or 'native' only"):
        settings.with_value("reasoning.format", "xml")

    assert settings == ReasoningSettings()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("reasoning.enabled", "maybe"),
        ("reasoning.effort", "huge"),
        ("reasoning.maxTokens", "0"),
        ("reasoning.maxTokens", "many"),
        ("reasoning.stripFromContext", "some"),
        ("reasoning.summary", ""),
        ("reasoning.colour", "red"),
    ],
)
def test_value_that_is_not_allowed_is_refused_by_name(key: str, value: str) -> None:
    with pytest.raises(SettingError, match=key):
        ReasoningSettings().with_value(key, value)


@pytest.mark.spec("001 BR-007")
def test_native_format_is_accepted() -> None:
    assert ReasoningSettings().with_value("reasoning.format", "native").format == "native"


def test_later_layer_wins_and_an_unset_value_falls_through() -> None:
    settings = ReasoningSettings.from_layers(
        {"reasoning.effort": "low", "reasoning.maxTokens": 100}, None, {"reasoning.effort": "high"}
    )

    assert (settings.effort, settings.max_tokens) == ("high", 100)


@pytest.mark.spec("004 flags")
def test_disabled_reasoning_shows_nothing_to_anybody() -> None:
    for viewer in (USER, ADMINISTRATOR):
        sees = visibility(SiteFlags(enabled=False, scratchpad_enabled=True), viewer)

        shown = (sees.reasoning_possible, sees.summary, sees.trace, sees.scratchpad, sees.may_open_thinking)
        assert not any(shown)


@pytest.mark.spec("004 flags")
def test_summary_default_off_waits_for_the_viewer() -> None:
    flags = SiteFlags(show_summary_default=False)

    assert not visibility(flags, USER).summary
    assert visibility(flags, Viewer(show_reasoning=True)).summary


@pytest.mark.spec("004 flags")
def test_trace_default_off_leaves_the_trace_out_until_asked() -> None:
    flags = SiteFlags(tool_trace_default=False)

    assert (visibility(flags, USER).trace, visibility(flags, USER).trace_on_request) == (False, True)
    assert visibility(flags, Viewer(show_trace=True)).trace


@pytest.mark.spec("product 9")
@pytest.mark.parametrize(
    ("flags", "viewer", "sees"),
    [
        (SCRATCHPAD_SITE, ADMINISTRATOR, True),
        (SCRATCHPAD_SITE, Viewer(scratchpad_on=True), False),
        (SCRATCHPAD_SITE, Viewer(is_administrator=True), False),
        (SiteFlags(), ADMINISTRATOR, False),
        (SiteFlags(scratchpad_enabled=True, scratchpad_admin_only=False), ADMINISTRATOR, False),
        (SiteFlags(scratchpad_enabled=True, enabled=False), ADMINISTRATOR, False),
    ],
)
def test_scratchpad_needs_all_five_conditions(flags: SiteFlags, viewer: Viewer, *, sees: bool) -> None:
    assert visibility(flags, viewer).scratchpad is sees


@pytest.mark.spec("product 4")
@pytest.mark.parametrize(
    ("mode", "viewer", "thinking"),
    [
        ("excerpt", USER, "excerpt"),
        ("full", USER, "whole"),
        ("hidden", USER, "withheld"),
        ("hidden", Viewer(is_administrator=True), "whole"),
        ("excerpt", Viewer(include_in_response=False), "none"),
        ("full", Viewer(show_reasoning=False), "none"),
    ],
)
def test_thinking_follows_site_role_and_settings(mode: str, viewer: Viewer, thinking: str) -> None:
    assert visibility(SiteFlags(thinking_for_users=mode), viewer).thinking == thinking


def test_excerpt_is_cut_and_marked() -> None:
    text, truncated = visibility(SiteFlags(), USER).thinking_text("x" * (EXCERPT_CHARS + 1))

    assert truncated
    assert text == "x" * EXCERPT_CHARS + "…(truncated)"


@pytest.mark.spec("001 BR-003")
def test_display_does_not_depend_on_context() -> None:
    settings = ReasoningSettings().with_value("reasoning.includeInContext", "true")

    assert settings.include_in_response
    assert not settings.with_value("reasoning.includeInResponse", "false").include_in_response


@pytest.mark.parametrize(
    ("text", "layer"),
    [
        ("", {}),
        ("effort=low", {"reasoning.effort": "low"}),
        (" reasoning.enabled = off , maxtokens=5,", {"reasoning.enabled": False, "reasoning.maxTokens": 5}),
    ],
)
def test_layer_is_spelt_in_one_line(text: str, layer: dict[str, object]) -> None:
    assert parse_layer(text) == layer


def test_setting_is_found_without_its_prefix_and_in_any_case() -> None:
    assert (
        setting_name("STRIPFROMCONTEXT") == setting_name("reasoning.stripFromContext") == "reasoning.stripFromContext"
    )


@pytest.mark.spec("001 ERR-001")
def test_refusal_carries_what_a_form_needs() -> None:
    with pytest.raises(SettingError) as refused:
        parse_layer("format=xml")

    assert (refused.value.key, refused.value.value) == ("reasoning.format", "xml")
    assert refused.value.allowed == ("field", "native")
