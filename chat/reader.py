"""A filing as the reader page shows it: its sections, and in each the passages without what its own title says.

A section's heading stands in its first passage too, in the document's words and often over several lines; on the page
it stands once, above.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from django.utils.text import slugify

from chat.filings.items import item_heading, part_of
from chat.models import Filing, Passage

_MOST_TITLE_LINES = 4


@dataclass(frozen=True, slots=True)
class ReaderPassage:
    """One passage for the reader. ``heading`` is the one that it stands under; where it is new it is in the text."""

    anchor: str
    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class Section:
    """One section of a filing for the reader. ``slug`` is its id on the page."""

    slug: str
    name: str
    title: str
    passages: tuple[ReaderPassage, ...]


def sections_of(filing: Filing) -> tuple[Section, ...]:
    """Return a filing's passages by section, in its own order. A section that is taken up again comes again."""
    sections: list[Section] = []
    found = filing.passages.order_by("ordinal")
    for (name, title), group in groupby(found, key=lambda passage: (passage.section, passage.section_title)):
        before = sum(section.name == name for section in sections)
        slug = f"{slugify(name)}-{before + 1}" if before else slugify(name)
        passages = tuple(_reader_passage(passage, filing.form) for passage in group)
        sections.append(Section(slug, name, title, passages))
    return tuple(sections)


def _reader_passage(passage: Passage, form: str) -> ReaderPassage:
    text = without_title(passage.text, passage.section, passage.section_title, form=form)
    return ReaderPassage(passage.anchor, passage.heading, text)


def without_title(text: str, name: str, title: str, *, form: str) -> str:
    """Return a passage's text without the lines at its beginning that say the section's name and title."""
    item = name.rpartition(", ")[2]
    said = {_folded(words) for words in (name, title, item, f"{name}{title}", f"{item}{title}")} - {""}
    lines = text.split("\n")
    kept, at = [], 0
    while at < len(lines):
        if count := _title_lines(lines[at:], said) or _other_title_lines(lines[at:], item, form):
            at += count
        elif lines[at] and part_of(lines[at]):
            kept.extend([] if item != name else [lines[at]])
            at += 1
        else:
            break
    return "\n".join([*kept, *lines[at:]]).strip("\n")


def _title_lines(lines: Sequence[str], said: Iterable[str]) -> int:
    """Return how many lines say the name or the title, joined as they stand; 0 where they say something else."""
    if not lines[0]:
        return 1
    words = ""
    for count, line in enumerate(lines[:_MOST_TITLE_LINES], start=1):
        words += _folded(line)
        if words in said:
            return count
        if not line or not any(one.startswith(words) for one in said):
            return 0
    return 0


def _other_title_lines(lines: Sequence[str], item: str, form: str) -> int:
    """A heading of the same Item whose words are not those of the contents. One that text follows at once is none."""
    heading = item_heading(" ".join(_fields(lines[0])), form)
    if heading is None or heading.is_run_in or heading.key.section.rpartition(", ")[2] != item:
        return 0
    return int(len(lines) > 1 and bool(lines[1]))


def _fields(line: str) -> Iterator[str]:
    return (field.strip() for field in line.split(" | "))


def _folded(words: str) -> str:
    return "".join(letter for letter in words.casefold() if letter.isalnum())
