"""Links by which anyone may read a conversation as it was when the link was made: create, find and revoke them.

What a link shows is decided each time it is opened: what a user of the site may see, with the owner's settings of that
moment, minus what the owner left out. So a site that hides thinking hides it in old links too, and an administrator
shares no more than a user could. An expired link looks the same as one that never existed.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.html import escape
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from accounts.access.visibility import site_flags
from accounts.models import AuditEntry, User
from chat import eventlog
from chat.cards import build, phases, rendering
from chat.cards.view_models import AnswerView, QuestionView, SourceView, StepView, dom_id
from chat.conversations import reasoning_settings
from chat.eventlog import branches, link_tokens
from chat.html import source_url
from chat.models import Conversation, Share, Turn
from chat.sharing.export import Choice
from reasoning.envelope import AnswerRecord
from reasoning.redaction import SECRETS_ONLY, Redactor, redact_text
from reasoning.visibility import Viewer, Visibility, visibility

# Of one conversation: the page lists all of them.
MAX_LINKS = 20


@dataclass(frozen=True, slots=True)
class CardUrls:
    """Where readers of a link get what a card doesn't hold: thinking, and the whole of a shortened answer."""

    thinking: Callable[[Turn], str]
    answer: Callable[[Turn], str]


class ShareError(Exception):
    """A link can't be created. The message is for people."""


def create_link(person: User, conversation: Conversation, choice: Choice, *, days: int | None) -> Share:
    """Create a link to the present state of a conversation; without ``days`` it doesn't expire. Raises ShareError."""
    with transaction.atomic():
        Conversation.objects.select_for_update().get(pk=conversation.pk)  # so that MAX_LINKS can't be raced
        link = draft_link(conversation, choice)
        if active_links(person, conversation).count() >= MAX_LINKS:
            raise ShareError(_("There are %(most)s links already; revoke one first.") % {"most": MAX_LINKS})
        link.expires_at = timezone.now() + timedelta(days=days) if days else None
        link_tokens.add_token(link)
        link.save(force_insert=True)
        AuditEntry.record(person, AuditEntry.Action.SHARE_CREATED, conversation.pk)
    return link


def draft_link(conversation: Conversation, choice: Choice) -> Share:
    """Return an unsaved link, for a preview. Raises ShareError."""
    ended = conversation.turns.filter(is_active=True).exclude(status=Turn.Status.RUNNING)
    # later turns are not shown by this link, even after a reload
    last = ended.order_by("-number").first()
    if last is None:
        raise ShareError(_("There is no answer to share yet."))
    return Share(
        conversation=conversation,
        last_turn=last,
        title=conversation.title,
        with_summary=choice.summary,
        with_trace=choice.trace,
        with_thinking=choice.thinking,
    )


@transaction.atomic
def revoke_link(person: User, link: Share) -> None:
    """Revoke a link at once; idempotent."""
    # the update decides: two requests at once write one audit entry
    if Share.objects.filter(pk=link.pk, revoked_at=None).update(revoked_at=timezone.now()):
        AuditEntry.record(person, AuditEntry.Action.SHARE_REVOKED, link.conversation_id)


def active_links(person: User, conversation: Conversation | None = None) -> QuerySet[Share]:
    """Return a person's links that can be opened now, newest first; of one conversation or of all."""
    own = Share.objects.filter(openable(timezone.now()), conversation__owner=person)
    found = own.filter(conversation=conversation) if conversation else own
    return found.select_related("conversation__owner", "conversation__profile")


def find_link(token: str) -> Share | None:
    """Return the link with this token if it can be opened now."""
    digest = link_tokens.digest_of(token)
    known = Share.objects.filter(openable(timezone.now()), digest=digest, conversation__owner__is_active=True)
    return known.select_related("conversation__owner", "conversation__profile", "last_turn").first()


def link_visibility(link: Share) -> Visibility:
    """Decide what everybody sees through this link. Product 4, 13, 15."""
    settings = reasoning_settings.effective_settings(link.conversation.owner, link.conversation)
    anybody = Viewer(show_reasoning=True, include_in_response=settings.include_in_response)
    choice = Choice(link.with_summary, link.with_trace, link.with_thinking)
    return choice.within(visibility(site_flags(), anybody))


