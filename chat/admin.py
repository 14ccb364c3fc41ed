"""What staff see of conversations: who, when and how it went, read-only, public halves only (product 14)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.http import HttpRequest

from chat.models import Conversation, Event, Filing, Turn

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
    TabularInline = admin.TabularInline[Any, Any]
else:
    ModelAdmin = admin.ModelAdmin
    TabularInline = admin.TabularInline


class ReadOnly(ModelAdmin):
    """Looked at, never changed here: the log is append-only."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class TurnInline(TabularInline):
    """The turns of a conversation, on its page."""

    model = Turn
    extra = 0
    can_delete = False
    show_change_link = True
    fields = ("number", "is_active", "status", "model", "started_at", "ended_at", "output_tokens", "error_code")
    readonly_fields = fields

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class EventInline(TabularInline):
    """The public halves of a turn's events, on its page."""

    model = Event
    extra = 0
    can_delete = False
    fields = ("seq", "step", "type", "public")
    readonly_fields = fields

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Conversation)
class ConversationAdmin(ReadOnly):
    """Conversations by owner."""

    inlines = (TurnInline,)
    view_on_site = False  # it is its owner's alone

    list_display = ("title", "owner", "created_at", "updated_at")
    list_filter = ("updated_at",)
    search_fields = ("title", "owner__username")


@admin.register(Turn)
class TurnAdmin(ReadOnly):
    """How turns went."""

    inlines = (EventInline,)

    list_display = ("started_at", "conversation", "number", "status", "model", "output_tokens", "thinking_ms")
    list_filter = ("status", "model", "started_at")


@admin.register(Event)
class EventAdmin(ReadOnly):
    """The public halves of the log."""

    list_display = ("conversation", "seq", "type", "step", "created_at")
    list_filter = ("type",)
    fields = ("conversation", "turn", "seq", "step", "type", "schema", "public", "created_at")


@admin.register(Filing)
class FilingAdmin(ReadOnly):
    """What the corpus holds."""

    list_display = ("company", "form", "period_on", "filed_on", "source_name", "is_demo")
    list_filter = ("form", "is_demo")
    search_fields = ("company", "source_name")
