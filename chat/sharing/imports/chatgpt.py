"""Exports of ChatGPT: a tree of messages (``mapping``), of which tools, canvas and pictures are messages too."""

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
    link_to,
    one_line,
    parse_object,
    time_of,
)

# Messages that show nothing, by the type of their content.
_LEFT_OUT = {
    "thoughts": "thinking",
    "reasoning_recap": "thinking",
    "user_editable_context": "instructions",
    "model_editable_context": "instructions",
}
# Parts of a message that are no text, by their type.
_PARTS = {
    "image_asset_pointer": "pictures",
    "audio_asset_pointer": "recordings",
    "video_container_asset_pointer": "recordings",
    "real_time_user_audio_video_asset_pointer": "recordings",
}
# Tools whose calls are code that somebody asked for.
_CODE_TOOLS = {"python": "python", "python_user_visible": "python", "container.exec": "sh"}
_MAX_LINKS = 5  # of one citation


def is_chatgpt(form: Mapping[str, Any]) -> bool:
    return isinstance(form.get("mapping"), dict)


def read_chatgpt(form: Mapping[str, Any]) -> ExportedConversation:
    found = ExportedConversation(
        id=as_text(form.get("id")) or as_text(form.get("conversation_id")),
        title=as_text(form.get("title")),
        at=time_of(form.get("create_time")),
        current=as_text(form.get("current_node")) or None,
    )
    nodes = {key: as_dict(node) for key, node in form["mapping"].items()}
    parents = {as_text(child): key for key, node in nodes.items() for child in as_list(node.get("children"))}
    for key, node in nodes.items():
        message = read_message(found, key, as_dict(node.get("message")))
        # A node may have lost its parent; one that shows nothing begins the tree.
        message.parent = as_text(node.get("parent")) or parents.get(key) or (None if message.side == "none" else "")
        found.messages.append(message)
    return found


def read_message(found: ExportedConversation, key: str, message: Mapping[str, Any]) -> ExportedMessage:
    """Return one message, of which its parent is not known yet."""
    author, metadata = as_dict(message.get("author")), as_dict(message.get("metadata"))
    content = message.get("content")
    content = {"parts": [content]} if isinstance(content, str) else as_dict(content)
    role, side, text = as_text(author.get("role")), "none", ""
    if metadata.get("is_visually_hidden_from_conversation"):
        pass  # also there
    elif kind := _LEFT_OUT.get(as_text(content.get("content_type"))):
        found.leave_out(kind)
    elif role == "system":
        if join_paragraphs(*texts(found, content, {})):
            found.leave_out("instructions")
    elif role == "tool":
        text = read_tool(found, content, metadata)
        side = "answer" if text else "none"
    elif role == "user":
        side, text = (
            "question",
            join_paragraphs(*texts(found, content, metadata), *notes_of_files(found, content, metadata)),
        )
    elif (recipient := as_text(message.get("recipient")) or "all") != "all":
        text = read_call(found, recipient, content)
        side = "answer" if text else "none"
    elif role == "assistant":
        side, text = "answer", read_answer(found, content, metadata)
    elif text := join_paragraphs(*texts(found, content, metadata)):
        side = "unknown"
    known: Side = side  # type: ignore[assignment]
    model = as_text(metadata.get("model_slug"))
    return ExportedMessage(key, None, known, text, time_of(message.get("create_time")), model)


def texts(found: ExportedConversation, content: Mapping[str, Any], metadata: Mapping[str, Any]) -> Iterator[str]:
    """Yield the parts of a message: texts, transcriptions, and notes in the place of pictures."""
    names = file_names(metadata)
    parts = as_list(content.get("parts"))
    has_text = any(as_text(part) or as_text(as_dict(part).get("text")) for part in parts)
    for part in parts:
        form = as_dict(part)
        kind = _PARTS.get(as_text(form.get("content_type")), "other")
        if text := as_text(part) or as_text(form.get("text")):
            yield text
        elif form:
            pointer = as_text(form.get("asset_pointer")).rpartition("/")[2]
            note = found.leave_out(kind, names.get(pointer, ""))
            # A recording has a transcription beside it.
            yield note if kind == "pictures" or not has_text else ""
    if not parts and (text := as_text(content.get("text"))):
        yield fence_code(text, as_text(content.get("language"))) if content.get("content_type") == "code" else text


