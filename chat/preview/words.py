"""Why something is left out, in the reader's language. The core gives its reasons in plain English, with names in them.

A reason that stands in no row is shown as it came.
"""

from __future__ import annotations

import re

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

_REASONS = [
    (re.compile(pattern), sentence)
    for pattern, sentence in (
        ("stands in the summary", gettext_noop("A summary stands for it")),
        ("a result without its call", gettext_noop("A result that belongs to no call")),
        (
            r"reasoning\.stripFromContext is (?P<value>\w+)",
            gettext_noop("Thinking of an earlier turn; reasoning.stripFromContext is “%(value)s”"),
        ),
        (r"reasoning\.includeInContext is off", gettext_noop("Thinking, and reasoning.includeInContext is off")),
        ("the same call a second time", gettext_noop("The same call a second time")),
        ("partial text of a failed turn", gettext_noop("Half an answer, of a turn that did not end well")),
        (
            "a call of a failed turn that never ran",
            gettext_noop("A call that never ran, of a turn that did not end well"),
        ),
        (
            "reasoning of a failed turn, without a follower",
            gettext_noop("Thinking that led to nothing, of a turn that did not end well"),
        ),
        ("of a response that did not end well", gettext_noop("Sealed thinking of a response that did not end well")),
        ("it was purged", gettext_noop("It was forgotten after its time (THINKING_RETENTION_DAYS)")),
        (
            r"reasoning of this kind has no place in a (?P<value>\w+) request",
            gettext_noop("Thinking of this kind has no place in this API (%(value)s)"),
        ),
        (r"(?P<value>\S+) takes no tools", gettext_noop("This service takes no tools (%(value)s)")),
        (r"(?P<value>\S+) takes no reasoning back", gettext_noop("This service takes no thinking back (%(value)s)")),
        (
            r"(?P<value>\S+) takes no reasoning details back",
            gettext_noop("This service takes no reasoning details back (%(value)s)"),
        ),
        (r"(?P<value>\S+) takes no signatures back", gettext_noop("This service takes no signatures back (%(value)s)")),
        (
            r"(?P<value>\S+) takes no such step without its reasoning",
            gettext_noop("This service takes no such step without its thinking (%(value)s)"),
        ),
        (r"made by (?P<value>.+)", gettext_noop("Written by another model (%(value)s) than the one asked now")),
        (
            "made at another endpoint or with another key",
            gettext_noop("Written at another endpoint, or with another key"),
        ),
        ("the service refused its own items", gettext_noop("The service refused its own sealed thinking")),
        ("an item that is no object", gettext_noop("A sealed item that can’t be read")),
        (
            "an item without ciphertext is not found by its service",
            gettext_noop("Can’t be sent back: the service sent no sealed content"),
        ),
        ("the same item a second time", gettext_noop("The same sealed item a second time")),
        ("reasoning that nothing follows", gettext_noop("Thinking that nothing follows")),
        (
            r"(?P<value>reasoning\.\w+) has no parameter .*",
            gettext_noop("%(value)s is set, but this service has no parameter for it."),
        ),
    )
]


def told(reason: str) -> str:
    """Return a reason, or a note of a plan, in the reader's words."""
    for pattern, sentence in _REASONS:
        if found := pattern.fullmatch(reason):
            return _(sentence) % found.groupdict() if found.groupdict() else _(sentence)
    return reason
