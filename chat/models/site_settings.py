"""What staff change while the site runs: its name, the words of an empty chat, its instructions, hosts to read."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from chat.models.conversation import MAX_SYSTEM_PROMPT

MAX_STARTERS, MAX_STARTER_CHARS = 8, 200
_CURRENT = "SELECT * FROM chat_sitesettings WHERE id = 1"


class SiteSettings(models.Model):
    """The one row of settings that staff edit in the admin. An empty field has a default in the viewer's language."""

    name = models.CharField(gettext_lazy("product name"), max_length=40, blank=True)
    greeting = models.CharField(gettext_lazy("greeting"), max_length=100, blank=True)
    introduction = models.CharField(gettext_lazy("introduction"), max_length=300, blank=True)
    placeholder = models.CharField(gettext_lazy("placeholder of the composer"), max_length=80, blank=True)
    starters = models.TextField(
        gettext_lazy("starter questions"),
        blank=True,
        help_text=gettext_lazy("One question per line, at most 8. Empty: those of the demo filings, if loaded."),
    )

    system_prompt = models.TextField(
        gettext_lazy("system prompt"),
        max_length=MAX_SYSTEM_PROMPT,
        blank=True,
        help_text=gettext_lazy(
            "Added to every request of this site, before those of the model and the conversation. A model may repeat "
            "it to anybody, so it must hold no secret."
        ),
    )

    web_hosts = models.TextField(
        gettext_lazy("hosts whose web pages may be read"),
        max_length=5_000,
        blank=True,
        default="",
        db_default="",  # a server of the version before may write the row during an upgrade
        help_text=gettext_lazy(
            "A host per line, such as example.org; *.example.org for its subdomains. At most 50. Models may then ask "
            "to read pages there, with the approval of their users. Empty: they can read none."
        ),
    )

    last_backup_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        verbose_name = gettext_lazy("site settings")
        verbose_name_plural = gettext_lazy("site settings")

    def __str__(self) -> str:
        return self.shown_name

    def save(self, *args: Any, **kwargs: Any) -> None:
        # whatever creates the row, there is only one
        self.pk = 1
        super().save(*args, **kwargs)

    @classmethod
    def note_backup(cls, at: datetime) -> None:
        """Remember when the newest backup was written."""
        cls.objects.update_or_create(pk=1, defaults={"last_backup_at": at})

    @classmethod
    def current(cls) -> SiteSettings:
        """Return the settings of this site; unsaved defaults where nobody has changed them."""
        # Every request to a model reads them: building this query anew would cost four times as much as asking it.
        return next(iter(cls.objects.raw(_CURRENT)), None) or cls()

    @property
    def shown_name(self) -> str:
        return self.name or "Legible"

    def starter_list(self) -> list[str]:
        return [line.strip() for line in self.starters.splitlines() if line.strip()]

    def clean(self) -> None:
        starters = self.starter_list()
        if len(starters) > MAX_STARTERS:
            raise ValidationError({"starters": _("At most %(most)s questions.") % {"most": MAX_STARTERS}})
        if any(len(starter) > MAX_STARTER_CHARS for starter in starters):
            words = _("A question has at most %(most)s characters.")
            raise ValidationError({"starters": words % {"most": MAX_STARTER_CHARS}})
