"""Calls that wait for the owner of their turn: Allow, Deny, or Always in this conversation. Product 26.

The call that waits and the decision are columns of the turn, so any process can decide. The process that runs the turn
is woken by a message; if that is lost, it finds the decision when it looks again.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections import Counter
from contextlib import suppress
from functools import partial
from typing import Literal, NamedTuple

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from chat.models import Conversation, Turn
from chat.tools.base import Tool
from chat.turns.retry import retry_on_db_outage
from chat.validation import InvalidInputError

# How long a decision may go unnoticed if the message about it is lost.
LOOK_AGAIN_S = 2.0
DECISIONS = ("allow", "deny", "always")
# Other ids don't fit into an address, or into the column: they are hashed.
_PLAIN_ID = re.compile(r"[\w.:-]{1,90}", re.ASCII)


class Decision(NamedTuple):
    """``by``: ``user``; ``always``, what the user said of an earlier call; or ``timeout``."""

    decision: Literal["allow", "deny"]
    by: str


def needs_approval(tool: Tool) -> bool:
    """Say whether a call of this tool waits for a decision."""
    return tool.requires_approval or tool.name in settings.TOOLS_REQUIRING_APPROVAL


def decide(turn: Turn, call_id: str, decision: object) -> None:
    """Decide on the call that waits. The first decision counts. Raises InvalidInputError."""
    if decision not in DECISIONS:
        message = _("decision: allow, deny or always is needed.")
        raise InvalidInputError("invalid_decision", message, field="decision")
    waiting = Turn.objects.filter(pk=turn.pk, status=Turn.Status.RUNNING, waiting_call=call_id, call_decision="")
    # PostgreSQL refuses a NUL, which an address may have.
    # In one statement: of two pages that decide at once, one is answered that it was too late.
    if not (call_id and "\x00" not in call_id and waiting.update(call_decision=decision)):
        raise InvalidInputError("not_waiting", _("This tool call doesn’t wait for a decision any more."))


class ApprovalGate:
    """Asks the owner of one turn, one call at a time."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._used: Counter[str] = Counter()
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Look for a decision now."""
        self._woken.set()

    def public_id(self, call_id: str) -> str:
        """Return the id under which a call is decided: its own, unless that was used before or fits no address.

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

    async def is_allowed_here(self, tool: Tool) -> bool:
        """Say whether the owner has allowed this tool in the conversation for good."""
        return bool(await retry_on_db_outage(partial(_is_allowed_here, self._turn, tool.name)))

    async def wait(self, public_id: str, tool: Tool) -> Decision:
        """Wait for the decision on a call; where none comes in time, it is denied."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + settings.APPROVAL_TIMEOUT_S
        await retry_on_db_outage(partial(_begin, self._turn, public_id))
        while True:
            self._woken.clear()
            is_late = clock() >= deadline
            decision = await retry_on_db_outage(partial(_take_decision, self._turn, tool.name, is_last=is_late))
            if decision:
                return Decision("deny" if decision == "deny" else "allow", "user")
            if is_late:
                return Decision("deny", "timeout")
            with suppress(TimeoutError):
                async with asyncio.timeout(min(LOOK_AGAIN_S, deadline - clock())):
                    await self._woken.wait()


def _is_allowed_here(turn: Turn, tool: str) -> bool:
    allowed = Conversation.all_objects.values_list("allowed_tools", flat=True).get(pk=turn.conversation_id)
    return tool in allowed


def _begin(turn: Turn, public_id: str) -> None:
    Turn.objects.filter(pk=turn.pk).update(waiting_call=public_id, call_decision="")


def _take_decision(turn: Turn, tool: str, *, is_last: bool) -> str:
    """Return the decision and end the waiting; empty where there is none. ``is_last``: none is accepted any more."""
    waiting = Turn.objects.filter(pk=turn.pk)
    # In one statement: a decision that comes at this moment is accepted or refused, never lost.
    if is_last and waiting.filter(call_decision="").update(waiting_call=""):
        return ""
    decision = waiting.values_list("call_decision", flat=True).get()
    if decision == "always":
        with transaction.atomic():
            conversation = Conversation.all_objects.select_for_update().get(pk=turn.conversation_id)
            conversation.allowed_tools = sorted({*conversation.allowed_tools, tool})
            conversation.save(update_fields=["allowed_tools"])
    if decision:
        # From here on a second click finds nothing that waits.
        waiting.update(waiting_call="")
    return decision
