"""What becomes of images and of pages as pictures: ``chat.files.kinds`` decodes and draws them, in other processes."""

from __future__ import annotations

from typing import NamedTuple

from chat.files.blocks import RefusedFileError

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


def draw_page(content: bytes, number: int) -> ImageFile:
    """Draw a page of a PDF; pages count from 1. Runs in a process for pictures."""
    from chat.files.kinds.pdf import draw  # noqa: PLC0415 - as Pillow

    try:
        return ImageFile(draw(content, number))
    except RefusedFileError as refused:
        return ImageFile(problem=str(refused))
    except MemoryError:
        return ImageFile(problem="memory")
    except Exception:  # noqa: BLE001 - a broken file may raise anything
        return ImageFile(problem="unreadable")
