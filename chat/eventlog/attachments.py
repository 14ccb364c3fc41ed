"""Attached files: stored encrypted, claimed by a message, and decrypted for a request or for their owner."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from django.db.models import QuerySet
from django.utils import timezone

from chat.eventlog import encryption
from chat.models import Attachment, Conversation, Event, QueuedMessage, Turn
from reasoning.events import AttachedFile, UserMessage, attached_file
from reasoning.events import Event as CanonicalEvent

# Of one request; older files are only named.
SENT_IMAGE_BYTES, SENT_TEXT_CHARS = 20_000_000, 4_000_000
READ_FILES = 1_000  # also of tiny ones: each is decrypted


class UnknownAttachmentError(Exception):
    """A message names a file that its conversation doesn't have."""


def store(
    conversation: Conversation,
    *,
    name: str,
    media_type: str,
    content: bytes,
    text: str | None,
    is_cut: bool,
    encoding: str = "",
) -> Attachment:
    """Store a file that belongs to no message yet. ``text``: what requests have of it; None for an image."""
    return Attachment.objects.create(
        conversation=conversation,
        name=name,
        media_type=media_type,
        size=len(content),
        chars=len(text or ""),
        is_cut=is_cut,
        encoding=encoding,
        sealed_content=encryption.encrypt_bytes(content),
        sealed_text=None if text is None else encryption.encrypt(text),
    )


def change_text(attachment: Attachment, *, text: str, is_cut: bool, encoding: str) -> None:
    """Store another reading of a text file, which later requests have."""
    attachment.chars, attachment.is_cut, attachment.encoding = len(text), is_cut, encoding
    attachment.sealed_text = encryption.encrypt(text)
    attachment.save(update_fields=["chars", "is_cut", "encoding", "sealed_text"])


def content_of(attachment: Attachment) -> bytes:
    """Return the bytes that were uploaded."""
    return encryption.decrypt_bytes(attachment.sealed_content)


def text_of(attachment: Attachment) -> str:
    """Return the text that requests have; empty for an image."""
    return str(encryption.decrypt(attachment.sealed_text)) if attachment.sealed_text is not None else ""


def all_files(conversation: Conversation) -> QuerySet[Attachment]:
    """Return the files of a conversation without their contents, also those of deleted messages."""
    return Attachment.objects.filter(conversation=conversation).defer("sealed_content", "sealed_text")


def attachments_of(conversation: Conversation) -> QuerySet[Attachment]:
    """Return the files of a conversation without their contents; none that only deleted messages have."""
    found = all_files(conversation)
    asked = Event.objects.filter(conversation=conversation, type=UserMessage.type)
    lists = asked.filter(turn__deleted_at__isnull=False).values_list("public__attachments", flat=True)
    deleted = {file["id"] for files in lists for file in files or ()}
    if not deleted:
        return found
    lists = asked.filter(turn__deleted_at=None).values_list("public__attachments", flat=True)
    queued = QueuedMessage.objects.filter(conversation=conversation).values_list("attachments", flat=True)
    used = {file["id"] for files in (*lists, *queued) for file in files or ()}
    return found.exclude(pk__in=deleted - used)


def claim(conversation: Conversation, ids: Collection[uuid.UUID]) -> tuple[AttachedFile, ...]:
    """Mark these files of a locked conversation as sent, and return them in this order.

    Raises UnknownAttachmentError.
    """
    if not ids:
        return ()
    found = attachments_of(conversation).in_bulk(ids)
    if len(found) < len(set(ids)):
        raise UnknownAttachmentError
    Attachment.objects.filter(pk__in=found, sent_at=None).update(sent_at=timezone.now())
    return tuple(to_attached_file(found[pk]) for pk in ids)


def discard(message: QueuedMessage) -> None:
    """Delete the files of a queued message that is not sent, unless another message has them too."""
    delete_unused(message.conversation_id, [file["id"] for file in message.attachments], besides=message)


def delete_unused(conversation_id: uuid.UUID, ids: Sequence[str], *, besides: QueuedMessage | None = None) -> None:
    """Delete those of these files that no message of the conversation has, besides one that is deleted."""
    if not ids:
        return
    queued = QueuedMessage.objects.filter(conversation=conversation_id).exclude(pk=besides.pk if besides else 0)
    asked = Event.objects.filter(conversation=conversation_id, type=UserMessage.type)
    lists = (*queued.values_list("attachments", flat=True), *asked.values_list("public__attachments", flat=True))
    used = {file["id"] for files in lists for file in files or ()}
    Attachment.objects.filter(conversation=conversation_id, pk__in=[each for each in ids if each not in used]).delete()


