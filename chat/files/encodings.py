"""The encoding of a text file: detected from its bytes, and the ones that its owner may choose instead."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from functools import partial

from django.utils.translation import gettext_lazy as _

UTF_8, UTF_16, UTF_16_BE, UTF_32, WESTERN = "utf_8", "utf_16", "utf_16_be", "utf_32", "cp1252"
# Codecs of Python with what people call them. Of those that fit equally well, the first is chosen.
ENCODINGS = {
    UTF_8: "UTF-8",
    WESTERN: _("Western European (Windows-1252)"),
    "gb18030": _("Chinese, simplified (GBK, GB18030)"),
    "big5": _("Chinese, traditional (Big5)"),
    "cp932": _("Japanese (Shift_JIS)"),
    "euc_jp": _("Japanese (EUC-JP)"),
    "cp949": _("Korean (EUC-KR)"),
    "cp1251": _("Cyrillic (Windows-1251)"),
    "koi8_r": _("Cyrillic (KOI8-R)"),
    "cp1253": _("Greek (Windows-1253)"),
    "cp1254": _("Turkish (Windows-1254)"),
    "cp1255": _("Hebrew (Windows-1255)"),
    "cp1256": _("Arabic (Windows-1256)"),
    "cp874": _("Thai (Windows-874)"),
    "cp1250": _("Central European (Windows-1250)"),
    "iso8859_2": _("Central European (ISO-8859-2)"),
    UTF_16: "UTF-16",
    UTF_16_BE: _("UTF-16, big-endian"),
    UTF_32: "UTF-32",
}
# Names that pages state, by what they mean: browsers too read the larger set that a company made of each.
_SUPERSETS = {
    "ascii": WESTERN,
    "iso8859_1": WESTERN,
    "gbk": "gb18030",
    "gb2312": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "iso8859_9": "cp1254",
    "tis_620": "cp874",
}
STATED_BYTES = 2_000  # of a page or an XML file, at whose beginning its encoding is stated
_STATED = re.compile(
    rb"(?:<meta\b[^>]{0,200}?\bcharset|^\s{0,9}<\?xml\b[^>]{0,99}?\bencoding)\s{0,9}=[\s\"']{0,9}([\w-]{1,30})",
    re.IGNORECASE,
)
DETECTED_BYTES = 50_000  # of a file are looked at to find its encoding
_CONTROLS = [chr(code) for code in (*range(0x09), *range(0x0E, 0x1B), *range(0x1C, 0x20), 0x7F)]  # not ESC of colours
# What Western European text has beyond ASCII. Text of other scripts, read as such, is made of little else.
_WESTERN_CHARS = frozenset(
    "àáâãäåæçèéêëìíîïñòóôõöøœùúûüýÿßÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØŒÙÚÛÜÝŠšŽž«»„“”‚‘’–—…•€£§°·®©™±²³µ¿¡ªº\xa0"
)
_MAX_SPECIAL_SHARE = 0.5  # of the letters of a text in Latin script
_SYMBOL_IN_WORD = re.compile(r"[^\W\d_][±³¹¿][^\W\d_]")  # letters of Polish, read as Western European
_LATIN, _CYRILLIC = frozenset({WESTERN, "cp1250", "cp1254"}), ("cp1251", "koi8_r")
_CENTRAL = ("iso8859_2", "cp1250")
# First bytes of frequent characters. A short text read in a wrong encoding is made of others.
_FREQUENT_LEADS = {
    "gb18030": range(0xB0, 0xD8),
    "big5": range(0xA4, 0xC7),
    "cp932": range(0x82, 0x98),
    "euc_jp": range(0xA4, 0xD0),
    "cp949": range(0xB0, 0xC9),
}
_MIN_FREQUENT_SHARE = 0.8
# Russian and Ukrainian letters. Windows-1251 and KOI8-R read in each other's place are Cyrillic too, of rarer ones.
_FREQUENT_CYRILLIC = frozenset("оеаинтсрвлі")
# Letters that are elsewhere in Windows-1250 and ISO-8859-2: of Polish, and of its neighbours.
_POLISH, _OTHER_CENTRAL = frozenset("ąćęłńóśźż"), frozenset("áčďéěíňóřšťúůýžćđ")
_MAX_BLOCKS = 6  # of 256 characters, that a text in UTF-16 without a mark may use
# Thousands of characters that one language uses: they count as one block each.
_LARGE_BLOCKS = (range(0x4E, 0xA0), range(0xAC, 0xD8))
# A text may have a few control characters, as logs do. Compressed data has one in nine bytes.
_CHARS_PER_CONTROL = 50
_MIN_VALID_SHARE = 0.6  # of what is beyond ASCII, in UTF-8 that was cut off or has bytes of another encoding
_OBSOLETE_THAI = frozenset("ฃฅ")  # where Chinese has its punctuation


def detect_encoding(content: bytes) -> str | None:
    """Return the encoding of a text, one of ``ENCODINGS``; None for bytes that are no text."""
    if content.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)) and decode(content, UTF_32):
        return UTF_32
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return UTF_16 if decode(content, UTF_16) is not None else None
    if decode(content, UTF_8) is not None:
        return UTF_8
    # Pages state Western European by habit; of another encoding they know, and a short text shows too little.
    stated = _STATED.search(content[:STATED_BYTES])
    encoding = stated_encoding(stated[1].decode("ascii", "ignore")) if stated else ""
    if encoding not in {"", UTF_8, WESTERN} and decode(content, encoding) is not None:
        return encoding
    if (text := decode(content, WESTERN)) is not None and is_likely(text, WESTERN):
        return WESTERN
    if b"\x00" in content[:DETECTED_BYTES]:  # half of the bytes of Latin letters, and of blanks in other scripts
        return next((each for each in (UTF_16, UTF_16_BE) if is_plain_utf_16(content, each)), None)
    beginning = content[:DETECTED_BYTES]
    whole_lines = beginning[: beginning.rfind(b"\n") + 1] or beginning  # no character is cut in two
    # words in ASCII are the same in each of these encodings
    telling = b" ".join(word for word in whole_lines.split() if not word.isascii())
    order = [each for each in ENCODINGS if each != "iso8859_2"]  # which is told from Windows-1250 below
    from charset_normalizer import from_bytes  # noqa: PLC0415 - takes 2 MB, and few files need it

    found = [match for match in from_bytes(telling, cp_isolation=order) if match.encoding in ENCODINGS]
    found.sort(key=lambda match: (round(match.chaos, 2), -match.coherence, order.index(match.encoding)))
    fitting = [match.encoding for match in found if is_likely(str(match), match.encoding)]
    others = [match.encoding for match in found]
    first = next((each for each in (*fitting, *others, WESTERN) if decode(content, each) is not None), None)
    for family, likeness in ((_CYRILLIC, likeness_to_cyrillic), (_CENTRAL, likeness_to_central)):
        if first in family:
            readable = [each for each in family if decode(content, each) is not None]
            return max(readable, key=partial(likeness, telling))
    return first


def stated_encoding(charset: str) -> str:
    """Return the encoding of this name, if it is one that files may have: some of Python's codecs are slow."""
    try:
        name = codecs.lookup(charset).name.replace("-", "_")
    except (LookupError, ValueError):
        return ""
    name = _SUPERSETS.get(name, name)
    return name if name in ENCODINGS else ""


