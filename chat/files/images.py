"""What becomes of an image: ``chat.files.kinds.image`` decodes it, in the process for files."""

from __future__ import annotations

from typing import NamedTuple

MAX_SIDE_PX = 8_000  # services refuse larger ones


class ImageFile(NamedTuple):
    """An image as it is stored. ``problem``: why it is refused."""

    content: bytes = b""
    problem: str = ""  # unreadable, large, memory, slow, busy
    is_costly: bool = False  # took long, for nothing


def read_image(content: bytes) -> ImageFile:
    """Decode an image, and return it without its metadata, but for its orientation and its colours."""
    from chat.files.kinds.image import read  # noqa: PLC0415 - Pillow takes memory that only the process for files needs

    return read(content)
