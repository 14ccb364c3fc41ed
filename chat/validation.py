"""Validate what people send: one place for the socket, the pages and the API."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.utils.translation import gettext as _

CLIENT_ID_CHARS = 64
_EMPTY_START = re.compile(r"\A(?:[^\S\n]*+\n)++")  # possessive: to go back takes 100 times the memory of a file
MAX_FIELD_CHARS = 60  # of the name of a field in an error


class InvalidInputError(Exception):
    """Input that can't be accepted. ``code`` and ``field`` are for scripts, ``message`` is for people."""

    def __init__(self, code: str, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.field = field


@dataclass(frozen=True, slots=True)
class Message:
    """A message that may become a turn. ``attachments``: None for the files of the question that it replaces.

    ``compare_model``: a second model that is to answer it, or empty. Product 47.
    """

    text: str
    client_id: str = ""
    attachments: tuple[uuid.UUID, ...] | None = None
    compare_model: str = ""


def clean_message(
    text: object, client_id: object = "", attachments: object = None, compare_model: object = ""
) -> Message:
    """Validate a message. Raises InvalidInputError naming the field, the problem and what is allowed."""
    if not isinstance(text, str):
        raise InvalidInputError("invalid", _("text: a string is needed."), field="text")
    check_characters({"text": text, "id": client_id, "compare_model": compare_model})
    text = trimmed(text)
    limit = settings.MESSAGE_MAX_CHARS
    if not text:
        raise InvalidInputError("empty", _("text: the message is empty."), field="text")
    if len(text) > limit:
        raise InvalidInputError(
            "too_long",
            _("text: the message has %(size)s characters; at most %(limit)s are allowed.")
            % {"size": len(text), "limit": limit},
            field="text",
        )
    if not isinstance(client_id, str) or len(client_id) > CLIENT_ID_CHARS:
        raise InvalidInputError(
            "invalid", _("id: a string of at most %(limit)s characters.") % {"limit": CLIENT_ID_CHARS}, field="id"
        )
    if not isinstance(compare_model, str):
        raise InvalidInputError("invalid", _("compare_model: a string is needed."), field="compare_model")
    files = None if attachments is None else clean_attachments(attachments)
    return Message(text, client_id, files, compare_model)


def clean_attachments(ids: object) -> tuple[uuid.UUID, ...]:
    """Validate the ids of the files that a message names. Raises InvalidInputError."""
    most = settings.ATTACHMENTS_PER_MESSAGE
    try:
        if not isinstance(ids, Sequence) or isinstance(ids, str) or len(ids) > most:
            raise ValueError
        return tuple(dict.fromkeys(uuid.UUID(each) for each in ids))
    except (ValueError, TypeError, AttributeError):
        words = _("attachments: a list of at most %(most)s ids of attached files is needed.") % {"most": most}
        raise InvalidInputError("invalid", words, field="attachments") from None


def check_characters(form: Mapping[str, object]) -> None:
    """Raise InvalidInputError naming the first field whose text has NUL or a lone surrogate: databases refuse them."""
    for name, value in form.items():
        if isinstance(value, str) and storable(value) != value:
            field = storable(name)[:MAX_FIELD_CHARS]
            words = _("%(field)s: NUL characters and halves of surrogate pairs are not allowed.") % {"field": field}
            raise InvalidInputError("invalid", words, field=field)


def trimmed(text: str) -> str:
    """Return a text without what surrounds it. The indent of its first line stays: code would mean something else."""
    return _EMPTY_START.sub("", text).rstrip()


def storable(text: str) -> str:
    """Remove NUL and replace lone surrogates, which databases refuse."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode()