def unsent(conversation: Conversation) -> tuple[AttachedFile, ...]:
    """Return the files that wait for the next message, without their contents."""
    return tuple(map(to_attached_file, all_files(conversation).filter(sent_at=None)))


def to_attached_file(file: Attachment) -> AttachedFile:
    """Return a file as events have it."""
    return AttachedFile(
        id=file.pk.hex, name=file.name, media_type=file.media_type, size=file.size, chars=file.chars, cut=file.is_cut
    )


def attached_to(turn: Turn) -> tuple[AttachedFile, ...]:
    """Return the files of a turn's question, without their contents."""
    public = turn.events.filter(type=UserMessage.type).values_list("public", flat=True).get()
    return tuple(attached_file(form) for form in public.get("attachments", ()))


def on_branch(conversation_id: uuid.UUID) -> list[AttachedFile]:
    """Return the files of the selected branch, the newest first, each once, without their contents."""
    asked = Event.objects.filter(conversation=conversation_id, type=UserMessage.type, turn__is_active=True)
    rows = asked.order_by("-seq").values_list("public", flat=True)
    return list({form["id"]: attached_file(form) for public in rows for form in public.get("attachments", ())}.values())


def texts_of(ids: Collection[str]) -> dict[str, str]:
    """Return the texts of files by id; images and deleted files are left out."""
    return {id_: text for id_, (text, _is_cut) in readings_of(ids).items()}


def readings_of(ids: Collection[str]) -> dict[str, tuple[str, bool]]:
    """Return the texts of files by id, and whether each is only the beginning."""
    rows = Attachment.objects.filter(pk__in=ids, sealed_text__isnull=False).values_list("pk", "sealed_text", "is_cut")
    return {pk.hex: (str(encryption.decrypt(sealed or b"")), is_cut) for pk, sealed, is_cut in rows}


def load_contents(events: Sequence[CanonicalEvent], *, with_images: bool) -> tuple[CanonicalEvent, ...]:
    """Return events with the contents of their attached files, as far as the selected branch needs them.

    The newest texts, and ``with_images`` the newest images, as many as one request may have.
    """
    messages = [event for event in events if isinstance(event, UserMessage) and event.attachments and event.active]
    if not messages:
        return tuple(events)
    files = [file for message in reversed(messages) for file in message.attachments]
    newest_texts = fitting([file for file in files if not file.is_image], SENT_TEXT_CHARS, lambda file: file.chars)
    texts = readings_of(newest_texts)
    images = _images([file for file in files if file.is_image]) if with_images else {}

    def full(file: AttachedFile) -> AttachedFile:
        text, is_cut = texts.get(file.id, ("", file.cut))
        # a text may have been read again in another encoding since its question was asked
        chars = len(text) or file.chars
        return replace(file, text=text, chars=chars, cut=is_cut, data=images.get(file.id, ""))

    def with_contents(message: UserMessage) -> UserMessage:
        return replace(message, attachments=tuple(map(full, message.attachments)))

    by_seq = {message.seq: with_contents(message) for message in messages}
    return tuple(by_seq.get(event.seq, event) for event in events)


def fitting(newest_first: Sequence[AttachedFile], most: int, measure: Callable[[AttachedFile], int]) -> list[str]:
    """Return the ids of the newest files that have room together: a question is mostly about what came last."""
    newest_first = newest_first[:READ_FILES]
    totals = accumulate(map(measure, newest_first))
    return [file.id for file, total in zip(newest_first, totals, strict=True) if total <= most]


def _images(newest_first: Sequence[AttachedFile]) -> Mapping[str, str]:
    """Return images in base64 by id, as many of the newest as a request may have."""
    chosen = fitting(newest_first, SENT_IMAGE_BYTES, lambda file: file.size)
    rows = Attachment.objects.filter(pk__in=chosen).values_list("pk", "sealed_content")
    return {pk.hex: base64.b64encode(encryption.decrypt_bytes(sealed)).decode() for pk, sealed in rows}
