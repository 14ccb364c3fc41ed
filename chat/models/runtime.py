"""What is kept only while turns run: messages that wait their turn, and checkpoints of partial answers."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from chat.models.conversation import Conversation, Turn


class QueuedMessage(models.Model):
    """A message that was accepted while a turn ran. It becomes a ``user_message`` when its turn starts."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="queue")
    text = models.TextField(_("text"))
    client_id = models.CharField(_("client id"), max_length=64, blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("queued message")
        verbose_name_plural = _("queued messages")
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(
                fields=["conversation", "client_id"],
                condition=~models.Q(client_id=""),
                name="queued_once_per_client_id",
            ),
        )

    def __str__(self) -> str:
        return f"{self.conversation_id} · {self.pk}"


class Checkpoint(models.Model):
    """The released part of a running answer, and the thinking so far, sealed. Never held text or scratchpad."""

    turn = models.OneToOneField(Turn, on_delete=models.CASCADE, related_name="checkpoint")
    answer = models.TextField(_("answer"), blank=True)
    sealed = models.BinaryField(_("sealed thinking"), null=True, blank=True, editable=False)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("checkpoint")
        verbose_name_plural = _("checkpoints")

    def __str__(self) -> str:
        return str(self.turn_id)
