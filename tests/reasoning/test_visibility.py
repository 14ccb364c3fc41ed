"""What a viewer may see: tables over site flags and viewers."""

import pytest

from reasoning.envelope import AnswerRecord, envelope
from reasoning.visibility import EXCERPT_CHARS, SiteFlags, Viewer, Visibility, visibility

USER = Viewer()
ADMINISTRATOR = Viewer(is_administrator=True, scratchpad_on=True)
SCRATCHPAD_SITE = SiteFlags(scratchpad_enabled=True)


@pytest.mark.spec("004 flags")
def test_disabled_reasoning_shows_nothing_to_anybody():
    for viewer in (USER, ADMINISTRATOR):
        sees = visibility(SiteFlags(enabled=False, scratchpad_enabled=True), viewer)

        shown = (sees.reasoning_possible, sees.summary, sees.trace, sees.scratchpad, sees.may_open_thinking)
        assert not any(shown)


@pytest.mark.spec("004 flags")
def test_summary_off_by_default_can_be_switched_on():
    flags = SiteFlags(show_summary_default=False)

    assert not visibility(flags, USER).summary
    assert visibility(flags, Viewer(show_reasoning=True)).summary


@pytest.mark.spec("004 flags")
def test_trace_off_by_default_is_shown_on_request():
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
def test_scratchpad_needs_all_five_conditions(flags, viewer, *, sees):
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
def test_thinking_follows_site_role_and_settings(mode, viewer, thinking):
    assert visibility(SiteFlags(thinking_for_users=mode), viewer).thinking == thinking


def test_excerpt_is_cut_and_marked():
    text, truncated = visibility(SiteFlags(), USER).thinking_text("x" * (EXCERPT_CHARS + 1))

    assert truncated
    assert text == "x" * EXCERPT_CHARS + "…(truncated)"


# The envelope: what one viewer may get of an answer.


RECORD = AnswerRecord(
    id="t",
    status="complete",
    finish_reason="stop",
    model="m",
    answer="Yes.",
    summary=("Looked.",),
    summary_source="model",
    trace=(),
    citations=(),
    thinking_tokens=3,
    input_tokens=None,
    output_tokens=None,
    reasoning_tokens=None,
)
THINKING = {"text": "Hm.", "tokensEst": 1, "truncated": False}


@pytest.mark.spec("004 envelope")
def test_scratchpad_needs_visibility():
    assert "scratchpad" not in envelope(RECORD, Visibility(), scratchpad="x")
    assert envelope(RECORD, Visibility(scratchpad=True), scratchpad="x")["scratchpad"] == "x"


@pytest.mark.spec("004 envelope")
@pytest.mark.parametrize(
    ("thinking", "is_there"), [("excerpt", True), ("whole", True), ("withheld", False), ("none", False)]
)
def test_thinking_needs_visibility(thinking, *, is_there):
    form = envelope(RECORD, Visibility(thinking=thinking), thinking=THINKING)  # type: ignore[arg-type]

    assert ("thinking" in form) is is_there


@pytest.mark.spec("004 envelope")
def test_hidden_summary_and_trace_are_empty():
    form = envelope(RECORD, Visibility(summary=False, trace=False))

    assert (form["reasoningSummary"], form["toolTrace"]) == ([], [])
    assert "summarySource" not in form
