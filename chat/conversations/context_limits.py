"""Context limits that services have stated: stored by endpoint and model, and used from then on (product 23).

A limit that the site sets counts where it is lower. Every process has a copy, which ``refresh`` reads again from the
database every few seconds, so that planning a request needs no statement for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.db import IntegrityError, transaction

from chat.models import LearnedLimit

# In the memory of every process; a site has a few dozen models.
MAX_ROWS = 1000


@dataclass(slots=True)
class LearnedLimits:
    """The copy of this process."""

    _rows: Mapping[tuple[str, str], LearnedLimit] = field(default_factory=dict)  # by endpoint identity and model

    def of(self, provider: str, model: str) -> int | None:
        """Return the limit of a model, in tokens; None where its service stated none."""
        row = self._rows.get((provider, model))
        return row.tokens if row else None

    def is_news(self, provider: str, model: str, *, listed: int | None = None, refused: int | None = None) -> bool:
        """Say whether what a service states isn't stored yet."""
        row = self._rows.get((provider, model)) or LearnedLimit()
        return (listed or row.listed, refused or row.refused) != (row.listed, row.refused)

    def in_force(self, explicit: int | None, provider: str, model: str) -> int | None:
        """Return the limit that counts: the lower one of the site's own and the stated one."""
        return min(filter(None, (explicit, self.of(provider, model))), default=None)

    def refresh(self) -> None:
        """Read all limits. Synchronous."""
        rows = LearnedLimit.objects.order_by("-updated_at")[:MAX_ROWS]
        self._rows = {(row.provider, row.model): row for row in rows}

    def learn(self, provider: str, model: str, *, listed: int | None = None, refused: int | None = None) -> None:
        """Store what a service states. Synchronous."""
        stated = {name: tokens for name, tokens in (("listed", listed), ("refused", refused)) if tokens}
        try:
            with transaction.atomic():
                LearnedLimit.objects.update_or_create(provider=provider, model=model, defaults=stated)
        except IntegrityError:  # another process was faster, with the same answer
            pass
        self.refresh()

    def forget(self) -> None:
        """Empty the copy."""
        self._rows = {}


learned_limits = LearnedLimits()
