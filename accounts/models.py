"""Users, their saved profiles and access tokens, and the append-only audit trail."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar, NoReturn

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _


class User(AbstractUser):
    """A user. ``reasoning`` holds only the ``reasoning.*`` values that they set; other layers decide the rest."""

    THEMES = (("", _("System")), ("light", _("Light")), ("dark", _("Dark")))
    LANGUAGES = (("", _("Browser default")), *settings.LANGUAGES)

    theme = models.CharField(_("theme"), max_length=10, choices=THEMES, default="", blank=True)
    language = models.CharField(_("language"), max_length=10, choices=LANGUAGES, default="", blank=True)
    reasoning = models.JSONField(_("reasoning settings"), default=dict, blank=True)
    show_reasoning = models.BooleanField(_("show reasoning"), null=True, blank=True)  # None: the site's default

    @cached_property
    def is_administrator(self) -> bool:
        """Whether this user holds ``accounts.view_scratchpad``; superusers do. Product 9."""
        # One query, where has_perm() makes two: every page view asks.
        return User.administrators().filter(pk=self.pk).exists()

    @classmethod
    def administrators(cls) -> models.QuerySet[User]:
        """Return all users who hold ``accounts.view_scratchpad``."""
        return User.objects.with_perm("accounts.view_scratchpad", backend="django.contrib.auth.backends.ModelBackend")

    class Meta(AbstractUser.Meta):
        permissions = [("view_scratchpad", _("May switch on the live scratchpad"))]  # noqa: RUF012 - Django's own form


class ReasoningProfile(models.Model):
    """A user's saved set of ``reasoning.*`` values, loaded by name."""

    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="reasoning_profiles")
    name = models.CharField(_("name"), max_length=40)
    values = models.JSONField(_("values"), default=dict)

    class Meta:
        verbose_name = _("reasoning profile")
        verbose_name_plural = _("reasoning profiles")
        ordering = ("name",)
        constraints = (models.UniqueConstraint(fields=["owner", "name"], name="reasoning_profile_once_per_owner"),)

    def __str__(self) -> str:
        return f"{self.owner} · {self.name}"


class AccessToken(models.Model):
    """A personal access token for the JSON API. Only its digest is stored."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="access_tokens")
    name = models.CharField(_("name"), max_length=100, blank=True)
    digest = models.CharField(_("digest"), max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    last_used_at = models.DateTimeField(_("last used at"), null=True, blank=True)

    class Meta:
        verbose_name = _("access token")
        verbose_name_plural = _("access tokens")

    def __str__(self) -> str:
        return f"{self.user} · {self.name or self.pk}"


class AuditQuerySet(models.QuerySet["AuditEntry"]):
    """Audit entries can be read and added only."""

    def update(self, **values: object) -> NoReturn:
        raise TypeError("Audit entries are never changed.")

    def delete(self) -> NoReturn:
        raise TypeError("Audit entries are never deleted.")


class AuditEntry(models.Model):
    """Who did what, when, and in which conversation. Never any content (spec 004 scratchpad)."""

    class Action(models.TextChoices):
        """What is recorded. The column has no ``choices``: entries of removed actions stay valid."""

        SCRATCHPAD_ON = "scratchpad_on", _("scratchpad switched on")
        SCRATCHPAD_OFF = "scratchpad_off", _("scratchpad switched off")
        TOKEN_CREATED = "token_created", _("access token created")
        TOKEN_REVOKED = "token_revoked", _("access token revoked")
        TOKENS_ENDED = "tokens_ended", _("access tokens ended with the password")
        SHARE_CREATED = "share_created", _("link created")
        SHARE_REVOKED = "share_revoked", _("link revoked")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    username = models.CharField(_("user name"), max_length=150)  # at that time; the trail outlives the account
    action = models.CharField(_("action"), max_length=40)
    conversation = models.UUIDField(_("conversation"), null=True, blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    objects: ClassVar[models.Manager[AuditEntry]] = AuditQuerySet.as_manager()

    class Meta:
        verbose_name = _("audit entry")
        verbose_name_plural = _("audit entries")
        ordering = ("-created_at",)

    def __str__(self) -> str:
        return f"{self.created_at:%Y-%m-%d %H:%M} {self.username}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise TypeError("Audit entries are never changed.")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("Audit entries are never deleted.")

    @classmethod
    def record(cls, user: User, action: Action, conversation: uuid.UUID | None = None) -> AuditEntry:
        """Add one entry: user, action, time and, where it applies, conversation. Spec 004 scratchpad."""
        return cls.objects.create(user=user, username=user.username, action=action, conversation=conversation)
