"""A user's library of prompts."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _


class Prompt(models.Model):
    """A text that its owner puts into the composer with ``/prompt NAME``."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="prompts")
    name = models.CharField(
        _("name"),
        max_length=40,
        # one word: commands are split at white space
        validators=[RegexValidator(r"^[\w.:-]+$", _("Letters, digits and . : _ - only, without spaces."))],
    )
    text = models.TextField(_("text"), max_length=8000)

    class Meta:
        verbose_name = _("prompt")
        verbose_name_plural = _("prompts")
        ordering = ("name",)
        constraints = (models.UniqueConstraint(fields=["owner", "name"], name="prompt_once_per_owner"),)

    def __str__(self) -> str:
        return f"{self.owner} · {self.name}"
