"""Look at an image whole before it is stored, and remove what a camera wrote into it. Runs in the process for files."""

from __future__ import annotations

import io
import warnings
from typing import Any, NamedTuple

from PIL import ExifTags, Image

MAX_SIDE_PX = 8_000  # services refuse larger ones
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
# What Pillow calls metadata that can hold a place, a name or a device.
_PRIVATE = frozenset({"exif", "xmp", "photoshop", "comment", "XML:com.adobe.xmp", "Raw profile type exif"})

_SAVED_WITH: dict[str, dict[str, Any]] = {"JPEG": {"quality": "keep"}, "WEBP": {"quality": 90}}


class ImageFile(NamedTuple):
    """An image as it is stored. ``problem``: why it is refused."""

    content: bytes = b""
    problem: str = ""  # unreadable, large


def read_image(content: bytes) -> ImageFile:
    """Decode an image, and return it without its metadata, but for its orientation and its colours."""
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    try:
        with Image.open(io.BytesIO(content), formats=_FORMATS) as image:
            if max(image.size) > MAX_SIDE_PX:
                return ImageFile(problem="large")
            image.load()
            return ImageFile(without_metadata(image, content))
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        return ImageFile(problem="large")
    except Exception:  # noqa: BLE001 - a broken file may raise anything, MemoryError included
        return ImageFile(problem="unreadable")


def without_metadata(image: Image.Image, content: bytes) -> bytes:
    """Return an image file without its private metadata; one that has none as it is."""
    if image.format == "GIF" or _PRIVATE.isdisjoint(image.info):
        return content
    orientation = image.getexif().get(ExifTags.Base.Orientation)
    kept = Image.Exif()
    if orientation:
        kept[ExifTags.Base.Orientation] = orientation
    options = _SAVED_WITH.get(image.format or "", {})
    out = io.BytesIO()
    for name in _PRIVATE:
        image.info.pop(name, None)
    image.save(
        out,
        image.format,
        exif=kept.tobytes() if orientation else b"",
        icc_profile=image.info.get("icc_profile"),
        save_all=getattr(image, "is_animated", False),
        **options,
    )
    return out.getvalue()
