"""Conversations, turns and events: read-only, and only by their public payloads (product 14)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from django.contrib import admin
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.access.visibility import site_flags
from accounts.admin import ReadOnlyAdmin
from chat.admin.base import (
    LabelledValuesFilter,
    MaskedSearchMixin,
    OfConversation,
    ReadOnlyInline,
    count_rows,
    listed_conversations,
    title_of,
)
from chat.admin.statistics import urls as statistics_urls
from chat.eventlog.serialization import upgrade_payload
from chat.models import Conversation, Event, Turn
from chat.texts.error_texts import turn_error_text
from chat.texts.stored_text import translate_stored
from reasoning.envelope import answer_text
from reasoning.redaction import SECRETS_ONLY, Redactor, redact_text, redact_trace
from reasoning.visibility import Viewer, Visibility, visibility

Fact = tuple[str | Promise, object]
NEWEST_TURNS = 50  # on the page of a conversation
MAX_DIALOGUE_CHARS = 10_000  # of a question, and of an answer there; the page of the turn has all of it

EVENT_LABELS: Mapping[str, str | Promise] = {
    "user_message": gettext_lazy("Question"),
    "assistant_message": gettext_lazy("Answer"),
    "reasoning": gettext_lazy("Thinking (sealed)"),
    "tool_call": gettext_lazy("Tool called"),
    "tool_result": gettext_lazy("Tool result"),
    "permission_decision": gettext_lazy("Permission"),
    "continuation": gettext_lazy("Continued"),
    "compaction": gettext_lazy("Earlier turns summarised"),
    "turn_end": gettext_lazy("End of the turn"),
}


class TurnDisplay:
    """A column for the model of a turn."""

    @admin.display(description=gettext_lazy("model"), ordering="model")
    def answered_by(self, turn: Turn) -> str:
        return translate_stored(turn.model)


class EventDisplay:
    """Columns for the type and the public payload of an event."""

    @admin.display(description=gettext_lazy("what"), ordering="type")
    def kind(self, event: Event) -> str:
        return str(EVENT_LABELS.get(event.type, event.type))

    @admin.display(description=gettext_lazy("public half"))
    def details(self, event: Event) -> SafeString:
        """List the facts of the public payload, masked again."""
        public = upgrade_payload(event.type, event.schema, event.public)
        facts = [pair for pair in facts_of(event.type, public, staff_visibility()) if pair[1] not in ("", None)]
        return format_html('<dl class="event-details">{}</dl>', format_html_join("", "<dt>{}</dt><dd>{}</dd>", facts))


class TurnInline(TurnDisplay, ReadOnlyInline):
    """The newest turns of a conversation, on its page; the list of turns has all of them."""

    model = Turn
    verbose_name_plural = gettext_lazy("newest turns")
    show_change_link = True
    ordering = ("started_at",)
    fields = ("number", "is_active", "status", "answered_by", "started_at", "ended_at", "output_tokens", "error_code")
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Turn]:
        found: QuerySet[Turn] = super().get_queryset(request)
        conversation = request.resolver_match.kwargs["object_id"] if request.resolver_match else None
        # the parent filters by conversation only later, after the newest were selected
        newest = found.filter(conversation=conversation).order_by("-started_at").values_list("pk", flat=True)
        # as a list: the formset filters and orders it again, which a slice doesn't allow
        return found.filter(pk__in=list(newest[:NEWEST_TURNS]))


class EventInline(EventDisplay, ReadOnlyInline):
    """The public payloads of a turn's events, on its page."""

    model = Event
    ordering = ("seq",)
    fields = ("seq", "kind", "details")
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        # staff never see it, and it may be large
        return super().get_queryset(request).defer("sealed")


