"""E-mail (.eml): subject, people, date, text, and the names of attached files."""

from __future__ import annotations

import email
from collections.abc import Iterator
from email.policy import default

from chat.files.blocks import Block, Details, paragraphs
from chat.files.kinds import html

_SHOWN = ("From", "To", "Cc", "Date")


def read(content: bytes, details: Details) -> Iterator[Block]:
    message = email.message_from_bytes(content, policy=default)
    details.title = str(message["Subject"] or "")
    if details.title:
        yield Block(details.title, "heading", 1)
    if people := "\n".join(f"{name}: {message[name]}" for name in _SHOWN if message[name]):
        yield Block(people)
    body = message.get_body(preferencelist=("plain", "html"))
    if body is not None:
        text = str(body.get_content()).replace("\r\n", "\n")
        yield from html.read(text, Details()) if body.get_content_subtype() == "html" else paragraphs(text)
    names = [part.get_filename() or part.get_content_type() for part in message.iter_attachments()]
    if names:
        yield Block(f"Attachments: {', '.join(names)}")
