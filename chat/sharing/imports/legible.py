"""Exports of this product: questions, and answers as the API has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chat.sharing.imports.conversation import (
    ExportedConversation,
    ExportedMessage,
    as_dict,
    as_list,
    as_text,
    join_paragraphs,
    parsed_uuid,
    time_of,
)
from reasoning.events import TurnStatus

# Any other status of an export is a completed answer.
_STATUS: Mapping[str, TurnStatus] = {"stopped": "aborted", "error": "errored", "interrupted": "interrupted"}
_LEFT_OUT = {"citations": "citations", "toolTrace": "steps"}


def is_legible(form: Mapping[str, Any]) -> bool:
    messages = [as_dict(message) for message in as_list(form.get("messages"))]
    return any(message.get("role") in ("user", "assistant") for message in messages)


def read_legible(form: Mapping[str, Any]) -> ExportedConversation:
    found = ExportedConversation(id=as_text(form.get("id")), title=as_text(form.get("title")))
    for number, message in enumerate(map(as_dict, form["messages"])):
        is_answer = message.get("role") == "assistant"
        if not is_answer and message.get("role") != "user":
            continue
        if is_answer:
            found.first_answer = found.first_answer or parsed_uuid(message.get("id"))
            for name, kind in _LEFT_OUT.items():
                found.left_out[kind] += len(as_list(message.get(name)))
            if message.get("thinking"):
                found.leave_out("thinking")
        # Other programs write lists of messages too, with ``content`` as model services have it.
        said = as_text(message.get("answer" if is_answer else "text")) or as_text(message.get("content"))
        files = [found.leave_out("files", as_dict(file).get("name")) for file in as_list(message.get("attachments"))]
        found.messages.append(
            ExportedMessage(
                key=f"#{number}",
                parent="",
                side="answer" if is_answer else "question",
                text=said if is_answer else join_paragraphs(said, *files),
                at=time_of(message.get("at")),
                model=as_text(message.get("model")),
                status=_STATUS.get(as_text(message.get("status")), "completed"),
            )
        )
    return found