@admin.register(Conversation)
class ConversationAdmin(MaskedSearchMixin, ReadOnlyAdmin):
    """Conversations by owner."""

    inlines = (TurnInline,)
    change_form_template = "admin/chat/conversation/change_form.html"
    view_on_site = False  # it is its owner's alone

    list_display = ("masked_title", "owner", "turn_count", "updated_at")
    list_filter = ("updated_at",)
    list_select_related = ("owner",)
    search_fields = ("title", "owner__username")
    search_help_text = gettext_lazy("Search titles and owners")
    fields = (
        *("masked_title", "owner", "profile", "reasoning", "is_pinned", "created_at", "updated_at"),
        *("all_turns", "all_events"),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Conversation]:
        found: QuerySet[Conversation] = super().get_queryset(request).filter(pk__in=listed_conversations())
        return found.annotate(turns_=count_rows(Turn.objects.filter(is_active=True), "conversation"))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        # called by the template, once the permission was checked
        context = {**(extra_context or {}), "dialogue": partial(dialogue, object_id)}
        return super().change_view(request, object_id, form_url, context)

    # not sortable: with titles of their own beside it staff could find out what the mask hides
    @admin.display(description=gettext_lazy("title"))
    def masked_title(self, conversation: Conversation) -> str:
        return title_of(conversation)

    @admin.display(description=gettext_lazy("turns"), ordering="turns_")
    def turn_count(self, conversation: Any) -> int:
        return int(conversation.turns_)

    @admin.display(description=gettext_lazy("turns"))
    def all_turns(self, conversation: Any) -> SafeString:
        url = reverse("admin:chat_turn_changelist", query={"q": conversation.pk})
        return format_html('<a href="{}">{}</a>', url, _("All turns"))

    @admin.display(description=gettext_lazy("events"))
    def all_events(self, conversation: Any) -> SafeString:
        url = reverse("admin:chat_event_changelist", query={"q": conversation.pk})
        return format_html('<a href="{}">{}</a>', url, _("All events"))


