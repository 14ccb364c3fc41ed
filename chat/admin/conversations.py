"""Conversations, turns and events: read-only, and by their public halves only (product 14)."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from chat.admin import events
from chat.admin.base import Named, ReadOnly, ReadOnlyInline, counted, kept, link_to, title_of
from chat.admin.figures import urls as figure_urls
from chat.models import Conversation, Event, Turn
from chat.wording import shown
from reasoning.redaction import redact_text

_FIGURES = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")
_TIMES = ("started_at", "ended_at", "first_token_ms", "thinking_ms")
_GUARDS = ("stripped_delimiters", "extracted_blocks", "masked", "dropped_bullets", "source")


class TurnInline(ReadOnlyInline):
    """The turns of a conversation, on its page."""

    model = Turn
    show_change_link = True
    ordering = ("started_at",)
    fields = ("number", "is_active", "status", "answered_by", "started_at", "ended_at", "output_tokens", "error_code")
    readonly_fields = fields

    @admin.display(description=gettext_lazy("model"))
    def answered_by(self, turn: Turn) -> str:
        return shown(turn.model)


class EventInline(ReadOnlyInline):
    """The public halves of a turn's events, on its page."""

    model = Event
    ordering = ("seq",)
    fields = ("seq", "kind", "told")
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        return super().get_queryset(request).defer("sealed")

    @admin.display(description=gettext_lazy("what"))
    def kind(self, event: Event) -> str:
        return events.kind(event)

    @admin.display(description=gettext_lazy("public half"))
    def told(self, event: Event) -> SafeString:
        return events.told(event)


@admin.register(Conversation)
class ConversationAdmin(ReadOnly):
    """Conversations by owner."""

    inlines = (TurnInline,)
    view_on_site = False  # it is its owner's alone

    list_display = ("called", "owner", "turn_count", "is_temporary", "updated_at")
    list_filter = ("updated_at", ("expires_at", admin.EmptyFieldListFilter))
    list_select_related = ("owner",)
    search_fields = ("title", "owner__username")
    search_help_text = gettext_lazy("Search titles and owners")
    fields = ("called", "owner", "profile", "reasoning", "is_pinned", "expires_at", "created_at", "updated_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Conversation]:
        found: QuerySet[Conversation] = super().get_queryset(request)
        return found.annotate(turns_=counted(Turn.objects.filter(is_active=True), "conversation"))

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Conversation | None:
        """Return it with a masked title, which heads the page: nothing is saved here."""
        found: Conversation | None = super().get_object(request, object_id, from_field)
        if found:
            found.title = title_of(found)
        return found

    @admin.display(description=gettext_lazy("title"), ordering="title")
    def called(self, conversation: Conversation) -> str:
        return title_of(conversation)

    @admin.display(description=gettext_lazy("turns"), ordering="turns_")
    def turn_count(self, conversation: Any) -> int:
        return int(conversation.turns_)

    @admin.display(description=gettext_lazy("temporary"), boolean=True)
    def is_temporary(self, conversation: Conversation) -> bool:
        return conversation.is_temporary


@admin.register(Turn)
class TurnAdmin(ReadOnly):
    """How turns went; and the figures of all of them."""

    inlines = (EventInline,)
    change_list_template = "admin/chat/turn/change_list.html"

    list_display = ("started_at", "called", "number", "status", "answered_by", "output_tokens", "thinking_ms")
    list_filter = ("status", "started_at", ("model", Named), ("provider", Named), ("error_code", Named))
    list_select_related = ("conversation",)
    search_fields = ("conversation__title",)
    search_help_text = gettext_lazy("Search titles of conversations")
    ordering = ("-started_at",)
    show_full_result_count = False
    fieldsets = (
        (
            None,
            {"fields": ("called", "number", "is_active", "status", "error_code", "error", "answered_by", "provider")},
        ),
        (gettext_lazy("Tokens"), {"fields": _FIGURES}),
        (gettext_lazy("Times"), {"fields": _TIMES}),
        (gettext_lazy("What the guards did"), {"fields": _GUARDS}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Turn]:
        return kept(super().get_queryset(request), "conversation")

    def get_urls(self) -> list[Any]:
        return [*figure_urls(self.admin_site), *super().get_urls()]

    @admin.display(description=gettext_lazy("conversation"))
    def called(self, turn: Turn) -> SafeString:
        return link_to(turn.conversation)

    @admin.display(description=gettext_lazy("error message"))
    def error(self, turn: Turn) -> str:
        return redact_text(turn.error_message) or _("no error")

    @admin.display(description=gettext_lazy("model"), ordering="model")
    def answered_by(self, turn: Turn) -> str:
        return shown(turn.model)

    @admin.display(description=gettext_lazy("summary source"))
    def source(self, turn: Turn) -> str:
        return {"model": _("written by the model"), "trace": _("built from the steps")}.get(turn.summary_source, "")


@admin.register(Event)
class EventAdmin(ReadOnly):
    """The public halves of the log."""

    list_display = ("created_at", "called", "seq", "kind", "step")
    list_display_links = ("created_at", "seq")
    list_filter = ("type", "created_at")
    list_select_related = ("conversation",)
    ordering = ("-pk",)
    show_full_result_count = False
    fields = ("called", "seq", "step", "kind", "schema", "told", "created_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        return kept(super().get_queryset(request), "conversation").defer("sealed")

    @admin.display(description=gettext_lazy("conversation"))
    def called(self, event: Event) -> SafeString:
        return link_to(event.conversation)

    @admin.display(description=gettext_lazy("what"), ordering="type")
    def kind(self, event: Event) -> str:
        return events.kind(event)

    @admin.display(description=gettext_lazy("public half"))
    def told(self, event: Event) -> SafeString:
        return events.told(event)
