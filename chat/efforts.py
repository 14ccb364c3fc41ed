"""How much the model of a conversation is to reason: what it can be told, and what it is told here.

One setting of the conversation, ``reasoning.effort``; unset, the other layers decide. Synchronous; reads the database.
"""

from __future__ import annotations

from django.utils.translation import gettext as _

from chat import layers
from chat.cardviews import ModelOption
from chat.models import Conversation
from chat.upstream import ChosenModel
from reasoning.dialects import dialect_named
from reasoning.policy import SETTINGS

EFFORT = "reasoning.effort"
_SWITCHED = ("none", "medium")  # where a service knows on and off alone


def words_for(chosen: ChosenModel) -> tuple[str, ...]:
    """Return the efforts that this model can be told; none where it takes no such word."""
    if chosen.config.is_offline:
        return ()
    control = "effort" if chosen.config.api == "responses" else dialect_named(chosen.dialect).control
    match control:
        case "none":
            return ()
        case "thinking" | "template":
            return _SWITCHED
    return SETTINGS[EFFORT].allowed


def options(conversation: Conversation, chosen: ChosenModel) -> tuple[ModelOption, ...]:
    """Return what may be chosen here, the first one leaving it to the other layers; none where nothing is asked for."""
    words = words_for(chosen)
    if not words or not layers.in_force(conversation.owner, conversation, chosen).enabled:
        return ()
    own = (conversation.reasoning or {}).get(EFFORT, "")
    offered = ["", *words, *([own] if own not in ("", *words) else [])]
    return tuple(ModelOption(word, _label(word, words), is_chosen=word == own) for word in offered)


def _label(word: str, words: tuple[str, ...]) -> str:
    if not word:
        return _("Effort: default")
    if words == _SWITCHED and word in words:
        return _("Reasoning: off") if word == "none" else _("Reasoning: on")
    return _("Effort: %(word)s") % {"word": word}
