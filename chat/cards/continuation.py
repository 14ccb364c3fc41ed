"""Continue: a new turn whose message hands the cut-off answer back to the model, word for word.

No service can resume a stream that has died. The message has one form, a sentence, an empty line and the text so far;
cards recognise it by that sentence in any language of the site. After the step limit the finished steps are part of the
history that is sent, so the message only asks to go on.
"""

from __future__ import annotations

from functools import cache

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, override

from chat.eventlog import branches
from chat.models import Turn
from chat.validation import InvalidInputError, Message

SENTENCE = gettext_noop("Continue your answer exactly where it stopped. So far it reads:")
GO_ON = gettext_noop("Go on where you stopped: the limit of steps for one answer was reached.")
CUT_MARK = "…"
_BREAK = "\n\n"
_CUT_OFF = frozenset({Turn.Status.INTERRUPTED, Turn.Status.ABORTED, Turn.Status.ERRORED})


def can_continue(turn: Turn, answer: str) -> bool:
    """Say whether the answer of a turn was cut off after some text, or its steps were."""
    if turn.status == Turn.Status.ITERATION_CAPPED:
        return True
    return bool(answer) and (turn.status in _CUT_OFF or turn.error_code == "length")


def continuation_message(turn: Turn, answer: str) -> Message:
    """Return the message that asks to continue ``answer``. Raises InvalidInputError where it can't be continued."""
    if turn.status == Turn.Status.RUNNING:
        raise InvalidInputError("turn_running", _("An answer is being written; stop it first."))
    if not can_continue(turn, answer):
        raise InvalidInputError("nothing_to_continue", _("This answer was not cut off: there is nothing to continue."))
    if not branches.is_newest(turn):
        raise InvalidInputError("not_newest", _("Only the newest answer can be continued."))
    if turn.status == Turn.Status.ITERATION_CAPPED:
        return Message(_(GO_ON))
    # Where the whole doesn't fit into a message, the text loses its beginning.
    opening = _(SENTENCE) + _BREAK
    room = max(0, settings.MESSAGE_MAX_CHARS - len(opening))
    if len(answer) > room:
        chars = max(0, room - len(CUT_MARK))
        answer = CUT_MARK + answer[len(answer) - chars :]
    return Message(opening + answer)


def split_continuation(text: str) -> tuple[str, str]:
    """Return the sentence and the handed-over text of such a message; of any other message its text and nothing."""
    for sentence in sentences_in_all_languages():
        if text.startswith(sentence + _BREAK):
            return sentence, text[len(sentence) + len(_BREAK) :]
    return text, ""


@cache
def sentences_in_all_languages() -> tuple[str, ...]:
    """Return SENTENCE in every language of the site."""
    found = []
    for code, _name in settings.LANGUAGES:
        with override(code):
            found.append(_(SENTENCE))
    return tuple(dict.fromkeys(found))
