"""Attached texts as passages that can be searched, cited and opened, as those of filings are."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from django.urls import reverse

from chat.eventlog import attachments
from chat.files.blocks import PAGE_BREAK
from chat.models.passages import search_terms
from chat.search.passage_text import LONGEST_CHARS, TARGET_CHARS
from chat.search.ranking import Relevance
from chat.search.search_text import query_terms
from reasoning.citations import Source

MAX_FOUND = 4  # of one search
SEARCHED_CHARS = 2_000_000  # the newest texts; each search reads and decrypts them


class TextPassage(NamedTuple):
    """A run of paragraphs of one page. ``number`` counts passages of the file; ``page`` is 0 where there is one."""

    number: int
    page: int
    text: str

    @property
    def fragment(self) -> str:
        return f"text-p{self.number}"


class AttachedText(NamedTuple):
    """An attached text: its file's name, the address of its page, and the text."""

    name: str
    url: str
    text: str


def passages_of(text: str) -> list[TextPassage]:
    """Return a text as passages, in order."""
    pages = text.split(PAGE_BREAK)
    runs = [(page, run) for page, content in enumerate(pages, start=1) for run in runs_of(content)]
    return [TextPassage(at, page if len(pages) > 1 else 0, run) for at, (page, run) in enumerate(runs, start=1)]


def runs_of(text: str) -> Iterator[str]:
    """Yield runs of lines of about TARGET_CHARS characters, split between paragraphs where it can be."""
    start = 0
    while start < len(text):
        end = min(start + LONGEST_CHARS, len(text))
        if end < len(text):
            # not at the start itself: a run has at least one character
            breaks = [found.start() for found in re.finditer(r"(?!^)\n\s*\n", text[start:end])]
            breaks = breaks or [found.start() for found in re.finditer(r"(?!^)\n", text[start:end])]
            breaks = breaks or [found.end() for found in re.finditer(r"[.!?]\s|\s(?=\S*$)", text[start:end])]
            # a break near the start would leave a heading without its text
            end = start + min(breaks or [LONGEST_CHARS], key=lambda place: (place < 200, abs(place - TARGET_CHARS)))
        if run := text[start:end].strip():
            yield run
        start = end


def texts_of(conversation_id: uuid.UUID) -> list[AttachedText]:
    """Return the texts that are attached to questions of the selected branch."""
    files = attachments.on_branch(conversation_id)
    texts = attachments.texts_of(attachments.fitting(files, SEARCHED_CHARS, lambda file: file.chars))
    return [
        AttachedText(file.name, reverse("chat:attachment", args=[conversation_id, uuid.UUID(file.id)]), texts[file.id])
        for file in files
        if file.id in texts
    ]


def search(texts: Sequence[AttachedText], query: str) -> tuple[Source, ...]:
    """Return the passages that share words with a query, best first."""
    terms = query_terms(search_terms(query))
    if not terms:
        return ()
    relevance = Relevance(terms)
    scored = [
        (-score, place, passage.number, found_passage(one, passage))
        for place, one in enumerate(texts)
        for passage in passages_of(one.text)
        if (score := relevance.of(passage.text))
    ]
    return tuple(found for *_rank, found in sorted(scored, key=lambda each: each[:3])[:MAX_FOUND])


def read(texts: Sequence[AttachedText], url: str, neighbours: int) -> tuple[Source, ...]:
    """Return the passage at an address, with as many neighbours on each side; none if no text has it."""
    address, _, fragment = unquote(url).strip().partition("#")
    for one in texts:
        if not address.endswith(one.url):  # models return addresses with a host
            continue
        found = passages_of(one.text)
        at = next((place for place, passage in enumerate(found) if passage.fragment == fragment), None)
        if at is not None:
            return tuple(found_passage(one, each) for each in found[max(0, at - neighbours) : at + neighbours + 1])
    return ()


def found_passage(one: AttachedText, passage: TextPassage) -> Source:
    return Source(
        ref=0,
        kind="attachment",
        title=one.name,
        publisher="",
        date=None,
        period=None,
        section=f"page {passage.page}" if passage.page else "",
        page=passage.page or None,
        anchor=f"#{passage.fragment}",
        url=f"{one.url}#{passage.fragment}",
        text=passage.text,
        snippet="",  # the trace is stored readable, and shows no more of a file than its name
    )