def shared_title(link: Share) -> str:
    """Return the title of the shared page."""
    return redact_text(link.title) or _("Conversation")


def shared_cards(
    link: Share, records: Sequence[eventlog.TurnRecord], urls: CardUrls, *, opened: str = ""
) -> list[Mapping[str, Any]]:
    """Return the cards of these turns as a link shows them. ``opened``: with its thinking."""
    sees = link_visibility(link)
    rendering.load(records)
    # After that, which stores the HTML of whole answers.
    shared = [as_shared(link, rows) for rows in records]
    return [
        {
            "question": shared_question(build.question_card(rows)),
            "answer": shared_answer(
                rows,
                sees,
                urls,
                opened=shared_thinking(link, rows.turn.pk) if rows.turn.public_id == opened else None,
            ),
        }
        for rows in shared
    ]


def as_shared(link: Share, rows: eventlog.TurnRecord) -> eventlog.TurnRecord:
    """Return a turn as it was when the link was made; of a preview, which isn't stored, its present state."""
    return eventlog.as_it_was(rows, link.created_at) if link.created_at else rows


def shared_thinking(link: Share, turn_id: uuid.UUID) -> eventlog.ThinkingText | None:
    """Return the thinking of a turn that a link shows, as anybody may read it."""
    found = branches.path_to(link.last_turn).filter(pk=turn_id).first()
    return eventlog.thinking_for(found, link_visibility(link), until=link.created_at) if found else None


def shared_record(link: Share, turn_id: uuid.UUID) -> AnswerRecord | None:
    """Return the answer of a turn that a link shows."""
    found = branches.path_to(link.last_turn).filter(pk=turn_id).first()
    return as_shared(link, eventlog.turn_record(found)).answer_record() if found else None


def shared_question(view: QuestionView) -> QuestionView:
    """Mask secrets in what the owner typed, who may have forgotten them."""
    text = Redactor(SECRETS_ONLY).redact_text(view.text)
    return QuestionView(id=view.id, number=view.number, text=text, asked_at=view.asked_at)


def shared_answer(
    rows: eventlog.TurnRecord, sees: Visibility, urls: CardUrls, *, opened: eventlog.ThinkingText | None
) -> AnswerView:
    """Return a card without the owner's actions and without the error text of a model service."""
    card = build.answer_card(rows, sees, opened=opened)
    # The reader page needs a session; here a citation leads to its excerpt, which is stored with the answer.
    sources = tuple(replace(source, anchor=dom_id(card.id, f"source-{source.ref}")) for source in card.sources)
    steps = tuple(shared_step(step, sources) for step in card.steps)
    # A link at a quotation that was not found names no quotation.
    bare = {citation.url: source_url(citation) for citation in rows.answer_record().citations}
    answer_html = str(card.answer_html)
    for source in sources:
        for url in (source.url, bare[source.address]):
            answer_html = answer_html.replace(f'href="{escape(url)}"', f'href="#{source.anchor}"')
    return replace(
        card,
        actions=None,
        answer_html=SafeString(answer_html),
        whole_url=urls.answer(rows.turn) if card.is_shortened else "",
        steps=steps,
        phases=phases.divide(card.id, steps),
        thinking=card.thinking and replace(card.thinking, url=urls.thinking(rows.turn)),
        sources=sources,
        error="",
        notice=_("This answer could not be finished.") if card.error else card.notice,
    )


def shared_step(step: StepView, sources: Sequence[SourceView]) -> StepView:
    """Return a step whose citations lead to the excerpts of the answer, or nowhere."""
    anchors = {source.address: f"#{source.anchor}" for source in sources}
    links = (replace(link, url=anchors.get(link.address, "")) for link in step.citations)
    return replace(step, citations=tuple(links))


def openable(now: datetime) -> Q:
    """Match links that aren't revoked or expired, of conversations that aren't deleted or expired."""
    link = Q(revoked_at=None) & (Q(expires_at=None) | Q(expires_at__gt=now))
    conversation = Q(conversation__expires_at=None) | Q(conversation__expires_at__gt=now)
    return link & conversation & Q(conversation__deleted_at=None)
