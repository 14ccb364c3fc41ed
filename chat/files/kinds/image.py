"""Look at an image whole before it is stored, and remove what a camera wrote into it. Runs in the process for files."""

from __future__ import annotations

import io
import warnings
from typing import Any

from PIL import ExifTags, Image, ImageSequence
from PIL.JpegImagePlugin import JpegImageFile, get_sampling

from chat.files.images import MAX_SIDE_PX, ImageFile

MAX_CHECKED_PX = 4 * MAX_SIDE_PX**2  # of all pictures of an animation
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
# Segments of a JPEG that only say how it is drawn, by their beginnings. An MPO has further pictures.
_DRAWN_BY = (("APP0", b"JFIF"), ("APP2", b"ICC_PROFILE"), ("APP14", b"Adobe"))
_PNG_END = b"IEND\xaeB`\x82"


def read(content: bytes) -> ImageFile:
    """Do what ``read_image`` promises."""
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    try:
        with Image.open(io.BytesIO(content), formats=_FORMATS) as image:
            if max(image.size) > MAX_SIDE_PX:
                return ImageFile(problem="large")
            checked_px = 0
            for frame in ImageSequence.Iterator(image):
                frame.load()
                checked_px += frame.width * frame.height
                if checked_px > MAX_CHECKED_PX:
                    break
            image.seek(0)
            return ImageFile(without_metadata(image, content) if has_metadata(image, content) else content)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        return ImageFile(problem="large")
    except MemoryError:  # of its process; WebP needs several times as much as other formats
        return ImageFile(problem="memory")
    except Exception:  # noqa: BLE001 - a broken file may raise anything
        return ImageFile(problem="unreadable")


def has_metadata(image: Image.Image, content: bytes) -> bool:
    """Whether a decoded image file has anything beside its picture and how to draw it."""
    if isinstance(image, JpegImageFile):
        drawn_by = [
            any((name, data[: len(start)]) == (at, start) for at, start in _DRAWN_BY) for name, data in image.applist
        ]
        return not all(drawn_by) or not content.endswith(b"\xff\xd9")
    if image.format == "PNG":
        extra = [*getattr(image, "text", ()), *getattr(image, "private_chunks", ())]
        return bool(extra) or "exif" in image.info or not content.endswith(_PNG_END)
    if image.format == "GIF":
        return "comment" in image.info or b"XMP DataXMP" in content or not content.endswith(b";")
    declared = int.from_bytes(content[4:8], "little") + 8
    return not image.info.keys().isdisjoint({"exif", "xmp"}) or declared < len(content)


def without_metadata(image: Image.Image, content: bytes) -> bytes:
    """Return the file of an image anew, its picture as good as it was."""
    orientation = image.getexif().get(ExifTags.Base.Orientation)
    kept = Image.Exif()
    if orientation:
        kept[ExifTags.Base.Orientation] = orientation
    options: dict[str, Any] = {"exif": kept.tobytes() if orientation else b"", "xmp": b"", "comment": b""}
    form = image.format
    if isinstance(image, JpegImageFile):
        form = "JPEG"  # of an MPO only the first picture
        options |= {"qtables": image.quantization, "subsampling": get_sampling(image)}
    else:
        options["save_all"] = getattr(image, "is_animated", False)
    if form == "WEBP":
        is_lossless = b"VP8L" in content
        options |= {"lossless": is_lossless, "quality": 20 if is_lossless else 90}  # without loss it is only effort
    out = io.BytesIO()
    image.save(out, form, icc_profile=image.info.get("icc_profile"), **options)
    return out.getvalue()
