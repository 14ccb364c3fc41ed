"""Exports of Claude: a list of messages, each with blocks (``content``) or, in old ones, a text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from chat.sharing.imports.conversation import (
    ExportedConversation,
    ExportedMessage,
    Side,
    as_dict,
    as_list,
    as_text,
    fence_code,
    join_paragraphs,
    one_line,
    time_of,
)

_ROOT = "00000000-0000-4000-8000-000000000000"
_SIDES: Mapping[str, Side] = {"human": "question", "assistant": "answer"}
# Tools whose calls are a document or code that somebody asked for, and the fields that have it.
_DOCUMENT_TOOLS = {"artifacts": ("content", "new_str"), "create_file": ("file_text",), "repl": ("code",)}
_LEFT_OUT = {"thinking": "thinking", "redacted_thinking": "thinking", "tool_use": "steps", "image": "pictures"}


def is_claude(form: Mapping[str, Any]) -> bool:
    return isinstance(form.get("chat_messages"), list)


def read_claude(form: Mapping[str, Any]) -> ExportedConversation:
    found = ExportedConversation(
        id=as_text(form.get("uuid")),
        title=as_text(form.get("name")),
        at=time_of(form.get("created_at")),
        current=as_text(form.get("current_leaf_message_uuid")) or None,
    )
    for number, message in enumerate(map(as_dict, form["chat_messages"])):
        parent = as_text(message.get("parent_message_uuid"))
        side = _SIDES.get(as_text(message.get("sender")), "unknown")
        text = join_paragraphs(*blocks(found, message), *notes_of_files(found, message))
        found.messages.append(
            ExportedMessage(
                key=as_text(message.get("uuid")) or f"#{number}",
                parent=None if parent == _ROOT else parent,
                side=side if side != "unknown" or text else "none",
                text=text,
                at=time_of(message.get("created_at")),
                model=as_text(message.get("model")) or as_text(form.get("model")),
            )
        )
    return found


def blocks(found: ExportedConversation, message: Mapping[str, Any]) -> Iterator[str]:
    content = [as_dict(block) for block in as_list(message.get("content"))]
    if text := as_text(message.get("content")):
        content = [{"text": text}]
    if not any(as_text(block.get("text")) for block in content):
        yield as_text(message.get("text"))
    for block in content:
        kind, tool, given = as_text(block.get("type")), as_text(block.get("name")), as_dict(block.get("input"))
        document = next((text for name in _DOCUMENT_TOOLS.get(tool, ()) if (text := as_text(given.get(name)))), "")
        if text := as_text(block.get("text")):
            for _citation in as_list(block.get("citations")):
                found.leave_out("citations")
            yield text
        elif kind == "tool_use" and document:
            title = as_text(given.get("title"))
            yield join_paragraphs(f"**{title}**" if title else "", fence_code(document, as_text(given.get("language"))))
        elif kind in _LEFT_OUT:
            yield found.leave_out(_LEFT_OUT[kind])


def notes_of_files(found: ExportedConversation, message: Mapping[str, Any]) -> Iterator[str]:
    for file in map(as_dict, (*as_list(message.get("attachments")), *as_list(message.get("files")))):
        if file and (text := as_text(file.get("extracted_content"))):  # what was pasted is a file there
            name = one_line(as_text(file.get("file_name")))
            yield join_paragraphs(f"**{name}**" if name else "", fence_code(text))
        elif file:
            is_picture = file.get("file_kind") == "image"
            yield found.leave_out("pictures" if is_picture else "files", file.get("file_name"))
