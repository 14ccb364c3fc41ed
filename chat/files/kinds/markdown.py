"""Markdown: its blocks as they are written, its headings without their marks."""

from __future__ import annotations

from collections.abc import Iterator

from markdown_it import MarkdownIt

from chat.files.blocks import Block, Details

_PARSER = MarkdownIt("commonmark").enable("table")


def read(content: str, details: Details) -> Iterator[Block]:
    lines = content.splitlines()
    level = 0
    # Blocks inside of others are a part of these.
    for token in _PARSER.parse("\n".join(lines)):
        if token.type == "heading_open" and token.level == 0:
            level = int(token.tag[1:])
        elif token.type == "inline" and level:
            details.title = details.title or token.content
            yield Block(token.content, "heading", level)
            level = 0
        elif token.level == 0 and token.map and token.nesting >= 0:
            written = lines[slice(*token.map)]
            if token.type == "table_open":
                yield from (Block(line, "table") for line in written)
            elif text := "\n".join(written).strip("\n"):
                yield Block(text)
