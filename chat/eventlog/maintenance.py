"""Purge old thinking, rotate keys, and read all private payloads for the storage audit."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from cryptography.fernet import InvalidToken

from chat.eventlog import encryption
from chat.models import Attachment, Checkpoint, Document, Event, McpServer, PagePicture, Share, StoredCard, Turn
from reasoning import redact_trace
from reasoning.events import AssistantMessage, Reasoning, UserMessage
from reasoning.trace import step_from_json, summary_from_trace


def purge_thinking(before: datetime) -> int:
    """Delete the private payload of thinking recorded before a moment; return how many. Product 3.

    The events stay, so order and counts do; at replay a purged one has nothing to send.
    """
    old = Event.objects.filter(type=Reasoning.type, created_at__lt=before, sealed__isnull=False)
    # Less is sent to the model now: the next request is counted again.
    StoredCard.objects.filter(turn__conversation__in=old.values("conversation")).update(context_key="")
    return old.update(sealed=None)


def redact_traces(turn: Turn) -> int:
    """Redact a turn's stored trace steps by today's rules; return how many changed. Redacting twice changes nothing.

    A summary that was built from steps which change is built again.
    """
    changed = 0
    for event in turn.events.filter(public__has_key="trace"):
        step = redact_trace([event.public["trace"]])[0]
        if step != event.public["trace"]:
            changed += Event.objects.filter(pk=event.pk).update(public={**event.public, "trace": step})
    if changed and turn.summary_source == "trace":
        traces = turn.events.filter(public__has_key="trace").order_by("seq").values_list("public__trace", flat=True)
        summary = summary_from_trace(tuple(map(step_from_json, traces)))
        for event in turn.events.filter(type=AssistantMessage.type).exclude(public__summary=[]):
            Event.objects.filter(pk=event.pk).update(public={**event.public, "summary": list(summary)})
    return changed


def decrypted_payloads(turn_id: uuid.UUID) -> Iterator[tuple[str, Any]]:
    """Yield event type and private payload of a turn's events, then of its checkpoint and files. For the audit only.

    A payload that no key decrypts is None.
    """
    events = Event.objects.filter(turn=turn_id, sealed__isnull=False).order_by("seq").values_list("type", "sealed")
    checkpoint = Checkpoint.objects.filter(turn=turn_id, sealed__isnull=False).values_list("sealed", flat=True)
    for kind, token in (*events, *(("checkpoint", token) for token in checkpoint)):
        yield kind, encryption.decrypt_if_possible(token or b"")
    asked = Event.objects.filter(turn=turn_id, type=UserMessage.type).values_list("public", flat=True)
    ids = [file["id"] for public in asked for file in public.get("attachments", ())]
    for token in Attachment.objects.filter(pk__in=ids, sealed_text__isnull=False).values_list("sealed_text", flat=True):
        yield UserMessage.type, encryption.decrypt_if_possible(token or b"")


def rotate_keys() -> tuple[int, int]:
    """Encrypt everything again under the newest key. Safe to repeat and to interrupt.

    Returns how many payloads, and how many no key decrypts: they are left as they are.
    """
    count = unreadable = 0
    for model, column in (
        (Event, "sealed"),
        (Checkpoint, "sealed"),
        (Share, "sealed_token"),
        (Attachment, "sealed_text"),
        (Attachment, "sealed_content"),
        (Document, "sealed_content"),
        (PagePicture, "sealed"),
        (McpServer, "sealed"),
        (Turn, "sealed_answers"),
    ):
        rows = model._default_manager.filter(**{f"{column}__isnull": False}).values_list("pk", column)
        for key, sealed in rows.iterator(chunk_size=10):  # attached files have megabytes
            try:
                rotated = encryption.rotate(sealed)
            except InvalidToken:
                unreadable += 1
                continue
            # A running turn may have stored a newer checkpoint meanwhile, which must stay.
            unchanged = model._default_manager.filter(**{"pk": key, column: sealed})
            count += unchanged.update(**{column: rotated})
    return count, unreadable
