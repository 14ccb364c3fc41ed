"""Frames of what stands around the cards: the title, who answers next, how full the next request is, commands."""

from __future__ import annotations

import json
from collections.abc import Sequence

from django.template.loader import render_to_string
from django.utils.html import format_html

from chat.cardviews import ContextView, ModelView
from chat.models import Conversation
from chat.orders import CommandAnswer
from chat.textframes import json_frame


def context_frame(context: ContextView) -> str:
    """Return the context meter."""
    return render_to_string("chat/_context.html", {"context": context, "oob": True})


def model_frame(model: ModelView) -> str:
    """Return the model that answers next. The picker takes it as it is, so that nobody loses their place in it."""
    efforts = [(option.value, option.label, option.is_chosen) for option in model.efforts]
    return json_frame(model=model.value, label=model.label, efforts=efforts)


def command_frames(answer: CommandAnswer, completions: Sequence[Sequence[str]]) -> list[str]:
    """Return what a command said, and what can be completed now."""
    said = render_to_string("chat/_command.html", {"answer": answer})
    offered = {"completions": json.dumps(completions, ensure_ascii=False), "oob": True}
    return [
        format_html('<div id="command" hx-swap-oob="innerHTML">{}</div>', said),
        render_to_string("chat/_completions.html", offered),
    ]


def title_frames(conversation: Conversation, *, is_new: bool) -> list[str]:
    """Return what a conversation is called, in header, window and list; a new one goes on top of today's."""
    goes_up = is_new and not (conversation.is_temporary or conversation.is_pinned)
    named = json_frame(named=conversation.pk.hex, title=conversation.title, goesUp=goes_up)
    return [named, _list_frame(conversation)] if goes_up else [named]


def _list_frame(conversation: Conversation) -> str:
    item = render_to_string("chat/_conversation.html", {"one": conversation, "current_id": conversation.pk})
    return format_html('<ul hx-swap-oob="afterbegin:#today">{}</ul>', item)
