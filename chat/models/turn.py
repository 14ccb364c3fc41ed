"""Turns, their append-only event log, and what is stored only while a turn waits or runs.

``Event`` rows are written by ``chat.eventlog`` alone. ``public`` may be read by whoever may see the conversation;
``sealed`` is the private payload, encrypted, and only ``chat.eventlog`` decrypts it (product 3).
"""

from __future__ import annotations

import uuid

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chat.models.conversation import Conversation


class Turn(models.Model):
    """One user message and all that answers it."""

    class Status(models.TextChoices):
        """All but ``RUNNING`` are the statuses of ``turn_end``."""

        RUNNING = "running", _("running")
        COMPLETED = "completed", _("completed")
        ERRORED = "errored", _("failed")
        ABORTED = "aborted", _("stopped")
        ITERATION_CAPPED = "iteration_capped", _("stopped at the step limit")
        INTERRUPTED = "interrupted", _("interrupted")

    # Error codes of a question that was saved without asking it, and of one that was replaced before it was asked.
    UNASKED = "not_asked"
    UNASKED_AND_REPLACED = "not_asked_replaced"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="turns")
    # None for the first; the turns of one parent are the versions of one question
    parent = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, blank=True, related_name="children")
    # Of two that answer one question side by side each names the other until one is kept. The second is off the branch.
    compared_with = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="+", editable=False
    )
    # position on its branch, so siblings share a number
    number = models.PositiveIntegerField(_("number"))
    client_id = models.CharField(_("client id"), max_length=64, blank=True)
    is_active = models.BooleanField(_("on the selected branch"), default=True)
    status = models.CharField(_("status"), max_length=20, choices=Status, default=Status.RUNNING)
    worker = models.CharField(_("process"), max_length=120, blank=True)  # that runs it; see chat.eventlog.leases
    lease_until = models.DateTimeField(_("leased until"), null=True, blank=True)
    stop_requested = models.BooleanField(_("stop requested"), default=False)  # by a page of another process
    # The tool call that waits for its owner, and what they decided; see chat.turns.approval.
    waiting_call = models.CharField(max_length=100, blank=True, editable=False)
    # With a default of the database: a server of the version before may open turns during an upgrade.
    waiting_digest = models.CharField(max_length=64, blank=True, default="", db_default="", editable=False)
    waiting_until = models.DateTimeField(null=True, blank=True, editable=False)
    call_decision = models.CharField(max_length=10, blank=True, editable=False)
    # Where the call asks its owner something: the schema of the answers, and those they gave.
    waiting_schema = models.JSONField(null=True, blank=True, editable=False)
    sealed_answers = models.BinaryField(null=True, editable=False)
    # Why it failed or is not complete, or what there is to remark; worded by chat.texts.error_texts when it is shown.
    error_code = models.CharField(_("error code"), max_length=40, blank=True)
    error_reason = models.CharField(_("error reason"), max_length=40, blank=True)
    error_params = models.JSONField(_("error parameters"), default=dict, blank=True)
    # The sentence that earlier versions stored.
    error_message = models.CharField(_("error message"), max_length=500, blank=True)
    # As the model service said it when the turn failed; None where it is not known.
    is_retryable = models.BooleanField(_("may be tried again"), null=True, blank=True)
    retry_after_s = models.PositiveIntegerField(_("try again after s"), null=True, blank=True)
    # What the model service itself said, redacted: for staff, who look for the cause.
    error_detail = models.CharField(_("error detail"), max_length=500, blank=True)
    model = models.CharField(_("model"), max_length=200, blank=True)
    # Of the profile that answered, for cards; empty without one. Scripts and exports name the model.
    model_label = models.CharField(_("label of the model"), max_length=120, blank=True)
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
    # Counts of what was removed; they show which provider regressed.
    stripped_delimiters = models.PositiveIntegerField(_("delimiters stripped"), default=0)
    extracted_blocks = models.PositiveIntegerField(_("thoughts taken out"), default=0)
    masked = models.PositiveIntegerField(_("places masked"), default=0)
    dropped_bullets = models.PositiveIntegerField(_("summary points dropped"), default=0)
    summary_source = models.CharField(_("summary source"), max_length=10, blank=True)
    started_at = models.DateTimeField(_("started at"), default=timezone.now)
    resumed_at = models.DateTimeField(_("continued at"), null=True, blank=True)
    ended_at = models.DateTimeField(_("ended at"), null=True, blank=True)
    # Its texts are deleted a moment later; the row stays, since other turns have it as their parent.
    deleted_at = models.DateTimeField(_("deleted at"), null=True, blank=True)

    class Meta:
        verbose_name = _("turn")
        verbose_name_plural = _("turns")
        ordering = ("conversation", "started_at")
        constraints = (
            # a message that arrives twice, after a lost connection or a repeated request, is one turn
            models.UniqueConstraint(
                fields=["conversation", "client_id"], condition=~models.Q(client_id=""), name="turn_once_per_client_id"
            ),
            # Two processes may try to start one at the same moment. Off the branch runs the second of a comparison.
            models.UniqueConstraint(
                fields=["conversation", "is_active"],
                condition=models.Q(status="running"),
                name="turn_one_running_per_conversation",
            ),
        )
        indexes = (models.Index(fields=["conversation", "number"], name="turn_by_number"),)

    def __str__(self) -> str:
        return _("Turn %(number)s") % {"number": self.number}

    @property
    def public_id(self) -> str:
        """The id that the page knows: ``msgId`` on the answer, and ``<id>-q`` on the question."""
        return self.id.hex

    @property
    def is_beside(self) -> bool:
        """Whether it is the second of two that are compared."""
        return self.compared_with_id is not None and not self.is_active

    @property
    def run_s(self) -> float | None:
        """How long it ran, or did when it was last continued; None while it runs."""
        return (self.ended_at - (self.resumed_at or self.started_at)).total_seconds() if self.ended_at else None

    @property
    def is_unasked(self) -> bool:
        return self.error_code in (self.UNASKED, self.UNASKED_AND_REPLACED)


