"""What people say of an answer, and what they let others read."""

from __future__ import annotations

import secrets
import uuid

from django.db import models
from django.utils.formats import date_format
from django.utils.translation import gettext_lazy as _

from chat.models.conversation import Conversation, Turn


def new_token() -> str:
    """Return a token that nobody guesses."""
    return secrets.token_urlsafe(24)


class Feedback(models.Model):
    """What a person thought of an answer."""

    turn = models.OneToOneField(Turn, on_delete=models.CASCADE, related_name="feedback")
    is_good = models.BooleanField(_("good"))
    reason = models.CharField(_("reason"), max_length=40, blank=True)
    note = models.CharField(_("note"), max_length=1000, blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now=True)

    class Meta:
        verbose_name = _("feedback")
        verbose_name_plural = _("feedback")
        ordering = ("-created_at",)

    def __str__(self) -> str:
        return str(_("Good answer") if self.is_good else _("Poor answer"))


class Share(models.Model):
    """A link by which anyone may read a conversation as it stood: the answers, and what its owner added to them."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="shares")
    token = models.CharField(_("token"), max_length=64, unique=True, default=new_token, editable=False)
    last_turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="+")  # what came later is not shown
    with_summary = models.BooleanField(_("with summary"), default=True)
    with_trace = models.BooleanField(_("with steps"), default=False)
    with_thinking = models.BooleanField(_("with thinking"), default=False)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    expires_at = models.DateTimeField(_("expires at"), null=True, blank=True)
    revoked_at = models.DateTimeField(_("revoked at"), null=True, blank=True)

    class Meta:
        verbose_name = _("shared link")
        verbose_name_plural = _("shared links")
        ordering = ("-created_at",)

    def __str__(self) -> str:
        return _("Link of %(day)s") % {"day": date_format(self.created_at, "SHORT_DATE_FORMAT")}
