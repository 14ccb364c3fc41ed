"""One owner's thread: its turns, and the append-only log of what was said.

``Event`` rows are written by ``chat.log`` alone. What a row holds is split in two halves: ``public`` may be read by
whoever may see the conversation; ``sealed`` is encrypted and opened only by ``chat.log`` (product 3).
"""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class KeptConversations(models.Manager["Conversation"]):
    """Those that are there: no look-up finds a deleted one, or a temporary one whose time is over."""

    def get_queryset(self) -> models.QuerySet[Conversation]:
        return self.at(timezone.now())

    def at(self, now: Any) -> models.QuerySet[Conversation]:
        """Return those that are there at a time, or at one that an expression stands for."""
        return super().get_queryset().filter(deleted_at=None).exclude(expires_at__lte=now)


class Conversation(models.Model):
    """One owner's thread."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="conversations")
    title = models.CharField(_("title"), max_length=120, blank=True)
    profile = models.ForeignKey(
        "ModelProfile", on_delete=models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("model")
    )  # None: the site's default
    reasoning = models.JSONField(_("reasoning settings"), default=dict, blank=True)  # only what was set here
    is_renamed = models.BooleanField(_("renamed"), default=False)  # its person named it: no title is made any more
    is_pinned = models.BooleanField(_("pinned"), default=False)
    deleted_at = models.DateTimeField(_("deleted at"), null=True, blank=True)  # gone for good some time after
    expires_at = models.DateTimeField(_("expires at"), null=True, blank=True)  # of a temporary chat
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), default=timezone.now)

    objects = KeptConversations()
    everything: models.Manager[Conversation] = models.Manager()

    class Meta:
        verbose_name = _("conversation")
        verbose_name_plural = _("conversations")
        ordering = ("-updated_at",)
        indexes = (models.Index(fields=["owner", "-updated_at"], name="conversation_by_owner"),)

    def __str__(self) -> str:
        return self.title or str(self.id)

    def get_absolute_url(self) -> str:
        return reverse("chat:conversation", args=[self.id])

    @property
    def is_temporary(self) -> bool:
        return self.expires_at is not None


class Turn(models.Model):
    """One user message and all that answers it."""

    class Status(models.TextChoices):
        """How it stands. All but ``RUNNING`` are the statuses of ``turn_end``."""

        RUNNING = "running", _("running")
        COMPLETED = "completed", _("completed")
        ERRORED = "errored", _("failed")
        ABORTED = "aborted", _("stopped")
        ITERATION_CAPPED = "iteration_capped", _("stopped at the step limit")
        INTERRUPTED = "interrupted", _("interrupted")

    # Error codes of a question that was saved and not asked, and of one whose place another took before it was.
    UNASKED = "not_asked"
    UNASKED_AND_REPLACED = "not_asked_replaced"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="turns")
    parent = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, blank=True, related_name="children")
    number = models.PositiveIntegerField(_("number"))
    client_id = models.CharField(_("client id"), max_length=64, blank=True)
    is_active = models.BooleanField(_("on the selected branch"), default=True)
    status = models.CharField(_("status"), max_length=20, choices=Status, default=Status.RUNNING)
    worker = models.CharField(_("process"), max_length=120, blank=True)  # that runs it; see chat.leases
    lease_until = models.DateTimeField(_("leased until"), null=True, blank=True)
    error_code = models.CharField(_("error code"), max_length=40, blank=True)
    error_message = models.CharField(_("error message"), max_length=500, blank=True)
    model = models.CharField(_("model"), max_length=200, blank=True)
    provider = models.CharField(_("provider"), max_length=300, blank=True)
    input_tokens = models.PositiveIntegerField(_("input tokens"), null=True, blank=True)
    output_tokens = models.PositiveIntegerField(_("output tokens"), null=True, blank=True)
    reasoning_tokens = models.PositiveIntegerField(_("reasoning tokens"), null=True, blank=True)
    context_anchor = models.JSONField(
        _("context anchor"), null=True, blank=True
    )  # a UsageAnchor: reported size, never text
    cached_tokens = models.PositiveIntegerField(_("cached input tokens"), null=True, blank=True)  # part of the input
    thinking_ms = models.PositiveIntegerField(_("thinking time in ms"), default=0)
    first_token_ms = models.PositiveIntegerField(_("time to first token in ms"), null=True, blank=True)
    # What the guards did, in numbers only: they tell which provider regressed.
    stripped_delimiters = models.PositiveIntegerField(_("delimiters stripped"), default=0)
    extracted_blocks = models.PositiveIntegerField(_("thoughts taken out"), default=0)
    masked = models.PositiveIntegerField(_("places masked"), default=0)
    dropped_bullets = models.PositiveIntegerField(_("summary points dropped"), default=0)
    summary_source = models.CharField(_("summary source"), max_length=10, blank=True)
    started_at = models.DateTimeField(_("started at"), default=timezone.now)
    ended_at = models.DateTimeField(_("ended at"), null=True, blank=True)

    class Meta:
        verbose_name = _("turn")
        verbose_name_plural = _("turns")
        ordering = ("conversation", "started_at")
        constraints = (
            models.UniqueConstraint(
                fields=["conversation", "client_id"], condition=~models.Q(client_id=""), name="turn_once_per_client_id"
            ),
            models.UniqueConstraint(
                fields=["conversation"], condition=models.Q(status="running"), name="turn_one_running_per_conversation"
            ),
        )

    def __str__(self) -> str:
        return _("Turn %(number)s") % {"number": self.number}

    @property
    def public_id(self) -> str:
        """The id that the page knows: ``msgId`` on the answer, and ``<id>-q`` on the question."""
        return self.id.hex

    @property
    def is_unasked(self) -> bool:
        return self.error_code in (self.UNASKED, self.UNASKED_AND_REPLACED)


class Event(models.Model):
    """One kept fact, ordered by ``seq``. Append-only: written by ``chat.log``, changed by nobody."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="events")
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="events")
    seq = models.PositiveIntegerField(_("seq"))
    step = models.PositiveIntegerField(_("step"), null=True, blank=True)
    type = models.CharField(_("type"), max_length=30)
    schema = models.PositiveSmallIntegerField(_("schema"), default=1)
    public = models.JSONField(_("public half"), default=dict)
    sealed = models.BinaryField(_("sealed half"), null=True, blank=True, editable=False)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("events")
        ordering = ("conversation", "seq")
        constraints = (models.UniqueConstraint(fields=["conversation", "seq"], name="event_seq_once"),)
        indexes = (models.Index(fields=["turn", "seq"], name="event_by_turn"),)

    def __str__(self) -> str:
        return _("Event %(number)s") % {"number": self.seq}