class Event(models.Model):
    """One stored fact, ordered by ``seq``. Append-only."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="events")
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="events")
    seq = models.PositiveIntegerField(_("seq"))
    step = models.PositiveIntegerField(_("step"), null=True, blank=True)
    type = models.CharField(_("type"), max_length=30)
    # of the payload: old events are never rewritten, but upgraded when they are read
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


class QueuedMessage(models.Model):
    """A message that waits for its turn; it becomes a ``user_message`` when that starts."""

    class Priority(models.IntegerChoices):
        """Which message is sent next; one that is held waits until the user sends or removes it."""

        NOW = 0, _("send now")
        NORMAL = 1, _("normal")
        HELD = 2, _("held")

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="queue")
    text = models.TextField(_("text"))
    attachments = models.JSONField(default=list, blank=True, editable=False)  # as events have them
    client_id = models.CharField(_("client id"), max_length=64, blank=True)
    priority = models.PositiveSmallIntegerField(_("priority"), choices=Priority, default=Priority.NORMAL)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("queued message")
        verbose_name_plural = _("queued messages")
        ordering = ("priority", "id")
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
    """The released part of a running answer, and its thinking encrypted. Never buffered text or a scratchpad."""

    turn = models.OneToOneField(Turn, on_delete=models.CASCADE, related_name="checkpoint")
    answer = models.TextField(_("answer"), blank=True)
    sealed = models.BinaryField(_("sealed thinking"), null=True, blank=True, editable=False)
    state = models.JSONField(_("state"), default=dict, blank=True)  # TurnState.to_json(), for followers elsewhere
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("checkpoint")
        verbose_name_plural = _("checkpoints")

    def __str__(self) -> str:
        return str(self.turn_id)


class Feedback(models.Model):
    """A user's rating of an answer."""

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
        return str(_("Good answer") if self.is_good else _("Bad answer"))


class StoredCard(models.Model):
    """What pages show of an ended turn, so that they needn't render or plan: written when it ends, or on first need.

    ``answer_html`` holds only what every viewer of the conversation may see: the answer with its citations.
    """

    turn = models.OneToOneField(Turn, on_delete=models.CASCADE, primary_key=True, related_name="stored_card")
    render_version = models.CharField(max_length=40, blank=True)  # see chat.cards.rendering
    answer_html = models.JSONField(default=dict, blank=True)  # by language code
    is_shortened = models.BooleanField(default=False)  # the answer: it was too large for a page
    drawn_bytes = models.PositiveIntegerField(default=0)  # of the cards of the turn on a page, about
    # The size of the next request, counted when this turn was the newest one; see chat.turns.requests.planning.
    context_key = models.CharField(max_length=40, blank=True)
    context_tokens = models.PositiveIntegerField(default=0)
    unsent_tokens = models.IntegerField(default=0)

    class Meta:
        verbose_name = _("stored card")
        verbose_name_plural = _("stored cards")

    def __str__(self) -> str:
        return str(self.turn_id)
