"""Exports of LibreChat: messages in a list that names parents, or each with its children."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from chat.sharing.imports.conversation import (
    ExportedConversation,
    ExportedMessage,
    as_dict,
    as_list,
    as_text,
    join_paragraphs,
    time_of,
)

_ROOT = "00000000-0000-0000-0000-000000000000"
_THINKING = re.compile(r"\A\s*:::thinking\n.*?\n:::[ \t]*\n*", re.DOTALL)
_LEFT_OUT = {
    "think": "thinking",
    "tool_call": "steps",
    "image_file": "pictures",
    "image_url": "pictures",
    "input_audio": "recordings",
}


def is_librechat(form: Mapping[str, Any]) -> bool:
    if isinstance(form.get("messagesTree"), list):
        return True
    messages = [as_dict(message) for message in as_list(form.get("messages"))]
    return any("isCreatedByUser" in message or "messageId" in message for message in messages)


def read_librechat(form: Mapping[str, Any]) -> ExportedConversation:
    title = as_text(form.get("title"))
    at = time_of(form.get("createdAt"))
    found = ExportedConversation(id=as_text(form.get("conversationId")), title=title, at=at)
    options = as_dict(form.get("options"))
    listed = as_list(form.get("messagesTree")) or as_list(form.get("messages"))
    # Read in the order of the file, without recursion: a long conversation is nested as deeply.
    open_messages = [(message, _ROOT) for message in reversed(listed)]
    while open_messages:
        message, above = as_dict((top := open_messages.pop())[0]), top[1]
        key = as_text(message.get("messageId")) or f"#{len(found.messages)}"
        # Its place counts where it is nested; in a list its parent, and what is before it where it names none.
        parent = as_text(message.get("parentMessageId")) if above == _ROOT else above
        text = join_paragraphs(*parts(found, message), *notes_of_files(found, message)).strip()
        is_users = message.get("isCreatedByUser")
        if not isinstance(is_users, bool):
            is_users = as_text(message.get("sender")).lower() == "user"
        found.messages.append(
            ExportedMessage(
                key=key,
                parent=None if parent == _ROOT else parent,
                side="question" if is_users else "answer",
                text=text if is_users else found.with_links(text),
                at=time_of(message.get("createdAt")),
                model="" if is_users else as_text(message.get("model")) or as_text(options.get("model")),
                status="errored" if message.get("error") is True else "completed",
            )
        )
        open_messages += [(child, key) for child in reversed(as_list(message.get("children")))]
    return found


def parts(found: ExportedConversation, message: Mapping[str, Any]) -> Iterator[str]:
    content = [as_dict(part) for part in as_list(message.get("content"))]
    if not any(as_text(part.get("text")) or as_dict(part.get("text")) for part in content):
        text, thoughts = _THINKING.subn("", as_text(message.get("text")))
        found.left_out["thinking"] += thoughts
        yield text
    for part in content:
        text = as_text(part.get("text")) or as_text(as_dict(part.get("text")).get("value"))
        kind = as_text(part.get("type"))
        yield text or (found.leave_out(_LEFT_OUT[kind]) if kind in _LEFT_OUT else as_text(part.get("error")))


def notes_of_files(found: ExportedConversation, message: Mapping[str, Any]) -> Iterator[str]:
    for file in map(as_dict, (*as_list(message.get("files")), *as_list(message.get("attachments")))):
        if file.get("filename"):  # results of a search are attachments too
            is_picture = as_text(file.get("type")).startswith("image/")
            yield found.leave_out("pictures" if is_picture else "files", file["filename"])
