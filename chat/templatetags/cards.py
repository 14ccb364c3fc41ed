"""Tags that draw the cards of questions and answers.

One that rests is remembered: what it looks like depends on its view alone, which holds what its viewer may see, and on
the language. None is remembered while it changes or holds a private text or a token of its page, nor a long one, for
what is remembered must stay small.
"""

from __future__ import annotations

from functools import lru_cache

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from chat.cardviews import AnswerView, QuestionView

register = template.Library()

REMEMBERED = 500
MAX_REMEMBERED_CHARS = 20_000  # of the text that was asked or answered
_QUESTION = "chat/_question.html"
_ANSWER = "chat/_card.html"


@register.simple_tag
def draw_question(question: QuestionView) -> SafeString:
    """Return the card of a question."""
    if len(question.text) + len(question.handed_over) > MAX_REMEMBERED_CHARS:
        return render_to_string(_QUESTION, {"question": question})
    return _remembered(_QUESTION, question, get_language())


@register.simple_tag
def draw_answer(card: AnswerView, csrf_token: str = "") -> SafeString:
    """Return the card of an answer, as it rests or as it stands now."""
    is_long = len(card.answer_html) > MAX_REMEMBERED_CHARS
    if card.is_live or card.has_private_text or card.has_form or is_long:
        return render_to_string(_ANSWER, {"card": card, "csrf_token": csrf_token})
    return _remembered(_ANSWER, card, get_language())


@lru_cache(maxsize=REMEMBERED)
def _remembered(name: str, view: QuestionView | AnswerView, _language: str | None) -> SafeString:
    return render_to_string(name, {"card": view, "question": view})
