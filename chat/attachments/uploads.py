"""Accept a file that a person attaches: its name, size, type and number, with a refusal in words for each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from threading import Lock
from typing import TypeVar

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import F, Sum
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from accounts.access.attempts import AttemptLimit
from accounts.models import User
from chat.eventlog import attachments
from chat.files.encodings import ENCODINGS
from chat.files.extraction import (
    IMAGES,
    KINDS,
    TIME_LIMIT_S,
    FileText,
    is_read_apart,
    measured,
    media_type_of,
    text_in,
)
from chat.files.images import ImageFile, read_image
from chat.files.slots import file_slot
from chat.files.words import clean_name, problem_text, refused_type
from chat.models import Attachment, Conversation
from chat.processes import FILES, NoProcessError, RenderTimeoutError, run_in_process
from chat.validation import InvalidInputError

FIELD = "attachments"
ROW_BYTES = 4_096  # what a file counts at least, so that their number is bounded too
UNSENT_FOR = timedelta(days=1)
UPLOADS_ALLOWED = 100  # in five minutes
SLOW_ALLOWED = 3  # files of a user that took long and failed, in five minutes
TURN_WITHIN_S = 30.0
reading: defaultdict[int, Lock] = defaultdict(Lock)  # by user
slow_lane = Lock()  # users whose files took too long have one process together; the others stay free
Read = TypeVar("Read", FileText, ImageFile)


def accept(person: User, conversation: Conversation, upload: UploadedFile[bytes]) -> Attachment:
    """Store a file for the next message of this person's conversation. Raises InvalidInputError naming the file."""
    name = clean_name(upload.name or "")
    size, limit = upload.size or 0, settings.ATTACHMENT_MAX_BYTES
    if size > limit:
        words = _("%(name)s is too large: %(size)s; at most %(limit)s are allowed.")
        labels = filesizeformat(size), filesizeformat(limit)
        if labels[0] == labels[1]:
            labels = byte_count(size), byte_count(limit)
        raise refusal("too_large", words % {"name": name, "size": labels[0], "limit": labels[1]})
    if not AttemptLimit("attach", str(person.pk), allowed=UPLOADS_ALLOWED).take():
        raise too_many_uploads(name)
    require_room(person, conversation, name, size)
    # only now: size, number and quota are known without the content
    content = upload.read()
    media_type, encoding = media_type_of(name, content) if content else (None, "")
    if media_type not in {*KINDS, *IMAGES}:
        raise refusal("unsupported_type", refused_type(name, media_type, content, with_images=True))
    found: FileText | None = None
    if media_type in IMAGES:
        content = usable(in_turn(person, name, lambda: whole_image(content)), name).content
    else:
        found = read_text(person, name, media_type, content, encoding)
    # Not before: a file that takes long to read would hold up those of others.
    with file_slot(len(content)) as has_slot:
        if not has_slot:
            raise refusal("too_many_uploads", problem_text("busy", name))
        with transaction.atomic():
            User.objects.select_for_update().get(pk=person.pk)  # files that come at once count too
            require_room(person, conversation, name, len(content))
            return attachments.store(
                conversation,
                name=name,
                media_type=media_type,
                content=content,
                text=found.text if found else None,
                is_cut=found.is_cut if found else False,
                encoding=encoding,
            )


def read_again(person: User, attachment: Attachment, encoding: str) -> None:
    """Read a text file in the encoding that its owner has chosen. Raises InvalidInputError."""
    if not attachment.encoding or encoding not in ENCODINGS:
        raise refusal("invalid", _("encoding: choose one of the list."))
    content = attachments.content_of(attachment)
    found = read_text(person, attachment.name, attachment.media_type, content, encoding)
    attachments.change_text(attachment, text=found.text, is_cut=found.is_cut, encoding=encoding)


def require_room(person: User, conversation: Conversation, name: str, size: int) -> None:
    """Refuse a file for which its message or its owner has no room. Raises InvalidInputError."""
    if attachments.attachments_of(conversation).filter(sent_at=None).count() >= settings.ATTACHMENTS_PER_MESSAGE:
        words = _("%(name)s was not added: at most %(most)s files can be attached to a message.")
        raise refusal("too_many", words % {"name": name, "most": settings.ATTACHMENTS_PER_MESSAGE})
    if used_bytes(person) + size > settings.ATTACHMENT_QUOTA_BYTES:
        words = _("%(name)s was not added: your files would use more than %(limit)s. Delete chats that have some.")
        limit_label = filesizeformat(settings.ATTACHMENT_QUOTA_BYTES)
        raise refusal("quota", words % {"name": name, "limit": limit_label})


def read_text(person: User, name: str, media_type: str, content: bytes, encoding: str) -> FileText:
    """Return the text of a file that is no image. Raises InvalidInputError."""

    def read() -> FileText:
        return text_in(media_type, content, max_chars=settings.ATTACHMENT_TEXT_MAX_CHARS, encoding=encoding)

    found = in_turn(person, name, read) if is_read_apart(media_type) else read()
    return usable(found, name)


def in_turn(person: User, name: str, read: Callable[[], Read]) -> Read:
    """Read a file in a process, one of a user at a time: slow ones must not hold up those of others.

    Raises InvalidInputError.
    """
    slow = AttemptLimit("slow-file", str(person.pk), allowed=SLOW_ALLOWED)
    if slow.is_used_up():
        words = _("%(name)s was not added: your last files took too long to read. Try again in a few minutes.")
        raise refusal("too_many_uploads", words % {"name": name})
    lanes = (reading[person.pk], slow_lane) if slow.is_remembered() else (reading[person.pk],)
    with ExitStack() as held:
        for lane in lanes:
            if not lane.acquire(timeout=TURN_WITHIN_S):
                raise too_many_uploads(name)
            held.callback(lane.release)
        found = read()
    if found.is_costly:
        slow.take()
    return found


def usable(found: Read, name: str) -> Read:
    """Return what was read of a file. Raises InvalidInputError where it can't be used."""
    if found.problem:
        raise refusal(f"{found.problem}_file", problem_text(found.problem, name))
    return found


def byte_count(size: int) -> str:
    return _("%(count)s bytes") % {"count": number_format(size, force_grouping=True)}


def whole_image(content: bytes) -> ImageFile:
    """Return an image that could be decoded, without its metadata."""
    try:
        return run_in_process(partial(measured, read_image), content, pool=FILES, limit_s=TIME_LIMIT_S)
    except NoProcessError:
        return ImageFile(problem="busy")
    except RenderTimeoutError:
        return ImageFile(problem="slow", is_costly=True)


def too_many_uploads(name: str) -> InvalidInputError:
    words = _("%(name)s was not added: too many files in a short time. Try again in a few minutes.")
    return refusal("too_many_uploads", words % {"name": name})


def refusal(code: str, message: str) -> InvalidInputError:
    return InvalidInputError(code, message, field=FIELD)


def used_bytes(person: User) -> int:
    """Return how much of their quota a person's files use, those of deleted conversations until they are purged."""
    owned = Attachment.objects.filter(conversation__owner=person).order_by()
    return owned.aggregate(total=Sum(F("size") + ROW_BYTES))["total"] or 0


def purge_unsent() -> int:
    """Delete the files that were attached a day ago and never sent."""
    old = Attachment.objects.filter(sent_at=None, created_at__lt=timezone.now() - UNSENT_FOR)
    return old.delete()[0]
