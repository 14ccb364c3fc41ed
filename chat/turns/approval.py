"""Calls that wait for the owner of their turn: Allow, Deny, or Always in this conversation. Product 26 and 48.

A decision is bound to what was shown: it carries the digest of the exact arguments and of the redacted text, and counts
once. The call that waits, its digest, its deadline and the decision are columns of the turn, so any process can decide,
and a process that takes the turn over waits on. The process that runs the turn is woken by a message; if that is lost,
it finds the decision when it looks again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from itertools import chain
from typing import Any, Literal, NamedTuple

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from chat.eventlog import leases
from chat.eventlog.sealed_values import open_values, seal_values
from chat.models import Conversation, Turn
from chat.tools.base import Tool
from chat.tools.questions import UnfitAnswerError, answers_of, checked_answers
from chat.turns.retry import retry_on_db_outage
from chat.validation import InvalidInputError
from reasoning.events import ToolCall
from reasoning.trace import ToolTraceStep, step_to_json

# How long a decision may go unnoticed if the message about it is lost.
LOOK_AGAIN_S = 2.0
DECISIONS = ("allow", "deny", "always")
# Other ids don't fit into an address, or into the column: they are hashed.
_PLAIN_ID = re.compile(r"[\w.:-]{1,90}", re.ASCII)
MAX_SHAPE_CHARS = 300
# Deeper arguments are compared as text, and have no shape: walking them would exhaust the stack.
MAX_ARGUMENTS_DEPTH = 100


class Decision(NamedTuple):
    """``by``: ``user``; ``always``, what the user said of an earlier call; or ``timeout``.

    ``answers``: to the question that a call has asked.
    """

    decision: Literal["allow", "deny"]
    by: str
    answers: Mapping[str, Any] | None = None


def needs_approval(tool: Tool) -> bool:
    """Say whether a call of this tool waits for a decision."""
    return tool.requires_approval or tool.name in settings.TOOLS_REQUIRING_APPROVAL


def digest_of(turn: Turn, public_id: str, call: ToolCall, shown: ToolTraceStep) -> str:
    """Return what a decision on a call is bound to: its exact arguments, and what its user is shown of them."""
    form = step_to_json(shown)
    seen = {name: form.get(name) for name in ("tool", "args", "question")}
    bound = [turn.public_id, public_id, call.name, _canonical(call.arguments), seen]
    # Keyed: what is masked could be guessed from a plain digest.
    return salted_hmac("chat.turns.approval", json.dumps(bound, sort_keys=True), algorithm="sha256").hexdigest()


def shape_of(call: ToolCall, tool: Tool) -> str:
    """Return a tool with the names and types of its arguments: ``sendMail(body: string, to: [string])``.

    It is what Always allows. Empty where the arguments are no JSON object or are nested deep: such a call is always
    asked about. A name that the tool doesn't know is a model's own words, which are private: its digest takes its
    place.
    """
    arguments = _canonical(call.arguments)
    if not isinstance(arguments, dict):
        return ""
    shape = f"{tool.name}({_type_of(arguments, frozenset(_property_names(tool.parameters)))[1:-1]})"
    if len(shape) > MAX_SHAPE_CHARS:
        shape = f"{shape[:MAX_SHAPE_CHARS]}… {_short_digest(shape)})"
    return shape


class Given(NamedTuple):
    """Answers to the question of a call: as a form has them, or as a script gives them."""

    form: Mapping[str, Sequence[str]] = {}
    values: object = None

    def fitting(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the answers as JSON. Raises InvalidInputError."""
        try:
            return answers_of(schema, self.form) if self.values is None else checked_answers(schema, self.values)
        except UnfitAnswerError as error:
            message = _("answers: %(reason)s.") % {"reason": error}
            raise InvalidInputError("invalid_answers", message, field="answers") from error


def decide(turn: Turn, call_id: str, decision: object, digest: object, given: Given) -> None:
    """Decide on the call that waits. The first decision counts. Raises InvalidInputError.

    ``digest``: the one that was shown with the call. Another one is refused, since the call is then another. ``given``:
    answers to a question that the call has asked; it is answered by allow.
    """
    if decision not in DECISIONS:
        message = _("decision: allow, deny or always is needed.")
        raise InvalidInputError("invalid_decision", message, field="decision")
    if not isinstance(digest, str) or not digest:
        message = _("digest: the digest that was shown with the call is needed.")
        raise InvalidInputError("invalid_digest", message, field="digest")
    waiting = Turn.objects.filter(pk=turn.pk, status=Turn.Status.RUNNING, call_decision="")
    # PostgreSQL refuses a NUL, which an address may have.
    waiting = waiting.filter(waiting_call=call_id) if call_id and "\x00" not in call_id else waiting.none()
    # In one statement: of two pages that decide at once, one is answered that it was too late.
    decided = waiting.filter(waiting_digest=digest.replace("\x00", ""), waiting_until__gt=timezone.now())
    fields: dict[str, Any] = {"call_decision": decision}
    schema = decided.values_list("waiting_schema", flat=True).first()
    if schema is not None and decision != "deny":
        fields = {"call_decision": "allow", "sealed_answers": seal_values(given.fitting(schema))}
    if decided.update(**fields):
        return
    if waiting.exclude(waiting_digest=digest.replace("\x00", "")).exists():
        raise InvalidInputError("changed_call", _("This isn’t the call that was shown to you. Look at it again."))
    raise InvalidInputError("not_waiting", _("This tool call doesn’t wait for a decision any more."))


class TurnHandedOverError(Exception):
    """The process ends while a call waits for its user: another process waits on."""


