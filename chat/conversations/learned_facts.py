"""What services have stated or refused: stored by endpoint and model, and used from then on. Product 23, 28, 31.

What the site or a model's profile says counts first; of two context limits the lower one. Every process has a copy,
which ``refresh`` reads again from the database every few seconds, so that planning a request needs no statement for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone

from chat.models import LearnedFacts
from reasoning.replay.plan import RequestTarget

# In the memory of every process; a site has a few dozen models.
MAX_ROWS = 1000
NOTHING = LearnedFacts()
Fact = int | datetime | None
REFUSAL_COUNTS = timedelta(days=1)


@dataclass(slots=True)
class FactsOfServices:
    """The copy of this process."""

    _rows: Mapping[tuple[str, str], LearnedFacts] = field(default_factory=dict)  # by endpoint identity and model

    def of(self, provider: str, model: str) -> LearnedFacts:
        """Return what is known of a model."""
        return self._rows.get((provider, model), NOTHING)

    def is_news(self, provider: str, model: str, **facts: Fact) -> bool:
        """Say whether one of these facts, fields of ``LearnedFacts``, isn't stored yet."""
        known = self.of(provider, model)
        return any(value != getattr(known, name) for name, value in facts.items())

    def apply_to(self, target: RequestTarget) -> RequestTarget:
        """Return the target with what is known of its model."""
        known = self.of(target.provider, target.model)
        # A server may have been started with other options since: what it refused is tried again from time to time.
        refused_at = known.tools_refused_at
        has_no_tools = refused_at is not None and timezone.now() - refused_at < REFUSAL_COUNTS
        limit = min(filter(None, (target.context_limit, known.tokens)), default=None)
        return replace(
            target,
            context_limit=limit,
            takes_tools=False if target.takes_tools is None and has_no_tools else target.takes_tools,
            insists_on_reasoning=target.insists_on_reasoning or known.reasoning_wanted_at is not None,
        )

    def refresh(self) -> None:
        """Read all facts. Synchronous."""
        rows = LearnedFacts.objects.order_by("-updated_at")[:MAX_ROWS]
        self._rows = {(row.provider, row.model): row for row in rows}

    def learn(self, provider: str, model: str, **facts: Fact) -> None:
        """Store facts, fields of ``LearnedFacts``. Synchronous."""
        try:
            with transaction.atomic():
                LearnedFacts.objects.update_or_create(provider=provider, model=model, defaults=facts)
        except IntegrityError:  # another process was faster, with the same answer
            pass
        self.refresh()

    def forget(self) -> None:
        """Empty the copy."""
        self._rows = {}


learned_facts = FactsOfServices()
