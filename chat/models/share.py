"""Links by which a conversation can be read without signing in."""

from __future__ import annotations

import uuid

from django.db import models
from django.utils.formats import date_format
from django.utils.translation import gettext_lazy as _

from chat.models.conversation import Conversation
from chat.models.turn import Turn


class Share(models.Model):
    """A link by which anyone may read a conversation as it stood: the answers, and what its owner added to them."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="shares")
    # The token is looked up by its digest. Encrypted it stays for its owner, who may copy the link again.
    digest = models.CharField(_("digest"), max_length=64, unique=True, editable=False)
    sealed_token = models.BinaryField(_("encrypted token"), null=True, editable=False)
    last_turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="+")  # later turns are not shown
    with_summary = models.BooleanField(_("with summary"), default=True)
    with_trace = models.BooleanField(_("with steps"), default=False)
    with_thinking = models.BooleanField(_("with thinking"), default=False)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    expires_at = models.DateTimeField(_("expires at"), null=True, blank=True)
    # the row stays for its owner and staff, who see when the link ended
    revoked_at = models.DateTimeField(_("revoked at"), null=True, blank=True)

    class Meta:
        verbose_name = _("shared link")
        verbose_name_plural = _("shared links")
        ordering = ("-created_at",)

    def __str__(self) -> str:
        return _("Link of %(day)s") % {"day": date_format(self.created_at, "SHORT_DATE_FORMAT")}
