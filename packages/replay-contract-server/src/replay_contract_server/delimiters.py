"""Tags of thinking and scratchpads in a text, outside Markdown code. Shares no code with a parser under test."""

import re

from markdown_it import MarkdownIt

_DELIMITER = re.compile(r"</?(?:think|thinking|reasoning|scratchpad)[ \t\r\n]{0,8}/?>", re.IGNORECASE | re.ASCII)
_CODE_SPAN = re.compile(r"\\[\\`]|(?P<run>`++).+?(?<!`)(?P=run)(?!`)|`++", re.DOTALL)
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).disable("html_block")


def has_delimiter(text: str) -> bool:
    """Say whether a text contains a delimiter outside code."""
    if not _DELIMITER.search(text):
        return False
    # of a code span only the content; the tags in it may not join what is around it
    prose = (token.content for token in _MARKDOWN.parse(text) if token.type == "inline")
    return any(_DELIMITER.search(_CODE_SPAN.sub("`", part)) for part in prose)