@admin.register(Turn)
class TurnAdmin(TurnDisplay, OfConversation):
    """Turns with their figures, and the pages of statistics."""

    inlines = (EventInline,)
    change_list_template = "admin/chat/turn/change_list.html"
    list_display = (
        *("started_at", "conversation_link", "number", "status"),
        *("answered_by", "output_tokens", "thinking_ms"),
    )
    list_filter = (
        *("status", "started_at"),
        *((name, LabelledValuesFilter) for name in ("model", "provider", "error_code")),
    )
    id_paths = ("conversation", "pk")
    search_fields = ("conversation__title",)
    search_help_text = gettext_lazy("Search titles of conversations, or the id of a conversation or turn")
    ordering = ("-started_at",)
    # a count of all rows scans the table on PostgreSQL
    show_full_result_count = False
    fieldsets = (
        (
            None,
            {
                "fields": (
                    *("conversation_link", "number", "is_active", "status"),
                    *("error_code", "error_reason", "error", "service_said", "answered_by", "provider"),
                )
            },
        ),
        (gettext_lazy("Tokens"), {"fields": ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")}),
        (gettext_lazy("Times"), {"fields": ("started_at", "ended_at", "first_token_ms", "thinking_ms")}),
        (
            gettext_lazy("Redaction and filtering"),
            {"fields": ("stripped_delimiters", "extracted_blocks", "masked", "dropped_bullets", "source")},
        ),
    )

    def get_urls(self) -> list[Any]:
        return [*statistics_urls(self.admin_site), *super().get_urls()]

    @admin.display(description=gettext_lazy("error message"))
    def error(self, turn: Turn) -> str:
        return redact_text(turn_error_text(turn, for_staff=True, with_detail=False)) or _("no error")

    @admin.display(description=gettext_lazy("the model service said"))
    def service_said(self, turn: Turn) -> str:
        return redact_text(turn.error_detail)

    @admin.display(description=gettext_lazy("summary source"))
    def source(self, turn: Turn) -> str:
        return {"model": _("written by the model"), "trace": _("built from the steps")}.get(turn.summary_source, "")


@admin.register(Event)
class EventAdmin(EventDisplay, OfConversation):
    """The public payloads of the event log."""

    turn_path = "turn"
    list_display = ("created_at", "conversation_link", "seq", "kind", "step")
    list_display_links = ("created_at", "seq")
    list_filter = ("type", "created_at")
    id_paths = ("conversation", "turn")
    # no texts: most are masked, and none is indexed
    search_fields = ("conversation__title",)
    search_help_text = gettext_lazy("Search titles of conversations, or the id of a conversation or turn")
    ordering = ("-pk",)
    show_full_result_count = False
    fields = ("conversation_link", "seq", "step", "kind", "schema", "details", "created_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        return super().get_queryset(request).defer("sealed")


def staff_visibility() -> Visibility:
    """Staff see of others' answers what the site shows, without thinking. Product 13, 14, 15."""
    everything = visibility(site_flags(), Viewer(show_reasoning=True, show_trace=True))
    return everything.only(summary=True, trace=True, thinking=False)


def dialogue(conversation_id: str) -> list[dict[str, Any]]:
    """Return the questions and answers of the newest turns on the selected branch, in order, masked again.

    Of long ones the beginning: a page has no room for all of them, and to mask them takes time. Product 45.
    """
    redactor = Redactor(SECRETS_ONLY)
    listed = Conversation.objects.filter(pk=conversation_id)
    newest = Turn.objects.filter(conversation__in=listed, is_active=True).order_by("-number")[:NEWEST_TURNS]
    spoken = ("user_message", "assistant_message")
    turns = newest.prefetch_related(Prefetch("events", Event.objects.filter(type__in=spoken).defer("sealed")))
    shown = []
    # the newest were selected; they are read from the oldest on
    for turn in reversed(turns):
        said: dict[str, list[Mapping[str, Any]]] = {kind: [] for kind in spoken}
        for event in turn.events.all():
            said[event.type].append(upgrade_payload(event.type, event.schema, event.public))
        question, answer = (
            redactor.redact_text(Truncator(answer_text(said[kind]).rstrip()).chars(MAX_DIALOGUE_CHARS))
            for kind in spoken
        )
        shown.append({"turn": turn, "model": translate_stored(turn.model), "question": question, "answer": answer})
    return shown


def facts_of(event_type: str, public: Mapping[str, Any], sees: Visibility) -> Iterator[Fact]:
    match event_type:
        case "user_message" | "assistant_message":
            yield _("Text"), Redactor(SECRETS_ONLY).redact_text(str(public.get("text", "")))
            if public.get("partial"):
                yield _("Cut off"), _("yes")
            if sees.summary and (summary := public.get("summary")):
                bullets = format_html_join("", "<li>{}</li>", ((mask(bullet),) for bullet in summary))
                yield _("Summary"), format_html("<ul>{}</ul>", bullets)
            # the caller leaves out what is empty, so no citations are no row
            yield _("Citations"), len(public.get("citations") or ()) or ""
        case "reasoning" if sees.reasoning_possible:
            yield _("Came as"), mask(public.get("source_field") or public.get("kind"))
            yield _("Tokens, estimated"), public.get("tokens_est") or ""
        case "tool_call" | "tool_result" if sees.trace:
            yield _("Tool"), mask(public.get("name"))
            if isinstance(trace := public.get("trace"), Mapping):
                # stored redacted; redacted again by the rules of today
                [step] = redact_trace([trace])
                yield _("Tool"), mask(step.get("tool"))
                yield _("Arguments"), json.dumps(step.get("args"), ensure_ascii=False)
                yield _("Status"), mask(step.get("status"))
                yield _("Results"), step.get("results")
                yield _("Duration in ms"), step.get("durationMs")
                yield _("Error"), mask(step.get("error"))
        case "permission_decision":
            yield _("Decision"), mask(public.get("decision"))
            yield _("By"), mask(public.get("by"))
        case "compaction":
            yield _("Up to event"), public.get("to_seq")
        case "turn_end":
            yield _("Status"), mask(public.get("status"))


def mask(value: object) -> str:
    """Mask text that came from outside: even a tool's name is what a model called it."""
    return redact_text(str(value)) if value else ""
