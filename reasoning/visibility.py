"""What one viewer may see of an answer, decided once per request or socket. Product 4, 9, 13 and 15."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from reasoning.replay.tokens import CHARS_PER_TOKEN

EXCERPT_TOKENS = 200  # Spec 000 rule 5, product 4
EXCERPT_CHARS = EXCERPT_TOKENS * CHARS_PER_TOKEN  # so many by estimate_tokens, but for emoji
TRUNCATED = "…(truncated)"

ThinkingForUsers = Literal["excerpt", "full", "hidden"]
ThinkingAccess = Literal["whole", "excerpt", "withheld", "none"]


@dataclass(frozen=True, slots=True)
class SiteFlags:
    """The deployment's ``REASONING_*`` flags. Spec 004 flags, product 13."""

    enabled: bool = True
    show_summary_default: bool = True
    tool_trace_default: bool = True
    scratchpad_enabled: bool = False
    scratchpad_admin_only: bool = True
    thinking_for_users: ThinkingForUsers = "excerpt"


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who is looking. ``show_*`` are the choices of this session; None where they made none."""

    is_administrator: bool = False
    is_staff: bool = False
    show_reasoning: bool | None = None
    show_trace: bool | None = None
    include_in_response: bool = True
    scratchpad_on: bool = False


@dataclass(frozen=True, slots=True)
class Visibility:
    """What one viewer may see of an answer. The answer and its sources are always seen."""

    reasoning_possible: bool = True  # the site shows reasoning, so there is a switch
    show_reasoning: bool = True
    summary: bool = True
    trace: bool = True
    trace_on_request: bool = False  # left out until asked for (REASONING_TOOL_TRACE_DEFAULT=false)
    thinking: ThinkingAccess = "excerpt"
    scratchpad: bool = False
    scratchpad_possible: bool = False  # the viewer may switch it on
    previews_requests: bool = False  # the viewer may see what the next request contains
    names_settings: bool = False  # errors name the setting to check; others are asked to call their administrator

    @property
    def may_open_thinking(self) -> bool:
        return self.thinking in ("whole", "excerpt")

    def cuts_thinking(self, tokens: int) -> bool:
        """Whether this viewer reads only the beginning of so much thinking. Product 4."""
        return self.thinking == "excerpt" and tokens > EXCERPT_TOKENS

    def only(self, *, summary: bool, trace: bool, thinking: bool) -> Visibility:
        """Return this for a copy that leaves the page, less what its person leaves out. It never holds a scratchpad.

        Steps that are left out until somebody asks for them are in it where they are asked for.
        """
        return replace(
            self,
            summary=self.summary and summary,
            trace=trace and self.with_trace().trace,
            trace_on_request=False,
            thinking=self.thinking if thinking and self.may_open_thinking else "none",
            scratchpad=False,
            scratchpad_possible=False,
            previews_requests=False,
            names_settings=False,
        )

    def with_trace(self) -> Visibility:
        """Return this with the steps that are left out until somebody asks for them. Product 13."""
        return replace(self, trace=self.trace or self.trace_on_request, trace_on_request=False)

    def thinking_text(self, redacted: str) -> tuple[str, bool]:
        """Cut redacted thinking to what this viewer may read: (text, was it cut). Product 4."""
        if not self.may_open_thinking:
            return "", bool(redacted)
        if self.thinking == "whole" or len(redacted) <= EXCERPT_CHARS:
            return redacted, False
        return redacted[:EXCERPT_CHARS].rstrip() + TRUNCATED, True

    def thinking_piece(self, redacted: str, *, offset: int, chars: int) -> str:
        """Cut the thinking from ``offset`` to ``chars`` as it streams; an excerpt ends with its mark once. Product 4.

        ``redacted`` may hold less than the piece where it comes from another process.
        """
        if not self.may_open_thinking:
            return ""
        # The mark is sent with the piece that passes the limit, and with no later one.
        room = EXCERPT_CHARS - offset
        if self.thinking == "whole" or chars - offset <= room:
            return redacted
        return redacted[:room] + TRUNCATED if room >= 0 else ""


def visibility(flags: SiteFlags, viewer: Viewer) -> Visibility:
    """Decide what ``viewer`` may see on a site with ``flags``. Product 4, 9, 13."""
    may_scratchpad = (
        viewer.is_administrator and flags.enabled and flags.scratchpad_enabled and flags.scratchpad_admin_only
    )
    # The choice of the session wins over the default of the site.
    shows = flags.show_summary_default if viewer.show_reasoning is None else viewer.show_reasoning
    showing = flags.enabled and shows
    wants_trace = flags.tool_trace_default if viewer.show_trace is None else viewer.show_trace
    thinking: ThinkingAccess
    if not (showing and viewer.include_in_response):
        thinking = "none"
    elif viewer.is_administrator or flags.thinking_for_users == "full":
        thinking = "whole"
    else:
        thinking = "withheld" if flags.thinking_for_users == "hidden" else "excerpt"
    return Visibility(
        reasoning_possible=flags.enabled,
        show_reasoning=showing,
        summary=showing,
        trace=showing and wants_trace,
        trace_on_request=showing and not wants_trace,
        thinking=thinking,
        scratchpad=may_scratchpad and viewer.scratchpad_on,
        scratchpad_possible=may_scratchpad,
        previews_requests=viewer.is_administrator,
        names_settings=viewer.is_administrator or viewer.is_staff,
    )
