"""All rules of one policy, in order: the most specific first, secrets before personal data.

A rule runs only on a segment in which one of its triggers was seen. The order decides nothing about what is found,
only whose kind is counted; where findings overlap, ``spans.merge`` masks the union.
"""

from __future__ import annotations

import re
from functools import lru_cache

from reasoning.redaction import assignments, carriers, personal, prefixes, sentences, tables, tongues
from reasoning.redaction.cleaning import clean
from reasoning.redaction.keys import KeyKind, classify
from reasoning.redaction.policy import RedactionPolicy
from reasoning.redaction.spans import Rule, Span, merge, whole_run
from reasoning.redaction.triggers import Triggers

BLOCK = re.compile(
    r"(?P<redacted>(?i:<REDACTED>))|(?P<pem>-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"|PuTTY-User-Key-File-\d:)"
)
BLOCK_ENDS = {
    "redacted": re.compile(r"(?i:</REDACTED>)"),
    "pem": re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|Private-MAC: [0-9a-f]{20,128}+"),
}

_SECRET_ENOUGH = re.compile(r"[A-Za-z0-9]{4}")  # beside a mask, less than this is punctuation and labels


class RuleBook:
    """The rules and triggers of a policy, compiled. Holds no text; one serves all."""

    def __init__(self, policy: RedactionPolicy) -> None:
        self.policy = policy
        self.triggers = Triggers(policy)
        self._rules = self._collect()
        self._called_for = lru_cache(maxsize=512)(self._select)

    def _collect(self) -> tuple[Rule, ...]:
        return (
            *carriers.RULES,
            *prefixes.RULES,
            *assignments.rules(self._classify),
            *sentences.RULES,
            *tongues.RULES,
            *tables.rules(self._classify),
            *personal.rules(self.policy),
        )

    def _select(self, kinds: frozenset[str]) -> tuple[Rule, ...]:
        return tuple(rule for rule in self._rules if not kinds.isdisjoint(rule.triggers))

    def _classify(self, name: str) -> KeyKind:
        return classify(name, self.policy.extra_keys, self.policy.never_keys)

    def spans(self, text: str, kinds: frozenset[str]) -> list[Span]:
        """Return what the rules called for by the triggers ``kinds`` find in a segment, in order.

        What is little more than a mask was redacted before and stays, or a second redaction would find more than the
        first. A mask that somebody wrote beside a secret doesn't save it.
        """
        found: list[Span] = []
        for rule in self._called_for(kinds):
            found.extend(rule.find(text))
        if not found:
            return []
        redacted = self.policy.placeholder
        fresh = [whole_run(text, span) for span in found if not _is_masked(text[span.start : span.end], redacted)]
        return [span if span.mask else span._replace(mask=redacted) for span in merge(fresh, redacted)]

    def is_plain(self, text: str) -> bool:
        """Tell a text of ASCII in which no word triggers anything; a stream would give it back as it is."""
        if not text.isascii() or clean(text) is not text:
            return False
        return self.triggers.first(text, len(text)) is None and prefixes.cut_token(text) is None

    def cut_token(self, text: str) -> Span | None:
        """Return a token that the end of the text cuts off."""
        span = prefixes.cut_token(text)
        return span and span._replace(mask=self.policy.placeholder)


def _is_masked(words: str, placeholder: str) -> bool:
    if placeholder[:-1] not in words:
        return False
    return _SECRET_ENOUGH.search(words.replace(placeholder, " ").replace(placeholder[:-1], " ")) is None


@lru_cache(maxsize=16)
def rule_book(policy: RedactionPolicy) -> RuleBook:
    """Return the compiled rules of a policy."""
    return RuleBook(policy)
