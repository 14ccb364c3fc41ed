"""Conversations, and what belongs to them beside their turns: projects, attached files, shared links, imports."""

from __future__ import annotations

import uuid
from datetime import timedelta

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext_lazy as _

from reasoning.redaction import redact_text

MAX_SYSTEM_PROMPT = 8000  # characters; also of a model and of the site
# Of an import. Longer than the longest conversation takes; a process that was killed can't say that its import ended.
SILENCE = timedelta(minutes=5)


class Project(models.Model):
    """A group of one owner's conversations, with instructions that all of them share."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="projects")
    name = models.CharField(_("name"), max_length=80)
    system_prompt = models.TextField(_("system prompt"), max_length=MAX_SYSTEM_PROMPT, blank=True)
    # The collections that its conversations may read: ids as hex, None for all that its owner may.
    collection_ids = models.JSONField(null=True, blank=True, default=None, editable=False)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("project")
        verbose_name_plural = _("projects")
        ordering = ("name", "created_at")

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("chat:project", args=[self.id])


class VisibleManager(models.Manager["Conversation"]):
    """Conversations that are neither deleted nor expired."""

    def get_queryset(self) -> models.QuerySet[Conversation]:
        return super().get_queryset().filter(deleted_at=None).exclude(expires_at__lte=timezone.now())


class Conversation(models.Model):
    """One owner's thread."""

    has_collections: bool  # whether its owner can read any; annotated where ``get_conversation`` reads it

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="conversations")
    title = models.CharField(_("title"), max_length=120, blank=True)
    profile = models.ForeignKey(
        "ModelProfile", on_delete=models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("model")
    )  # None: the site's default
    project = models.ForeignKey(
        Project,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="conversations",
        verbose_name=_("project"),
    )
    reasoning = models.JSONField(_("reasoning settings"), default=dict, blank=True)  # only what was set here
    system_prompt = models.TextField(_("system prompt"), max_length=MAX_SYSTEM_PROMPT, blank=True)
    # By endpoint and model: the seq up to which it refused its own opaque items; see chat.turns.requests.planning.
    refused_items = models.JSONField(default=dict, blank=True, editable=False)
    collection_ids = models.JSONField(null=True, blank=True, default=None, editable=False)  # None: as its project
    allowed_tools = models.JSONField(default=list, blank=True, editable=False)  # whose calls need no approval any more
    is_renamed = models.BooleanField(_("renamed"), default=False)  # by its owner; no title of a model replaces it
    is_pinned = models.BooleanField(_("pinned"), default=False)
    archived_at = models.DateTimeField(_("archived at"), null=True, blank=True)  # not in the sidebar
    # Where an imported conversation comes from, so that another import skips it; see chat.sharing.imports.run.
    import_id = models.CharField(max_length=100, blank=True, default="", editable=False)
    deleted_at = models.DateTimeField(_("deleted at"), null=True, blank=True)  # purged some time after
    expires_at = models.DateTimeField(_("expires at"), null=True, blank=True)  # of a temporary chat
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), default=timezone.now)

    deleted_with = 0  # how many others were deleted at once; see chat.conversations.actions.find_deleted

    objects = VisibleManager()
    all_objects: models.Manager[Conversation] = models.Manager()

    class Meta:
        verbose_name = _("conversation")
        verbose_name_plural = _("conversations")
        ordering = ("-updated_at",)
        indexes = (models.Index(fields=["owner", "-updated_at"], name="conversation_by_owner"),)

    def __str__(self) -> str:
        # only the admin shows it, in headings and in answers to its scripts: staff see masked titles
        return redact_text(self.title) or str(self.id)

    def get_absolute_url(self) -> str:
        return reverse("chat:conversation", args=[self.id])

    @property
    def is_temporary(self) -> bool:
        return self.expires_at is not None

    @property
    def is_visible(self) -> bool:
        """Whether it is one of ``objects``: neither deleted nor expired."""
        return self.deleted_at is None and (self.expires_at is None or self.expires_at > timezone.now())


class Attachment(models.Model):
    """A file of a conversation; messages name it by its id. Both contents are encrypted by ``chat.eventlog`` alone."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="attachments")
    name = models.CharField(_("name"), max_length=120)
    media_type = models.CharField(_("media type"), max_length=40)
    size = models.PositiveIntegerField(_("size in bytes"))
    chars = models.PositiveIntegerField(_("characters of text"), default=0)
    is_cut = models.BooleanField(_("only the beginning of its text is used"), default=False)
    encoding = models.CharField(_("encoding of its text"), max_length=20, blank=True)  # as Python names it
    sealed_content = models.BinaryField(editable=False)
    sealed_text = models.BinaryField(null=True, editable=False)  # None: an image
    sent_at = models.DateTimeField(_("sent at"), null=True, blank=True)  # None: deleted after a day
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("attachment")
        verbose_name_plural = _("attachments")
        ordering = ("created_at",)
        indexes = (models.Index(fields=["conversation", "sent_at"], name="attachment_by_chat"),)

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("chat:attachment", args=[self.conversation_id, self.pk])


class Share(models.Model):
    """A link by which anyone may read a conversation as it stood: the answers, and what its owner added to them."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="shares")
    # The token is looked up by its digest. Encrypted it stays for its owner, who may copy the link again.
    digest = models.CharField(_("digest"), max_length=64, unique=True, editable=False)
    sealed_token = models.BinaryField(_("encrypted token"), null=True, editable=False)
    last_turn = models.ForeignKey("Turn", on_delete=models.CASCADE, related_name="+")  # later turns are not shown
    title = models.CharField(_("title"), max_length=120, blank=True)  # of the conversation, when the link was made
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


class ConversationImport(models.Model):
    """The newest import of a user, while it runs and afterwards: what became of its conversations.

    ``report`` are the fields of ``chat.sharing.imports.run.Report``; ``error`` says why it ended early, in the language
    of its user. ``worker`` is the process that runs it, as ``chat.eventlog.leases`` names it.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="conversation_import")
    updated_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)
    worker = models.CharField(max_length=120, default="")
    report = models.JSONField(default=dict)
    error = models.TextField()

    class Meta:
        verbose_name = _("import")
        verbose_name_plural = _("imports")

    def __str__(self) -> str:
        return f"{self.owner} · {self.updated_at}"

    @property
    def is_interrupted(self) -> bool:
        """Whether the process that ran it has ended."""
        return self.ended_at is None and self.updated_at < timezone.now() - SILENCE

    @property
    def is_running(self) -> bool:
        return self.ended_at is None and not self.is_interrupted
