# ruff: noqa: PLC0415 - a script: Django is set up before its models are imported
"""What rendering costs: answers of 4 and 40 KB, at once and as they arrive: ``python -m tests.benchmarks.rendering``.

Streamed, each block is rendered when it is complete, and the whole once more at the end; the ratio is to rendering all
of the text so far at every flush.
"""

from collections.abc import Sequence

from tests.benchmarks.helpers import MS, Figure, answer, best_seconds, pieces, set_up_django, show

_FLUSH_CHARS = 64  # some 20 flushes a second of a fast model
_SAMPLE = 16  # flushes of which the cost of all is estimated


def measure(sizes: Sequence[int] = (4_096, 40_960), *, rounds: int = 3) -> list[Figure]:
    """Return the figures for answers of ``sizes`` characters. Django is set up."""
    from chat.html import BlockSplitter, render_markdown
    from chat.html.markdown import to_html
    from chat.html.render import render_block
    from chat.html.sanitize import sanitize_html

    def whole(text: str) -> None:
        render_block.cache_clear()
        render_markdown(text)

    def streamed(text: str) -> None:
        render_block.cache_clear()
        splitter = BlockSplitter()
        for piece in pieces(text, _FLUSH_CHARS):
            for block in splitter.feed(piece):
                render_markdown(block)
        render_markdown(text)

    figures = []
    for size in sizes:
        text = answer(size)
        flushes = range(_FLUSH_CHARS, size + 1, _FLUSH_CHARS)
        sample = flushes[:: max(1, len(flushes) // _SAMPLE)]
        at_once, in_blocks = best_seconds(lambda: whole(text), lambda: streamed(text), rounds=rounds)  # noqa: B023
        costs = best_seconds(*(lambda end=end: sanitize_html(to_html(text[:end])) for end in sample), rounds=1)  # noqa: B023
        at_each_flush = sum(costs) * len(flushes) / len(sample)
        figures += [
            Figure(f"{size // 1024} KB, whole", at_once * MS, "ms"),
            Figure("  streamed", in_blocks * MS, "ms", ratio=in_blocks / at_each_flush, beside="all at each flush"),
        ]
    return figures


if __name__ == "__main__":
    set_up_django()
    show("Rendering", measure())
