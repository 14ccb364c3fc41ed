"""Exports of Open WebUI: a tree of messages in ``chat.history``, in old ones a list in ``chat.messages``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from chat.sharing.imports.conversation import (
    ExportedConversation,
    ExportedMessage,
    Side,
    as_dict,
    as_list,
    as_text,
    join_paragraphs,
    time_of,
)

_SIDES: Mapping[str, Side] = {"user": "question", "assistant": "answer", "system": "none"}
# Thoughts and calls of tools are in the text, as elements with a type.
_DETAILS = re.compile(r"<details\b([^<>]*)>|</details>\s*", re.IGNORECASE)
_TYPE = re.compile(r'\btype="(\w+)"')
_SUMMARY = re.compile(r"\A\s*<summary>[^<]*</summary>\s*")
_LEFT_OUT = {"reasoning": "thinking", "tool_calls": "steps"}


def is_open_webui(form: Mapping[str, Any]) -> bool:
    chat = as_dict(form.get("chat", form))
    is_list = "chat" in form and isinstance(chat.get("messages"), list)
    return is_list or isinstance(as_dict(chat.get("history")).get("messages"), dict)


def read_open_webui(form: Mapping[str, Any]) -> ExportedConversation:
    chat = as_dict(form.get("chat", form))
    history = as_dict(chat.get("history"))
    found = ExportedConversation(
        id=as_text(form.get("id")) or as_text(chat.get("id")),
        title=as_text(form.get("title")) or as_text(chat.get("title")),
        at=time_of(form.get("created_at")),
        current=as_text(history.get("currentId")) or None,
    )
    tree = as_dict(history.get("messages"))
    messages = tree or {f"#{number}": one for number, one in enumerate(as_list(chat.get("messages")))}
    for key, value in messages.items():
        message = as_dict(value)
        side = _SIDES.get(as_text(message.get("role")), "unknown")
        text = join_paragraphs(*parts(found, message), *notes_of_files(found, message))
        if side == "none" and text:
            found.leave_out("instructions")
        if side == "answer":
            text = found.with_links(without_details(found, text))
            for _source in as_list(message.get("sources")) or as_list(message.get("citations")):
                found.leave_out("citations")
        # A first message says that it has no parent; one that says nothing follows the one before it.
        parent = None if tree and message.get("parentId", "") is None else as_text(message.get("parentId"))
        found.messages.append(
            ExportedMessage(
                key=key if tree else as_text(message.get("id")) or key,
                parent=parent,
                side=side if side != "unknown" or text else "none",
                text=text.strip(),
                at=time_of(message.get("timestamp")),
                model=as_text(message.get("model")),
                status="errored" if message.get("error") else "completed",
            )
        )
    return found


def parts(found: ExportedConversation, message: Mapping[str, Any]) -> Iterator[str]:
    content = message.get("content")
    for part in content if isinstance(content, list) else [{"text": content}]:
        form = as_dict(part)
        yield as_text(form.get("text")) or (found.leave_out("pictures") if form.get("type") == "image_url" else "")


def notes_of_files(found: ExportedConversation, message: Mapping[str, Any]) -> Iterator[str]:
    for file in map(as_dict, as_list(message.get("files"))):
        if file:
            yield found.leave_out("pictures" if file.get("type") == "image" else "files", file.get("name"))


def without_details(found: ExportedConversation, text: str) -> str:
    """Return an answer without its thoughts and the calls of tools; what is not closed stays."""
    kept, at, depth, kind, begin = [], 0, 0, "", 0
    for match in _DETAILS.finditer(text):
        if not match[0].startswith("</"):
            found_type = _TYPE.search(match[1])
            if depth == 0 and found_type:
                kind, begin, depth = found_type[1], match.start(), 1
                inside = match.end()
            elif depth:
                depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                kept.append(text[at:begin])
                if kind in _LEFT_OUT:
                    found.leave_out(_LEFT_OUT[kind])
                else:  # code that was run
                    kept.append(_SUMMARY.sub("", text[inside : match.start()]))
                at = match.end()
    return "".join([*kept, text[at:]])
