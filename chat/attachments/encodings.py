"""The encoding of a text file: detected from its bytes, and the ones that its owner may choose instead."""

from __future__ import annotations

import codecs
import re

from charset_normalizer import from_bytes
from django.utils.translation import gettext_lazy as _

UTF_8, UTF_16, WESTERN = "utf_8", "utf_16", "cp1252"
# Codecs of Python, by how common they are, with what people call them.
ENCODINGS = {
    UTF_8: "UTF-8",
    WESTERN: _("Western European (Windows-1252)"),
    "cp1250": _("Central European (Windows-1250)"),
    "cp1251": _("Cyrillic (Windows-1251)"),
    "koi8_r": _("Cyrillic (KOI8-R)"),
    "cp1253": _("Greek (Windows-1253)"),
    "cp1254": _("Turkish (Windows-1254)"),
    "cp1255": _("Hebrew (Windows-1255)"),
    "cp1256": _("Arabic (Windows-1256)"),
    "cp874": _("Thai (Windows-874)"),
    "gb18030": _("Chinese, simplified (GBK, GB18030)"),
    "big5": _("Chinese, traditional (Big5)"),
    "cp932": _("Japanese (Shift_JIS)"),
    "euc_jp": _("Japanese (EUC-JP)"),
    "cp949": _("Korean (EUC-KR)"),
    UTF_16: "UTF-16",
}
DETECTED_BYTES = 50_000  # of a file are looked at to find its encoding
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")  # not ESC, which logs have for colours
# What Western European text has beyond ASCII. Text of other scripts, read as such, is made of little else.
_WESTERN_CHARS = frozenset(
    "àáâãäåæçèéêëìíîïñòóôõöøœùúûüýÿßÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØŒÙÚÛÜÝŠšŽž«»„“”‚‘’–—…•€£§°·®©™±²³µ¿¡ªº\xa0"
)
_MAX_WESTERN_SHARE = 0.4  # of the letters


def detect_encoding(content: bytes) -> str | None:
    """Return the encoding of a text, one of ``ENCODINGS``; None for bytes that are no text."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return UTF_16 if decode(content, UTF_16) is not None else None
    if decode(content, UTF_8) is not None:
        return UTF_8
    if is_western(decode(content, WESTERN)):
        return WESTERN
    beginning = content[:DETECTED_BYTES]
    whole_lines = beginning[: beginning.rfind(b"\n") + 1] or beginning  # no character is cut in two
    found = from_bytes(whole_lines, cp_isolation=list(ENCODINGS)).best()
    likely = [found.encoding] if found else []
    return next((each for each in (*likely, WESTERN) if decode(content, each) is not None), None)


def decode(content: bytes, encoding: str) -> str | None:
    """Return the text of these bytes; None if they are no text in this encoding."""
    try:
        text = content.decode("utf_8_sig" if encoding == UTF_8 else encoding)
    except UnicodeError:
        return None
    return None if _CONTROL.search(text) else text


def is_western(text: str | None) -> bool:
    if text is None:
        return False
    beyond_ascii = [char for char in text if not char.isascii()]
    special, letters = sum(map(str.isalpha, beyond_ascii)), sum(map(str.isalpha, text))
    return special <= _MAX_WESTERN_SHARE * letters and _WESTERN_CHARS.issuperset(beyond_ascii)
