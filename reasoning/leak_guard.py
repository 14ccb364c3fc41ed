"""Decide which bullets of a model's Reasoning Summary may be shown. Spec 004 summary.

A bullet that repeats the system prompt or the scratchpad, or that contains a secret, a key with a value, a file path or
a personal identifier, is dropped whole before it is shown or stored. Fails closed: a bullet that can't be judged is
dropped.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from reasoning.redaction import DEFAULT, RedactionPolicy, Redactor
from reasoning.scratchpad import Scratchpad
from reasoning.unseen import clean

RUN_WORDS = 6
WINDOW_CHARS = 2_000  # a bullet is a line; what is longer is judged, and shown, by its start

_WORD = re.compile(r"[^\W_]+")
_PATH = re.compile(
    r"(?<![\w/.:])(?:~|\.{1,2})?/(?:[\w.+-]{1,64}/){1,32}[\w.+-]{1,64}"  # /etc/app/keys, ~/notes/a, ./src/app.py
    r"|(?<!\w)[A-Za-z]:(?:\\|/(?!/))[^\s\"']{2,256}"  # C:\Users\…, C:/Users/…
    r"|(?<!\w)\\\\[\w.-]{1,64}\\[^\s\"']{1,256}"  # \\server\share
    r"|(?<![\w/])~/[\w.+-]{1,64}"
    r"|(?<!\w)(?:\$\{?[A-Z_]{2,32}\}?/|%[A-Z_]{2,32}%\\|file://)[^\s\"']{1,256}"  # $HOME/x, %APPDATA%\x, file://…
    r"|(?<![\w/.@-])(?:[\w.+-]{1,64}/){1,16}[\w+-]{1,64}\.(?:py|js|ts|json|ya?ml|toml|env|ini|cfg|conf|pem|key|sqlite3?|db"
    r"|log|sh|sql|md|txt|csv|xml|lock)(?![\w])"  # config/settings.py
)
_ADDRESS = re.compile(r"https?://\S{1,2000}")


@dataclass(frozen=True, slots=True)
class GuardedSummary:
    """The bullets that may be shown, the number of dropped ones, and one reason for each of those."""

    shown: tuple[str, ...]
    dropped: int
    reasons: tuple[str, ...]


def guard_bullets(
    bullets: Sequence[str],
    *,
    system_prompt: str,
    scratchpad: Scratchpad | None,
    policy: RedactionPolicy = DEFAULT,
) -> GuardedSummary:
    """Return the bullets that repeat nothing private. Linear in the bullets and the prompt; never raises."""
    # Once for all bullets: a prompt is long.
    runs = word_runs(system_prompt)
    cleaned = (clean(bullet[:WINDOW_CHARS]) for bullet in bullets)
    judged = [(bullet, drop_reason(bullet, runs, scratchpad, policy)) for bullet in cleaned]
    reasons = tuple(reason for _bullet, reason in judged if reason)
    return GuardedSummary(tuple(bullet for bullet, reason in judged if not reason), len(reasons), reasons)


def drop_reason(
    text: str, prompt: frozenset[tuple[str, ...]], scratchpad: Scratchpad | None, policy: RedactionPolicy
) -> str:
    try:
        if word_runs(text) & prompt:
            return "system prompt"
        if scratchpad and (scratchpad.overlaps(text, words=RUN_WORDS) or scratchpad.remove_repeats(text)[1]):
            return "scratchpad"
        # Web addresses are removed first: the path of one is no file path.
        if _PATH.search(_ADDRESS.sub(" ", text)):
            return "file path"
        return "secret or identifier" if Redactor(policy).redact_text(text) != text else ""
    except Exception:  # noqa: BLE001 - fail closed
        return "could not be judged"


def word_runs(text: str) -> frozenset[tuple[str, ...]]:
    words = [word.casefold() for word in _WORD.findall(unicodedata.normalize("NFKC", clean(text)))]
    return frozenset(tuple(words[at : at + RUN_WORDS]) for at in range(len(words) - RUN_WORDS + 1))
