"""PowerPoint presentations (.pptx): a slide is a page, its title a heading, its notes come last."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any

from pptx import Presentation

from chat.files.blocks import Block, Details, row
from chat.files.kinds.archive import transitional


def read(content: bytes, details: Details) -> Iterator[Block]:
    presentation = Presentation(io.BytesIO(transitional(content)))
    details.title = presentation.core_properties.title or ""
    details.pages = len(presentation.slides)
    for number, slide in enumerate(presentation.slides, start=1):
        title = slide.shapes.title
        for shape in flattened(slide.shapes):
            is_title = title is not None and shape.shape_id == title.shape_id
            if shape.has_text_frame and (text := shape.text_frame.text.replace("\v", "\n").strip()):
                yield Block(" ".join(text.split()), "heading", 1, number) if is_title else Block(text, page=number)
            elif getattr(shape, "has_table", False):
                rows = (row((cell.text for cell in each.cells), number) for each in shape.table.rows)
                yield from filter(None, rows)
        if slide.has_notes_slide:
            notes = slide.notes_slide.notes_text_frame
            if notes is not None and notes.text.strip():
                yield Block(notes.text.strip(), page=number)


def flattened(shapes: Iterable[Any]) -> Iterator[Any]:
    """Yield shapes, and those of groups in place of these."""
    for shape in shapes:
        if hasattr(shape, "shapes"):
            yield from flattened(shape.shapes)
        else:
            yield shape