def decode(content: bytes, encoding: str) -> str | None:
    """Return the text of these bytes; None if they are no text in this encoding."""
    try:
        text = content.decode("utf_8_sig" if encoding == UTF_8 else encoding)
    except UnicodeError:
        text = content.decode("utf_8_sig", "replace") if encoding == UTF_8 else ""
        beyond_ascii = len(text) - len(text.encode("ascii", "ignore"))
        if beyond_ascii - text.count("\ufffd") < _MIN_VALID_SHARE * beyond_ascii or not text:
            return None
    text = text.removesuffix("\x1a")  # the end mark of DOS
    controls = sum(map(text.count, _CONTROLS))
    return None if controls * _CHARS_PER_CONTROL > len(text) else text


def is_likely(text: str, encoding: str) -> bool:
    """Whether a text that was read in this encoding is made of what such texts are made of."""
    if encoding == WESTERN and (
        not _WESTERN_CHARS.issuperset(char for char in set(text) if not char.isascii()) or _SYMBOL_IN_WORD.search(text)
    ):
        return False
    if encoding in _LATIN:
        lines = (line for line in text.splitlines() if not line.isascii())  # others say nothing about the script
        letters = {char: count for char, count in Counter("".join(lines)).items() if char.isalpha()}
        special_count = sum(count for char, count in letters.items() if not char.isascii())
        return special_count <= _MAX_SPECIAL_SHARE * sum(letters.values())
    special = [char for char in text if char.isalpha() and not char.isascii()]
    if encoding == "cp874":
        return _OBSOLETE_THAI.isdisjoint(special)
    if leads := _FREQUENT_LEADS.get(encoding):
        codes = [char.encode(encoding, "replace") for char in special]
        frequent = sum(len(code) > 1 and code[0] in leads for code in codes)  # one byte: narrow kana, rare
        return frequent >= _MIN_FREQUENT_SHARE * len(special)
    return True


def likeness_to_cyrillic(content: bytes, encoding: str) -> tuple[int, int]:
    """Return the number of frequent letters, then of small ones: the other encoding has capitals in their place."""
    text = content.decode(encoding, "replace")
    return sum(char in _FREQUENT_CYRILLIC for char in text.casefold()), sum(map(str.islower, text))


def likeness_to_central(content: bytes, encoding: str) -> tuple[int, int]:
    """Return minus the number of controls, which are letters in the other encoding, then that of usual letters."""
    text = content.decode(encoding, "replace").casefold()
    controls = sum("\x80" <= char <= "\x9f" for char in text)
    return -controls, max(sum(map(text.count, letters)) for letters in (_POLISH, _OTHER_CENTRAL))


def is_plain_utf_16(content: bytes, encoding: str) -> bool:
    """Whether bytes without a mark are a text in UTF-16, by the few blocks of characters that one language uses."""
    text = decode(content, encoding)
    chars = set(text or "")
    if not any(map(str.isascii, chars)):
        return False
    used = {ord(char) >> 8 for char in chars}
    large = [block for block in _LARGE_BLOCKS if not used.isdisjoint(block)]
    return len(used.difference(*_LARGE_BLOCKS)) + len(large) <= _MAX_BLOCKS
