"""What is tried again: database work while the database is unavailable, and requests that a model service refused."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

from channels.db import database_sync_to_async
from django.conf import settings
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_before_delay, wait_exponential
from tenacity.stop import stop_never

from chat.observability import metrics
from chat.providers.base import ProviderError, Reason
from chat.texts.db_errors import is_outage
from reasoning.replay.plan import EgressPlan
from reasoning.replay.selection import BY_SETTING

T = TypeVar("T")
Action = Literal["learn", "omit", "compact", "wait", "withhold"]
DB_RETRY_TIMEOUT_S = 20.0
DB_FIRST_WAIT_S, DB_MAX_WAIT_S = 0.1, 5.0
MAX_WAITS = 2
CONTENT_TOO_LARGE, INTERNAL_SERVER_ERROR = 413, 500
MAX_OVERFLOWS = 2  # where the first shorter request is still too long
LONGEST_LOADING_WAIT_S = 16.0
MAX_WAIT_S = 30.0  # longer, and the user would rather decide
FIRST_WAIT_S = 0.5
_TRANSIENT_CODES = frozenset({"rate_limited", "server_error", "disconnected"})
# Reasons that name an opaque item, which can be left out of the next request.
_ITEM_REASONS = frozenset({"ciphertext", "not_found_item", "unpaired_item", "reasoning_refused", "include"})
# Reasons that may be wrong: where the request doesn't contain what they name, the refusal counts as unexplained.
_VAGUE_REASONS = frozenset(
    {"", "policy", "content", "call_ids", "results", "parallel_calls", "result_names", "roles", "system_role", "images"}
)

_CALL_REASONS = frozenset({"results", "call_ids", "parallel_calls", "result_names"})


class Remedy(NamedTuple):
    """What may help after a refusal.

    ``what`` is a field of ``LearnedFacts`` to ``learn``, with the time of the refusal, or one of ``Refused`` to
    ``omit``. What to ``withhold`` are tools of MCP servers, in this turn.
    """

    action: Action
    what: str = ""


class Lesson(NamedTuple):
    """What a refusal for a ``reason`` says of a model, and whether a plan already respects that."""

    reason: Reason
    fact: str
    is_respected: Callable[[EgressPlan], bool]


class NamedPart(NamedTuple):
    """A part that a refusal for a ``reason`` names, a field of ``Refused``, and whether a plan sends it."""

    reason: Reason
    part: str
    is_sent: Callable[[EgressPlan], bool]


LESSONS = (
    Lesson("tools", "tools_refused_at", lambda plan: not plan.offers_tools),
    Lesson("missing_reasoning", "reasoning_wanted_at", lambda plan: plan.insists_on_reasoning),
)
NAMED_PARTS = (
    NamedPart("system_role", "system", lambda plan: plan.takes_system),
    # A message of the system may be the one that is too many where roles must alternate.
    NamedPart("roles", "system", lambda plan: plan.takes_system),
    NamedPart("call_ids", "call_ids", lambda plan: plan.has_loose_call_ids),
    NamedPart("parallel_calls", "parallel", lambda plan: plan.has_parallel_calls),
    NamedPart("result_names", "results", lambda plan: plan.has_nameless_results),
    NamedPart("content", "content", lambda plan: plan.has_null_content),
    NamedPart("images", "images", lambda plan: plan.sends_images),
)
logger = logging.getLogger(__name__)


async def retry_on_db_outage(
    work: Callable[[], T],
    *,
    again: Callable[[], T] | None = None,
    timeout_s: float | None = DB_RETRY_TIMEOUT_S,
    give_up: Callable[[], bool] = lambda: False,
) -> T:
    """Run synchronous database work in a thread, with exponential backoff while the database is unavailable.

    An attempt may have committed although it failed: ``again`` replaces ``work`` after the first. Raises what the
    database raised last when ``timeout_s`` is over or ``give_up`` returns true, and any other error at once.
    """
    is_late = stop_never if timeout_s is None else stop_before_delay(timeout_s)
    retrying = AsyncRetrying(
        retry=retry_if_exception(is_outage),
        wait=wait_exponential(multiplier=DB_FIRST_WAIT_S, max=DB_MAX_WAIT_S),
        stop=lambda state: give_up() or is_late(state),
        before_sleep=_log_outage,
        reraise=True,
    )
    async for attempt in retrying:
        with attempt:
            is_first = attempt.retry_state.attempt_number == 1
            return await database_sync_to_async(work if is_first else again or work)()
    raise AssertionError  # AsyncRetrying ends by returning or raising


def _log_outage(state: RetryCallState) -> None:
    metrics.DATABASE_ERRORS.labels("turn").inc()
    error = state.outcome.exception() if state.outcome else None
    logger.warning("database does not answer", extra={"error": type(error).__name__})


@dataclass(slots=True)
class RetryPolicy:
    """What to do about a request that failed before any output. Replay 2.10, D6; product 28 to 31.

    Each remedy changes the next request; compaction and waiting are tried at most twice, or for minutes while a model
    is being loaded. That applies to each request of a turn, since one that failed has produced nothing. After the first
    piece of an answer a failure ends the turn: what a service has answered is never requested again.
    """

    _overflows: int = 0
    _empties: int = 0
    _waits: int = 0
    _loading_waits: int = 0
    _loading_s: float = 0.0  # their sum

    def remedy(self, error: ProviderError, plan: EgressPlan, *, offers_others: bool = False) -> Remedy | None:
        """Return what may help after ``plan`` was refused, and count it as tried; None where the turn fails.

        ``offers_others``: tools of MCP servers are offered, too. A service may refuse one of their schemas.
        """
        if error.reason == "tools" and plan.offers_tools and offers_others:
            return Remedy("withhold")
        for lesson in LESSONS:
            if error.reason == lesson.reason and not lesson.is_respected(plan):
                return Remedy("learn", lesson.fact)
        # Needs no limit: the next plan doesn't contain the refused part.
        is_unexplained = error.code == "refused" and error.reason in _VAGUE_REASONS
        if part := refused_part(error, plan, is_unexplained=is_unexplained):
            return Remedy("omit", part)
        # A proxy that limits the bytes of a request, and knows no context: images have the most of them.
        is_too_large = error.params.get("status") == CONTENT_TOO_LARGE and error.context_limit is None
        if is_too_large and plan.sends_images:
            return Remedy("omit", "images")
        if error.code == "context_overflow" and self._overflows < MAX_OVERFLOWS:
            self._overflows += 1
            return Remedy("compact")
        if self.take_wait(error):
            return Remedy("wait")
        # A server that breaks at each try may do so at a part of the request; one that is unavailable or busy doesn't.
        has_waited = self._waits >= MAX_WAITS
        is_broken = error.params.get("status") == INTERNAL_SERVER_ERROR and has_waited
        part = refused_part(error, plan, is_unexplained=is_broken)
        # A server may crash at results of calls. In the turn of these calls that looks like a short outage, which
        # changes nothing; a later question is better answered without them than not at all.
        is_down = error.code in ("server_error", "disconnected", "malformed") and (has_waited or not error.retryable)
        if not part and is_down and plan.sends_calls and not plan.ends_in_results:
            part = "calls"
        return Remedy("omit", part) if part else None

    def take_empty(self) -> bool:
        """Return whether a response with nothing in it is asked for once more, and count that."""
        self._empties += 1
        return self._empties == 1

    def take_wait(self, error: ProviderError) -> bool:
        """Return whether the same request may succeed after ``wait_s``; if so, that wait is counted."""
        if error.reason == "loading":
            self._loading_waits += 1
            self._loading_s += self.wait_s(error)
            return self._loading_s <= settings.FIRST_WORD_TIMEOUT_S
        # A gateway that gave up on its service (504, 524) may do better; our own waiting was long enough.
        is_transient = error.code in _TRANSIENT_CODES or (error.code == "timeout" and not error.reason)
        if not (error.retryable and is_transient):
            return False
        if self._waits >= MAX_WAITS or self.wait_s(error) > MAX_WAIT_S:
            return False
        self._waits += 1
        return True

    def wait_s(self, error: ProviderError) -> float:
        """Return how long to wait: what the service says, else half a second, then twice that.

        While a model is being loaded: 1, 2, 4, 8, 16, 16, … seconds.
        """
        if error.reason == "loading":
            return min(2.0 ** (self._loading_waits - 1), LONGEST_LOADING_WAIT_S)
        if error.retry_after_s is not None:
            return error.retry_after_s
        return FIRST_WAIT_S * 2.0 ** max(0, self._waits - 1)


def refused_part(error: ProviderError, plan: EgressPlan, *, is_unexplained: bool) -> str:
    """Return the part that the service refused or, if it gave no reason, the likeliest one: a field of ``Refused``.

    A conversation must not end with one bad part, so what can be left out is, the most likely first. Replay 10.
    """
    for named in NAMED_PARTS:
        if error.reason == named.reason and named.is_sent(plan):
            return named.part
    if plan.sends_opaque and (error.reason in _ITEM_REASONS or is_unexplained):
        return "items"
    if plan.sends_thinking and error.reason == "reasoning_refused":
        return "thinking"
    if plan.sends_images and is_unexplained:
        return "images"
    # A template that joins texts fails at the null beside a call, and names neither.
    if plan.has_null_content and is_unexplained:
        return "content"
    if plan.sends_thinking and is_unexplained and error.reason not in _CALL_REASONS:
        return "thinking"
    # Results that this model accepted before are rarely what it refuses, unless it says so; a server may break at those
    # of another model.
    is_about_calls = error.code == "server_error" or error.reason in _CALL_REASONS
    is_at_results = plan.ends_in_results or (plan.sends_calls and is_about_calls)
    if is_unexplained and is_at_results:
        return "calls"
    if plan.sends_unanswered and is_unexplained:
        return "questions"
    # Nothing else is left, and each later question would be refused as well. A refusal of what the messages say is not
    # about their form.
    if is_unexplained and plan.sends_calls and error.reason != "policy":
        return "calls"
    # What an earlier answer says may be what is refused.
    return "turns" if is_unexplained and plan.is_stuck else ""


def explain_refusal(error: ProviderError, plan: EgressPlan) -> ProviderError:
    """Return an unexplained failure with its likely cause: reasoning that settings withheld, or results of calls."""
    is_refused = error.code == "refused" and not error.reason
    is_broken = error.params.get("status") == INTERNAL_SERVER_ERROR and not error.reason
    if is_refused and any(one.rule in BY_SETTING for one in plan.omissions):
        error.reason = "maybe_missing_reasoning"
    elif (is_refused or is_broken) and plan.ends_in_results:
        error.reason = "results"
    return error
