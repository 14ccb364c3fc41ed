"""What a checked model's findings mean for its profile, in plain words: what was found, and what to change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _

from chat.modelcheck import TAGS, Findings
from chat.upstream import RESPONSES, ChosenModel, natural_dialect
from reasoning.dialects import AS_IT_CAME, dialect_named
from reasoning.policy import ReasoningSettings


@dataclass(frozen=True, slots=True)
class Checked:
    """A model, and what one call to it showed."""

    chosen: ChosenModel
    found: Findings

    def told(self) -> Iterator[str]:
        """Yield the findings as lines to read."""
        found = self.found
        yield _("Reachable: yes, the first piece came after %(seconds).1f s.") % {"seconds": found.first_s}
        yield _("Key: accepted.") if self.chosen.config.api_key not in (None, "none") else _("Key: none is sent.")
        if found.pieces > 1:
            yield _("Streams: yes, in %(pieces)d pieces.") % {"pieces": found.pieces}
        else:
            yield _("Streams: no, the answer came whole.")
        yield self._thinking()
        if found.starts_inside:
            yield _("Its answer begins inside a thought, without the opening tag.")
        yield self._tools()
        yield _("Token counts: reported.") if found.counts_tokens else _("Token counts: not reported, so estimated.")
        yield self._limit()
        yield self._dialect()

    def advice(self) -> Iterator[str]:
        """Yield what to change, one sentence each; nothing where the settings fit."""
        yield from self._about_replay()
        yield from self._about_fields()
        yield from self._about_limits()
        yield from self.found.notes

    def _thinking(self) -> str:
        found = self.found
        if found.items:
            sealed = {"items": found.items, "sealed": found.sealed_items}
            return _("Thinking: in opaque items (%(items)d, encrypted %(sealed)d).") % sealed
        if found.fields:
            return _("Thinking: in the field %(field)s.") % {"field": ", ".join(sorted(found.fields))}
        if found.thinking_field == TAGS:
            return _("Thinking: in tags inside the answer; they are taken out.")
        return _("Thinking: none seen in this answer.")

    def _tools(self) -> str:
        if not self.found.takes_tools:
            return _("Tools: refused. This model cannot search the filings.")
        if self.found.calls_tools:
            return _("Tools: it called the one that it was offered.")
        return _("Tools: accepted, but it called none.")

    def _limit(self) -> str:
        used = {"used": self.chosen.context_limit, "told": self.found.context_limit}
        if self.found.context_limit:
            return _("Context limit: %(told)d tokens by its own account; %(used)d are used here.") % used
        return _("Context limit: the service does not tell; %(used)d tokens are used here.") % used

    def _dialect(self) -> str:
        row = dialect_named(self.chosen.dialect)
        return _("Dialect: %(name)s, last checked %(checked)s.") % {"name": row.name, "checked": row.checked}

    def _about_replay(self) -> Iterator[str]:
        """Compare the profile's settings with what the dialect insists on. Replay decision D4."""
        name, row = self.chosen.dialect, dialect_named(self.chosen.dialect)
        settings = ReasoningSettings.from_layers(self.chosen.reasoning)
        if row.needs != "nothing" and not settings.include_in_context:
            yield _("%(name)s needs reasoning.includeInContext=true; this profile has it off.") % {"name": name}
        if row.needs != "nothing" and settings.strip_from_context not in (None, "none"):
            words = {"name": name, "value": settings.strip_from_context}
            yield _("%(name)s needs reasoning.stripFromContext=none; this profile has %(value)s.") % words
        if (name == RESPONSES) != (self.chosen.config.api == "responses"):
            words = {"name": name, "api": self.chosen.config.api}
            yield _("The dialect %(name)s does not go with the API %(api)s; change one of them.") % words

    def _about_fields(self) -> Iterator[str]:
        """Compare what came with what goes back."""
        row = dialect_named(self.chosen.dialect)
        natural = natural_dialect(self.chosen)
        came = self.found.fields - {"reasoning_details"}
        if row.text_field not in ("", AS_IT_CAME) and came and row.text_field not in came:
            words = {"came": ", ".join(sorted(came)), "name": row.name, "sent": row.text_field}
            yield (
                _("Thinking came as %(came)s, and %(name)s sends it back as %(sent)s; choose another dialect.") % words
            )
        if natural not in (self.chosen.dialect, dialect_named("").name):
            words = {"natural": natural, "name": self.chosen.dialect}
            yield _("By its address and model it speaks %(natural)s; this profile says %(name)s.") % words
        if self.found.starts_inside and not self.chosen.config.starts_in_reasoning:
            yield _("Switch on “starts in reasoning”: its answers begin inside a thought.")
        if self.chosen.config.starts_in_reasoning and not self.found.starts_inside:
            yield _("Switch off “starts in reasoning”: this answer did not begin inside a thought.")

    def _about_limits(self) -> Iterator[str]:
        told = self.found.context_limit
        if told and told < self.chosen.context_limit:
            yield _("Set the context limit to %(told)d tokens or fewer.") % {"told": told}
        if self.found.takes_tools != dialect_named(self.chosen.dialect).takes_tools:
            words = {"name": self.chosen.dialect}
            yield (
                _("It takes tools, and %(name)s offers it none; choose another dialect.") % words
                if self.found.takes_tools
                else _("It takes no tools, and %(name)s offers them; choose a dialect without, such as deepseek-r1.")
                % words
            )
