"""What the page of a conversation shows: read from the database in one go, then joined with the running turn.

Also the context processor of all pages.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from accounts.views import request_user
from chat import eventlog
from chat.cards import build, pagination, rendering
from chat.cards.attachments import draft_view
from chat.cards.view_models import AttachmentView, ContextView, ModelView
from chat.conversations import actions, model_choice, sidebar
from chat.conversations.access import get_conversation
from chat.conversations.reasoning_settings import visibility_for
from chat.conversations.sidebar import Sidebar
from chat.documents.choice import CollectionChoice, collection_choice
from chat.eventlog import attachments
from chat.files.extraction import IMAGES, OFFERED_DOCUMENTS
from chat.filings.ingest import STARTERS
from chat.filings.models import Filing
from chat.live.state import TurnState
from chat.models import Conversation, QueuedMessage, SiteSettings, Turn
from chat.request_preview import summary
from chat.turns import queue
from reasoning.visibility import Visibility


@dataclass(frozen=True, slots=True)
class ConversationPage:
    """What the page of a conversation needs from the database. A part holds its cards alone."""

    conversation: Conversation
    sees: Visibility
    records: tuple[eventlog.TurnRecord, ...]
    window: pagination.TurnPage
    opened: Mapping[str, eventlog.ThinkingText]  # thinking to show open, by card
    site: SiteSettings | None = None
    waiting: tuple[QueuedMessage, ...] = ()
    sidebar: Sidebar | None = None
    undo: Conversation | None = None  # just deleted
    undo_message: Turn | None = None  # likewise
    context: ContextView | None = None
    model: ModelView | None = None
    corpus: Mapping[str, Any] | None = None
    draft: tuple[AttachmentView, ...] = ()  # files that wait for the next message
    collections: CollectionChoice | None = None

    def running(self, *, beside: bool = False) -> set[uuid.UUID]:
        """Return which of its turns ran when it was read; ``beside``: the second ones of a comparison."""
        shown = [record.beside if beside else record for record in self.records]
        return {each.turn.pk for each in shown if each and each.turn.status == Turn.Status.RUNNING}


def load(request: HttpRequest, conversation_id: uuid.UUID, *, is_part: bool) -> ConversationPage:
    """Read the user's conversation, the turns that the query asks for; 404 for anybody else's."""
    person, query = request_user(request), request.GET
    conversation = get_conversation(request, conversation_id)
    site_settings = SiteSettings.current()
    chosen, offered = model_choice.resolve(conversation, site=site_settings)
    sees = visibility_for(person, request.session, conversation, chosen)
    # from here on only public payloads are read, unless thinking is to be shown open
    window, records = pagination.read_page(conversation_id, query, is_part=is_part)
    rendering.load(records)
    opened = {
        record.turn.public_id: text
        for record in records
        if record.turn.public_id == query.get("open") and (text := eventlog.thinking_for(record.turn, sees))
    }
    # a part has neither sidebar nor composer
    if is_part:
        return ConversationPage(conversation, sees, records, window, opened)
    return ConversationPage(
        conversation,
        sees,
        records,
        window,
        opened,
        site=site_settings,
        waiting=queue.queued_messages(conversation_id),
        sidebar=sidebar.newest(person, project=conversation.project),
        undo=actions.find_deleted(person, query["deleted"]) if "deleted" in query else None,
        undo_message=actions.find_deleted_message(conversation, query["undo"]) if "undo" in query else None,
        context=summary.context_usage(conversation, chosen, [record.turn for record in records]),
        model=summary.model_view(conversation, chosen, offered),
        # only an empty chat speaks of filings, and only the offline analyst answers from nothing else
        corpus=corpus_figures() if chosen.config.is_offline and not records else None,
        draft=draft_files(conversation, takes_images=chosen.takes_images),
        collections=collection_choice(conversation) if conversation.has_collections else None,
    )


def draft_files(conversation: Conversation, *, takes_images: bool) -> tuple[AttachmentView, ...]:
    """Return the files that wait for the next message."""
    files = attachments.unsent(conversation)
    return tuple(draft_view(file, conversation.pk, takes_images=takes_images) for file in files)


def template_context(page: ConversationPage, live: TurnState | None, beside: TurnState | None = None) -> dict[str, Any]:
    """Return the template context. ``live``, ``beside``: the turns that run, the second one where two are compared."""
    # a running turn is further in memory than in the log
    stored = [record for record in page.records if live is None or record.turn.pk != live.id]
    items = build.items(stored, page.sees, opened=page.opened, beside=beside)
    if live is not None and live.number in page.window:
        ended = next((record.beside for record in page.records if record.turn.pk == live.id), None)
        items.append(build.live_item(live, beside or ended, page.sees))
    return {
        "conversation": page.conversation,
        "sidebar": page.sidebar,
        "undo": page.undo,
        "undo_message": page.undo_message,
        "items": items,
        "earlier": pagination.previous_page(page.records),
        "newest_url": page.conversation.get_absolute_url() if page.window.before else "",
        "queued": page.waiting,
        "running": live is not None or beside is not None,
        "waits_for_user": any(turn is not None and turn.approval is not None for turn in (live, beside)),
        "sees": page.sees,
        "scratchpad_on": page.sees.scratchpad,
        "context": page.context,
        "limit_chars": settings.MESSAGE_MAX_CHARS,
        "socket_path": f"{settings.URL_PREFIX}/ws/chats/{page.conversation.pk}/"
        f"?shows={items[-1]['answer'].id if items else ''}",
        "site_settings": page.site,
        "starters": _starters(page) if page.site and not items else (),
        "corpus": page.corpus,
        "model": page.model,
        "draft_files": page.draft,
        "collections": page.collections,
        "max_files": settings.ATTACHMENTS_PER_MESSAGE,
        "max_file_bytes": settings.ATTACHMENT_MAX_BYTES,
        "accepted_files": ",".join((OFFERED_DOCUMENTS, *IMAGES)),
    }


def _starters(page: ConversationPage) -> Sequence[str]:
    own = page.site.starter_list() if page.site else []
    return own or (STARTERS if page.corpus and page.corpus["has_demo"] else ())


def corpus_figures() -> dict[str, Any]:
    """Return how many filings of how many companies are loaded, and whether all are invented."""
    found = Filing.objects.values_list("company", "is_demo")
    return {
        "filings": len(found),
        "companies": len({company for company, _demo in found}),
        "is_demo": bool(found) and all(demo for _company, demo in found),
        "has_demo": any(demo for _company, demo in found),
    }


def frame(request: HttpRequest) -> dict[str, object]:
    """Add what every page shows around its content, read when a template first uses it."""
    return {
        "site_settings": SimpleLazyObject(SiteSettings.current),
        "sidebar": SimpleLazyObject(lambda: sidebar.newest(request_user(request))),
    }
