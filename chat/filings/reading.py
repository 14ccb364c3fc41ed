"""A file to facts and located blocks: what ingestion stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from django.utils.translation import gettext as _

from chat.filings.facts import Facts, filing_facts
from chat.filings.html import html_blocks, parse_html
from chat.filings.plaintext import text_blocks
from chat.filings.sections import Block, is_markup, located, raw_blocks
from chat.filings.submission import MAX_BYTES, DocumentError, Submission, decode, read_submission


@dataclass(frozen=True, slots=True)
class Document:
    """What a file says: its facts, and its blocks in reading order."""

    facts: Facts
    blocks: tuple[Block, ...]


def read_bounded(path: Path) -> bytes:
    """Return a file's bytes. Raises DocumentError where it is larger than the limit, before reading it."""
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise DocumentError(
            _("larger than the limit of %(limit)d MB (%(size).1f MB)")
            % {"limit": MAX_BYTES // 1024**2, "size": size / 1024**2}
        )
    return path.read_bytes()


def read_document(content: bytes | str, *, name: str) -> Document:
    """Read one file. Raises DocumentError where it is too large, no text, plain text of another kind, or empty."""
    submission = read_submission(decode(content))
    main = submission.documents[0]
    root = parse_html(main.text) if is_markup(main.text) else None
    raw = text_blocks(main.text) if root is None else html_blocks(root)
    facts = filing_facts(submission, root, raw, name=name)
    blocks = located(raw, facts.form)
    if root is None and not _is_filing(submission, facts, blocks):
        raise DocumentError(_("not a filing: it has no SEC header, no form type and no Item"))
    for exhibit in submission.documents[1:]:
        blocks.extend(located(raw_blocks(exhibit.text), exhibit.type))
    if not any(char.isalnum() for block in blocks for char in block.text):
        raise DocumentError(_("no text was found in it"))
    return Document(facts, tuple(blocks))


def _is_filing(submission: Submission, facts: Facts, blocks: Sequence[Block]) -> bool:
    """Say whether anything marks a text as a filing: its envelope, the name of a form, or Items."""
    has_envelope = bool(submission.accession or submission.company or submission.documents[0].type)
    return has_envelope or bool(facts.form) or any(block.section != "Document" for block in blocks)
