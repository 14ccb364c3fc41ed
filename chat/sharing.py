"""Links by which anyone may read a conversation as it stood: making, finding and revoking them.

What a link shows is decided at every opening: what a user of the site may see, with the owner's settings as they are
now, less what the owner left out. So a site that hides thinking hides it in old links as well, and no administrator
gives away more than a user has. A link that has ended is not told from one that never was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _

from accounts import audit
from accounts.models import User
from accounts.preferences import site_flags
from chat import branches, cards, layers, log
from chat.cardviews import AnswerView, QuestionView
from chat.export import Choice
from chat.models import Conversation, Share, Turn
from reasoning.policy import Viewer, Visibility, visibility
from reasoning.redaction import SECRETS_ONLY, Redactor, redact_text

MOST_LINKS = 20


class NotShared(Exception):
    """A link that can't be made. The message is for people."""


def make(person: User, conversation: Conversation, choice: Choice, *, days: int | None) -> Share:
    """Make a link to one's conversation as it stands, for so many days or for good. Raises NotShared."""
    with transaction.atomic():
        Conversation.objects.select_for_update().get(pk=conversation.pk)
        link = draft(conversation, choice)
        if active(person, conversation).count() >= MOST_LINKS:
            raise NotShared(_("There are %(most)s links already; revoke one first.") % {"most": MOST_LINKS})
        link.expires_at = timezone.now() + timedelta(days=days) if days else None
        link.save(force_insert=True)
        audit.record(person, audit.SHARE_CREATED, conversation.pk)
    return link


def draft(conversation: Conversation, choice: Choice) -> Share:
    """Return a link that isn't kept, for a look at what it would show. Raises NotShared."""
    ended = conversation.turns.filter(is_active=True).exclude(status=Turn.Status.RUNNING)
    last = ended.order_by("-number").first()
    if last is None:
        raise NotShared(_("There is no answer to share yet."))
    return Share(
        conversation=conversation,
        last_turn=last,
        with_summary=choice.summary,
        with_trace=choice.trace,
        with_thinking=choice.thinking,
    )


@transaction.atomic
def revoke(person: User, link: Share) -> None:
    """End a link at once. Again changes nothing."""
    if Share.objects.filter(pk=link.pk, revoked_at=None).update(revoked_at=timezone.now()):
        audit.record(person, audit.SHARE_REVOKED, link.conversation_id)


def active(person: User, conversation: Conversation | None = None) -> QuerySet[Share]:
    """Return one's links that can be opened now, the newest first; of one conversation, or of all."""
    own = Share.objects.filter(_is_open(timezone.now()), conversation__owner=person)
    found = own.filter(conversation=conversation) if conversation else own
    return found.select_related("conversation__owner", "conversation__profile")


def find(token: str) -> Share | None:
    """Return the link with this token, if it can be opened now."""
    known = Share.objects.filter(_is_open(timezone.now()), token=token, conversation__owner__is_active=True)
    link = known.select_related("conversation__owner", "conversation__profile", "last_turn").first()
    return link if link and constant_time_compare(link.token, token) else None


def sees(link: Share) -> Visibility:
    """Decide what everybody sees by this link. Product 4, 13, 15."""
    settings = layers.in_force(link.conversation.owner, link.conversation)
    anybody = Viewer(show_reasoning=True, include_in_response=settings.include_in_response)
    choice = Choice(link.with_summary, link.with_trace, link.with_thinking)
    return choice.within(visibility(site_flags(), anybody))


def title(link: Share) -> str:
    """Return what the shared page is called."""
    return redact_text(link.conversation.title) or _("Conversation")


def items(link: Share, thinking_url: Callable[[Turn], str], *, opened: str = "") -> list[Mapping[str, Any]]:
    """Return the cards of a shared conversation, on the branch that it was shared on. ``opened``: with its thinking."""
    seen = sees(link)
    return [
        {
            "question": _question(cards.question_card(rows)),
            "answer": _answer(rows, seen, thinking_url(rows.turn), is_open=rows.turn.public_id == opened),
        }
        for rows in log.path_to(link.last_turn)
    ]


def thinking(link: Share, public_id: str) -> log.ThinkingText | None:
    """Return the thinking of one of the turns that a link shows, as anybody may read it."""
    found = next((turn for turn in branches.path_to(link.last_turn) if turn.public_id == public_id), None)
    return log.thinking_for(found, sees(link)) if found else None


def _question(view: QuestionView) -> QuestionView:
    """Mask secrets in what its owner typed: they may have forgotten them."""
    return replace(view, text=Redactor(SECRETS_ONLY).redact_text(view.text), handed_over="", edit_url="", branch=None)


def _answer(rows: log.TurnRows, seen: Visibility, url: str, *, is_open: bool) -> AnswerView:
    """Return a card without what only its owner can do, and without a service's own words on what went wrong."""
    text = log.thinking_for(rows.turn, seen) if is_open else None
    card = cards.answer_card(rows, seen, opened=text)
    return replace(
        card,
        trace_url="",
        copy_url="",
        retry_url="",
        continue_url="",
        usage_label="",
        feedback=None,
        error="",
        notice=_("This answer could not be finished.") if card.error else card.notice,
        thinking=replace(card.thinking, url=url) if card.thinking else None,
    )


def _is_open(now: datetime) -> Q:
    """Say which links can be opened: neither they nor their conversations have ended."""
    link = Q(revoked_at=None) & (Q(expires_at=None) | Q(expires_at__gt=now))
    talk = Q(conversation__expires_at=None) | Q(conversation__expires_at__gt=now)
    return link & talk & Q(conversation__deleted_at=None)