class ApprovalGate:
    """Asks the owner of one turn, one call at a time."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._used: Counter[str] = Counter()
        self._woken = asyncio.Event()
        self._asked = 0
        self._is_ending = False  # the process
        self.is_handed_over = False  # another process waits on

    def wake(self) -> None:
        """Look for a decision now."""
        self._woken.set()

    def hand_over(self) -> None:
        """Leave a call that waits, now or later, to the next process, since this one ends: nothing of it is lost."""
        self._is_ending = True
        self.wake()

    def public_id(self, call_id: str) -> str:
        """Return the id under which a call is decided: its own, unless that was used before or fits no address.

        Called for each call of the turn in its order, so that the ids are the same in a process that takes it over.
        Otherwise a second click on one call could decide on the next one.
        """
        plain = (
            call_id
            if _PLAIN_ID.fullmatch(call_id)
            else hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:32]
        )
        self._used[plain] += 1
        count = self._used[plain]
        return plain if count == 1 else f"{plain}-{count}"

    def may_ask(self) -> bool:
        """Count a question to the user; False where this turn has asked as often as it may."""
        self._asked += 1
        return self._asked <= settings.MAX_APPROVALS_PER_TURN

    async def is_allowed_here(self, shape: str) -> bool:
        """Say whether the owner has allowed calls of this shape in the conversation for good."""
        return bool(await retry_on_db_outage(partial(_is_allowed_here, self._turn, shape)))

    async def wait(
        self, public_id: str, digest: str, *, shape: str = "", schema: Mapping[str, Any] | None = None
    ) -> Decision:
        """Wait for the decision on a call; where none comes in time, it is denied. Raises TurnHandedOverError.

        ``shape``: what Always allows. ``schema``: of the answers to a question that the call has asked.
        """
        clock = asyncio.get_running_loop().time
        deadline = clock() + await retry_on_db_outage(partial(_begin, self._turn, public_id, digest, schema))
        while True:
            self._woken.clear()
            is_late = clock() >= deadline
            take = partial(_take_decision, self._turn, digest, shape, is_last=is_late)
            if decided := await retry_on_db_outage(take):
                return decided
            if is_late:
                return Decision("deny", "timeout")
            # A tool that asks a question runs already, and ends with its process.
            if self._is_ending and schema is None:
                self.is_handed_over = True
                raise TurnHandedOverError
            with suppress(TimeoutError):
                async with asyncio.timeout(min(LOOK_AGAIN_S, deadline - clock())):
                    await self._woken.wait()


def _canonical(arguments: str) -> Any:
    """Return the JSON value of arguments: white space and order don't count.

    The text, where they are no JSON or are nested more than MAX_ARGUMENTS_DEPTH deep.
    """
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return arguments
    level = [value]
    for _depth in range(MAX_ARGUMENTS_DEPTH):
        inside = (each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list))
        level = list(chain.from_iterable(inside))
    return arguments if level else value


def _property_names(schema: Any) -> Iterator[str]:
    """Yield the names of properties of a JSON schema, at any depth."""
    for name, each in schema.items() if isinstance(schema, Mapping) else ():
        if name == "properties" and isinstance(each, Mapping):
            yield from each
        yield from _property_names(each)
    for each in schema if isinstance(schema, list) else ():
        yield from _property_names(each)


def _type_of(value: Any, known: frozenset[str]) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return f"[{' | '.join(sorted({_type_of(each, known) for each in value}))}]"
        case Mapping():
            named = {name if name in known else _short_digest(name): value[name] for name in value}
            return "{" + ", ".join(f"{name}: {_type_of(named[name], known)}" for name in sorted(named)) + "}"
    raise TypeError(type(value))


def _short_digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _is_allowed_here(turn: Turn, shape: str) -> bool:
    allowed = Conversation.all_objects.values_list("allowed_tools", flat=True).get(pk=turn.conversation_id)
    return bool(shape) and shape in allowed


def _begin(turn: Turn, public_id: str, digest: str, schema: Mapping[str, Any] | None) -> float:
    """Let a call wait; return for how many seconds. One that waited when its process died continues to wait."""
    row, now = leases.held(turn), timezone.now()
    until = row.filter(waiting_call=public_id, waiting_digest=digest).values_list("waiting_until", flat=True).first()
    if until is None:
        until = now + timedelta(seconds=settings.APPROVAL_TIMEOUT_S)
        fresh = {"call_decision": "", "waiting_schema": schema, "sealed_answers": None}
        row.update(waiting_call=public_id, waiting_digest=digest, waiting_until=until, **fresh)
    seconds: float = (until - now).total_seconds()
    return seconds


def _take_decision(turn: Turn, digest: str, shape: str, *, is_last: bool) -> Decision | None:
    """Return the decision and end the waiting; None where there is none. ``is_last``: none is accepted any more."""
    # A process that has lost the turn takes no decision away from the one that has it now.
    waiting = leases.held(turn).filter(waiting_digest=digest)
    # In one statement: a decision that comes at this moment is accepted or refused, never lost.
    if is_last and waiting.filter(call_decision="").update(waiting_call="", waiting_digest=""):
        return None
    found = waiting.values_list("call_decision", "sealed_answers").first()
    if not found or not found[0]:
        return None
    decision, sealed = found
    if decision == "always" and shape:
        with transaction.atomic():
            conversation = Conversation.all_objects.select_for_update().get(pk=turn.conversation_id)
            conversation.allowed_tools = sorted({*conversation.allowed_tools, shape})
            conversation.save(update_fields=["allowed_tools"])
    # From here on a second click finds nothing that waits. Digest, decision and answers stay until the next call waits,
    # or the turn ends: where the connection breaks at the commit, they are taken again.
    waiting.update(waiting_call="")
    return Decision("deny" if decision == "deny" else "allow", "user", open_values(sealed))
