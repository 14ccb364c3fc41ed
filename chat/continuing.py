"""Continue: a new turn that is given, word for word, what an answer that was cut off says so far.

No service goes on with a stream that has died, so the text is handed over in the message itself, in one form: a
sentence, an empty line, the text. Whoever draws the message knows it by that sentence, in any language of the site.
"""

from __future__ import annotations

from functools import cache

from django.conf import settings
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, override

from chat.forms import Message, MessageRefused
from chat.models import Turn

SENTENCE = gettext_noop("Continue your answer exactly where it stopped. So far it reads:")
CUT_MARK = "…"
_BREAK = "\n\n"
_CUT_OFF = frozenset({Turn.Status.INTERRUPTED, Turn.Status.ABORTED, Turn.Status.ERRORED, Turn.Status.ITERATION_CAPPED})


def may_go_on(turn: Turn, answer: str) -> bool:
    """Say whether the answer of a turn was cut off, and there is something of it to go on from."""
    return bool(answer) and (turn.status in _CUT_OFF or turn.error_code == "length")


def message_for(turn: Turn, answer: str) -> Message:
    """Return the message that asks to go on with ``answer``. Raises MessageRefused where that can't be asked."""
    if turn.status == Turn.Status.RUNNING:
        raise MessageRefused("turn_running", _("An answer is being written; stop it first."))
    if not may_go_on(turn, answer):
        raise MessageRefused("nothing_to_continue", _("This answer was not cut off: there is nothing to continue."))
    if _newer(turn).exists():
        raise MessageRefused("not_newest", _("Only the newest answer can be continued."))
    return Message(_with_sentence(answer))


def parts(text: str) -> tuple[str, str]:
    """Return the sentence of such a message and the text that it hands over; of any other, all of it and nothing."""
    for sentence in _sentences():
        if text.startswith(sentence + _BREAK):
            return sentence, text[len(sentence) + len(_BREAK) :]
    return text, ""


def _newer(turn: Turn) -> QuerySet[Turn]:
    return Turn.objects.filter(conversation_id=turn.conversation_id, is_active=True, number__gt=turn.number)


def _with_sentence(answer: str) -> str:
    """Put the sentence before the text, which loses its beginning where a message may not be as long."""
    opening = _(SENTENCE) + _BREAK
    room = max(0, settings.MESSAGE_MAX_CHARS - len(opening))
    if len(answer) <= room:
        return opening + answer
    kept = max(0, room - len(CUT_MARK))
    return opening + CUT_MARK + answer[len(answer) - kept :]


@cache
def _sentences() -> tuple[str, ...]:
    found = []
    for code, _name in settings.LANGUAGES:
        with override(code):
            found.append(_(SENTENCE))
    return tuple(dict.fromkeys(found))
