"""E-mail (.eml): subject, people, date, text, and the names of attached files."""

from __future__ import annotations

import email
from collections.abc import Iterator
from email.message import EmailMessage, MIMEPart
from email.policy import default

from chat.files.blocks import Block, Details, paragraphs
from chat.files.encodings import UTF_8, decode, detect_encoding
from chat.files.kinds import html

_SHOWN = ("From", "To", "Cc", "Date")


def read(content: bytes, details: Details) -> Iterator[Block]:
    message = email.message_from_bytes(content, policy=default)
    details.title = header_of(message, "Subject")
    if details.title:
        yield Block(details.title, "heading", 1)
    if people := "\n".join(f"{name}: {value}" for name in _SHOWN if (value := header_of(message, name))):
        yield Block(people)
    bodies = [message.get_body(preferencelist=(kind,)) for kind in ("plain", "html")]
    texts = [(body.get_content_subtype(), text_of(body)) for body in bodies if body is not None]
    # The plain version may be empty; a picture may divide a text into parts.
    texts = [(kind, text) for kind, text in texts if text.strip()][:1]
    names = []
    for part in message.iter_attachments():
        if part.get_content_type() == "text/plain" and not part.get_filename():
            texts.append(("plain", text_of(part)))
        else:
            names.append(part.get_filename() or part.get_content_type())
    for kind, text in texts:
        yield from html.read(text, Details()) if kind == "html" else paragraphs(text)
    if names:
        yield Block(f"Attachments: {', '.join(names)}")


def header_of(message: EmailMessage, name: str) -> str:
    """Return a header; its raw text where it is so broken that the library raises anything."""
    try:
        return str(message[name] or "")
    except Exception:  # noqa: BLE001 - IndexError of an open quotation mark, AttributeError of a lone colon, and others
        return next(str(value) for header, value in message.raw_items() if header.lower() == name.lower())


def text_of(part: MIMEPart) -> str:
    """Return the text of a part, in the encoding that it names; where that doesn't fit, in the one of its bytes."""
    content = part.get_payload(decode=True)
    if not isinstance(content, bytes):
        return ""
    try:
        text = content.decode(part.get_content_charset(UTF_8))
    except (UnicodeError, LookupError):
        text = decode(content, detect_encoding(content) or UTF_8) or content.decode(UTF_8, "replace")
    return text.replace("\r\n", "\n")
