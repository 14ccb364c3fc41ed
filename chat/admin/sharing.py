"""Feedback and shared links: read-only, except that staff may revoke a link.

A link's token is never shown, because whoever has it can read the conversation.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts.models import User
from chat.admin.base import LabelledValuesFilter, OfConversation
from chat.cards.feedback import REASONS
from chat.models import Feedback, Share
from chat.sharing.links import revoke_link
from chat.texts.stored_text import translate_stored
from reasoning.redaction import redact_text

NOTE_CHARS = 80
REASON_LABELS = {value: label for reasons in REASONS.values() for value, label in reasons.items()}


class ReasonFilter(admin.SimpleListFilter):
    """Filter feedback by its reason."""

    title = gettext_lazy("reason")
    parameter_name = "reason"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(value, _(words)) for value, words in REASON_LABELS.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Feedback]) -> QuerySet[Feedback]:
        return queryset.filter(reason=self.value()) if self.value() else queryset


@admin.register(Feedback)
class FeedbackAdmin(OfConversation):
    """Ratings of answers."""

    turn_path = "turn"
    conversation_path = "turn__conversation"
    id_paths = ("turn__conversation", "turn")

    list_display = ("created_at", "conversation_link", "is_good", "why", "model_name", "short_note")
    list_filter = ("is_good", ReasonFilter, "created_at", ("turn__model", LabelledValuesFilter))
    list_select_related = ("turn__conversation",)
    search_fields = ("note", "turn__conversation__title")
    date_hierarchy = "created_at"
    fields = ("conversation_link", "model_name", "is_good", "why", "masked_note", "created_at")

    @admin.display(description=gettext_lazy("reason"), ordering="reason")
    def why(self, feedback: Feedback) -> str:
        words = REASON_LABELS.get(feedback.reason)
        return _(words) if words else "-"

    @admin.display(description=gettext_lazy("model"), ordering="turn__model")
    def model_name(self, feedback: Feedback) -> str:
        return translate_stored(feedback.turn.model) or "-"

    @admin.display(description=gettext_lazy("note"))
    def short_note(self, feedback: Feedback) -> str:
        return Truncator(self.masked_note(feedback)).chars(NOTE_CHARS)

    @admin.display(description=gettext_lazy("note"))
    def masked_note(self, feedback: Feedback) -> str:
        return redact_text(feedback.note)


@admin.register(Share)
class ShareAdmin(OfConversation):
    """Shared links."""

    actions = ("revoke",)
    view_on_site = False  # its URL holds the token
    list_display = ("created_at", "conversation_link", "owner", "state", "with_summary", "with_trace", "with_thinking")
    list_filter = (("revoked_at", admin.EmptyFieldListFilter), "expires_at", "with_thinking")
    list_select_related = ("conversation__owner",)
    search_fields = ("conversation__title", "conversation__owner__username")
    fields = (
        *("conversation_link", "owner", "state", "with_summary", "with_trace", "with_thinking"),
        *("created_at", "expires_at", "revoked_at"),
    )

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("chat.change_share")

    @admin.action(description=gettext_lazy("Revoke the selected links"), permissions=["revoke"])
    def revoke(self, request: HttpRequest, links: QuerySet[Share]) -> None:
        """Revoke the selected links, with an audit entry for each."""
        person = request.user
        # read before they change: revoked links would no longer match the filter
        open_links = list(links.filter(revoked_at=None))
        for link in open_links:
            # for the type checker: the admin admits signed-in users only
            if isinstance(person, User):
                revoke_link(person, link)
        count = len(open_links)
        message = ngettext("%(count)d link was revoked.", "%(count)d links were revoked.", count) % {"count": count}
        self.message_user(request, message, messages.SUCCESS if count else messages.INFO)

    @admin.display(description=gettext_lazy("owner"), ordering="conversation__owner__username")
    def owner(self, link: Share) -> Any:
        return link.conversation.owner

    @admin.display(description=gettext_lazy("state"))
    def state(self, link: Share) -> str:
        if link.revoked_at:
            return _("revoked")
        is_over = link.expires_at is not None and link.expires_at <= timezone.now()
        return _("expired") if is_over else _("open")