def file_names(metadata: Mapping[str, Any]) -> dict[str, str]:
    files = [as_dict(file) for file in as_list(metadata.get("attachments"))]
    return {as_text(file.get("id")): as_text(file.get("name")) for file in files}


def notes_of_files(
    found: ExportedConversation, content: Mapping[str, Any], metadata: Mapping[str, Any]
) -> Iterator[str]:
    """Yield a note for each attached file that is no part of the message."""
    pointers = [as_text(as_dict(part).get("asset_pointer")) for part in as_list(content.get("parts"))]
    shown = {pointer.rpartition("/")[2] for pointer in pointers}
    for file in map(as_dict, as_list(metadata.get("attachments"))):
        if file and not (file.get("id") and as_text(file["id"]) in shown):
            is_picture = as_text(file.get("mime_type")).startswith("image/")
            yield found.leave_out("pictures" if is_picture else "files", file.get("name"))


def read_answer(found: ExportedConversation, content: Mapping[str, Any], metadata: Mapping[str, Any]) -> str:
    """Return a text of the model, its citations as links where their addresses are known."""
    parts = list(texts(found, content, metadata))
    links: dict[str, str] = {}
    for citation in map(as_dict, as_list(metadata.get("citations"))):
        begin, end, source = citation.get("start_ix"), citation.get("end_ix"), as_dict(citation.get("metadata"))
        if parts and isinstance(begin, int) and isinstance(end, int) and 0 <= begin < end <= begin + 4_000:
            name = source.get("title") or source.get("name")
            links[parts[0][begin:end].strip()] = in_brackets([link_to(name, source.get("url"))])
    for reference in map(as_dict, as_list(metadata.get("content_references"))):
        sources = [reference, *map(as_dict, as_list(reference.get("items")))]
        named = [link_to(one.get("title") or one.get("name"), one.get("url")) for one in sources if one.get("url")]
        if not named and reference.get("type") == "file":
            named = [one_line(as_text(reference.get("name")))]
        links[as_text(reference.get("matched_text")).strip()] = in_brackets(named)
    return join_paragraphs(*(found.with_links(part, links) for part in parts)).strip()


def in_brackets(links: list[str]) -> str:
    named = ", ".join(dict.fromkeys(link for link in links[:_MAX_LINKS] if link))
    return f"({named})" if named else ""


def read_call(found: ExportedConversation, recipient: str, content: Mapping[str, Any]) -> str:
    """Return what the model gave to a tool, where it is part of the answer: a document or code."""
    text = as_text(content.get("text")) or join_paragraphs(*map(as_text, as_list(content.get("parts"))))
    if recipient.partition(".")[0] == "canmore":
        return read_canvas(text)
    if recipient in _CODE_TOOLS:
        return fence_code(text, _CODE_TOOLS[recipient])
    found.leave_out("steps")
    return ""


def read_canvas(text: str) -> str:
    """Return a document of the canvas, or what was changed or remarked in it."""
    form = parse_object(text)
    kind, name = as_text(form.get("type")), one_line(as_text(form.get("name")))
    language = kind.partition("/")[2] or "markdown"
    title = f"**{name}**" if name else ""
    updates = [as_text(as_dict(update).get("replacement")) for update in as_list(form.get("updates"))]
    comments = [as_text(as_dict(comment).get("comment")) for comment in as_list(form.get("comments"))]
    documents = [fence_code(document, language) for document in (as_text(form.get("content")), *updates)]
    found = join_paragraphs(title, *documents, "\n".join(f"- {one_line(comment)}" for comment in comments if comment))
    return found or fence_code(text)


def read_tool(found: ExportedConversation, content: Mapping[str, Any], metadata: Mapping[str, Any]) -> str:
    """Return notes in the place of the pictures that a tool made; its words are for the model alone."""
    parts = [as_dict(part) for part in as_list(content.get("parts"))]
    drawn = as_list(as_dict(metadata.get("aggregate_result")).get("messages"))
    pictures = [part for part in parts if part.get("content_type") == "image_asset_pointer"]
    pictures += [one for one in map(as_dict, drawn) if one.get("message_type") == "image"]
    if not pictures:
        found.leave_out("steps")
    return join_paragraphs(*(found.leave_out("pictures") for _picture in pictures))
