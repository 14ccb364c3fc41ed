"""Models that staff offer: where each answers, what its service takes back, and how it reasons by default."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from chat.models.conversation import MAX_SYSTEM_PROMPT
from reasoning.replay.dialects import DIALECTS
from reasoning.replay.wire import DEFAULT_API, FORMATS
from reasoning.services.thinking_formats import THINKING_FORMATS


def known_dialect(name: str) -> None:
    """Raise ValidationError where the table has no such dialect. (``choices`` would need a migration for each.)"""
    if name not in DIALECTS:
        raise ValidationError(_("There is no dialect “%(name)s”."), params={"name": name})


def api_choices() -> list[tuple[str, str]]:
    """Return the APIs. (As a list they would need a migration for each.)"""
    return [(wire.name, wire.label) for wire in FORMATS.values()]


def thinking_format_choices() -> list[tuple[str, str | Promise]]:
    """Return the families, each with its models. (As a list they would need a migration for each.)"""
    families = [(row.name, f"{row.name} ({row.about})") for row in THINKING_FORMATS.values()]
    return [("", _("automatic: by the name of the model")), *families]


class ModelProfile(models.Model):
    """One model at one endpoint. The key stays in the environment: ``api_key_env`` is the name of its variable."""

    name = models.CharField(
        _("name"),
        max_length=80,
        unique=True,
        validators=[RegexValidator(r"^[\w.:/-]+$", _("Letters, digits and . : / _ - only."))],
        help_text=_("How people and scripts choose it."),
    )
    label = models.CharField(
        _("label"), max_length=120, blank=True, help_text=_("Shown in the picker; the name if empty.")
    )
    base_url = models.CharField(_("address"), max_length=300, help_text=_("Such as https://api.example.com/v1"))
    api = models.CharField(_("API"), max_length=10, choices=api_choices, default=DEFAULT_API)
    model = models.CharField(_("model"), max_length=200, help_text=_("Model ID at the provider."))
    dialect = models.CharField(
        _("dialect"),
        max_length=40,
        blank=True,
        validators=[known_dialect],
        help_text=_("What the service takes back of its own reasoning; empty: found by address and model."),
    )
    # the name alone: a key in the database would be in every backup and dump
    api_key_env = models.CharField(
        _("key variable"),
        max_length=80,
        blank=True,
        validators=[RegexValidator(r"^[A-Z_][A-Z0-9_]*$", _("The name of an environment variable."))],
        help_text=_("Name of the environment variable that holds the key; empty where none is needed."),
    )
    context_limit = models.PositiveIntegerField(_("context limit"), null=True, blank=True, help_text=_("In tokens."))
    reasoning = models.JSONField(_("reasoning settings"), default=dict, blank=True)
    system_prompt = models.TextField(
        _("system prompt"),
        max_length=MAX_SYSTEM_PROMPT,
        blank=True,
        help_text=_("Added to every request to this model, which may repeat it to anybody: it must hold no secret."),
    )
    starts_in_reasoning = models.BooleanField(
        _("starts in reasoning"),
        default=False,
        help_text=_("Output starts in reasoning, without an opening tag."),
    )
    takes_tools = models.BooleanField(
        _("takes tools"),
        null=True,
        blank=True,
        help_text=_("Whether it is offered tools; automatic: as its service is known to accept them."),
    )
    thinking_format = models.CharField(
        _("thinking format"),
        max_length=40,
        blank=True,
        default="",
        choices=thinking_format_choices,
        help_text=_("How its thinking is marked in its text."),
    )
    takes_images = models.BooleanField(
        _("takes images"),
        null=True,
        blank=True,
        help_text=_("Whether it sees attached images; automatic: as its service is known to."),
    )
    is_enabled = models.BooleanField(_("offered"), default=True)
    is_default = models.BooleanField(_("default"), default=False)

    class Meta:
        verbose_name = _("model")
        verbose_name_plural = _("models")
        ordering = ("name",)
        constraints = (
            models.UniqueConstraint(
                fields=["is_default"], condition=models.Q(is_default=True), name="model_profile_one_default"
            ),
        )

    def __str__(self) -> str:
        return self.label or self.name


class LearnedFacts(models.Model):
    """What a model's service has stated or refused. Product 23, 28, 31.

    ``listed`` and ``refused`` are its context limit in tokens, as its list of models and a refusal state it.
    """

    provider = models.CharField(_("provider"), max_length=300)  # identity of the endpoint
    model = models.CharField(_("model"), max_length=200)
    listed = models.PositiveIntegerField(_("listed"), null=True, blank=True)
    refused = models.PositiveIntegerField(_("stated when it refused a request"), null=True, blank=True)
    tools_refused_at = models.DateTimeField(_("refused tools"), null=True, blank=True)
    reasoning_wanted_at = models.DateTimeField(_("wanted the thinking of its tool calls back"), null=True, blank=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("learned facts of a model")
        verbose_name_plural = _("learned facts of models")
        ordering = ("provider", "model")
        constraints = (models.UniqueConstraint(fields=["provider", "model"], name="learned_limit_once"),)

    def __str__(self) -> str:
        return self.model

    @property
    def tokens(self) -> int | None:
        """The lower of the two: a list may name what a model could have, a refusal what its server has."""
        return min(filter(None, (self.listed, self.refused)), default=None)
