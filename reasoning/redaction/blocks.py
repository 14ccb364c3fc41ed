"""Sections that are removed from their opener to their end, or to the end of the text: private keys, ``<REDACTED>``.

What anybody may read, a whole block of Base64, stays.
"""

from __future__ import annotations

import re

_REDACTED = r"(?i:<REDACTED(?:\s[^<>]{0,150})?>)"  # it may have attributes
_PUBLIC = r"(?:[A-Z0-9]{1,8} ){0,2}(?:CERTIFICATE|PUBLIC KEY(?: BLOCK)?|CERTIFICATE REQUEST)"
# Blocks that are dropped.
_PRIVATE = r"(?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V\d)"
_NEW_LINE = r"(?:\r?\n|\\n)[ \t]{0,16}(?:[#>*;][ \t]{0,16})?"  # also of a comment or a quotation
_BASE64_LINE = rf"{_NEW_LINE}[A-Za-z0-9+/]"
# What GnuPG writes around the lines of a key.
_ARMOR_HEAD = rf"(?:{_NEW_LINE}(?:Version|Comment): [\w ./():-]{{1,80}}+){{0,3}}+(?:{_NEW_LINE}(?=[\r\n\\]))?"
_ARMOR_SUM = rf"(?:{_NEW_LINE}=[A-Za-z0-9+/]{{4}})?"
BLOCK_START = re.compile(
    rf"(?P<redacted>{_REDACTED})"
    rf"|(?P<pem>-----BEGIN {_PRIVATE}-----"
    r"|PuTTY-User-Key-File-\d:)"
    rf"|(?P<public>-----BEGIN {_PUBLIC}-----{_ARMOR_HEAD}(?:{_BASE64_LINE}{{1,76}}+={{0,2}}(?=[\r\n\\])){{1,48}}+"
    rf"{_ARMOR_SUM}{_NEW_LINE}-----END {_PUBLIC}-----)"
)
# What people write in place of a secret, behind its first sign: TOKEN=<redacted>, "<redacted>". It is in one word.
_PLACEHOLDER = r"(?<==<)redacted>\s|(?<=\"<)redacted>\"|(?<='<)redacted>'|(?<=`<)redacted>`"
BLOCK_HINT = re.compile(rf"-----BEGIN|PuTTY-User-Key-File-|<(?!{_PLACEHOLDER})(?i:REDACTED)(?=[\s>]|\Z)")
OPEN_BLOCK_START = re.compile(
    r"-----BEGIN (?:[A-Z0-9 ]{0,56}|O[A-Za-z0-9 ]{0,20})-{0,5}|PuTTY-User-Key-File-\d?"
    r"|(?i:<REDACTED)(?:\s[^<>]{0,150})?"
    rf"|-----BEGIN {_PUBLIC}-----(?:{_NEW_LINE}(?:Version|Comment):[\w ./():-]{{0,81}}+){{0,3}}+"
    rf"(?:{_NEW_LINE}(?:[A-Za-z0-9+/]{{1,76}}+={{0,2}}|=[A-Za-z0-9+/]{{0,4}})?){{0,50}}+"
    r"(?:\r|\\|-{1,5}[A-Z0-9 ]{0,40}-{0,5})?"
)
BLOCK_END = {
    "redacted": re.compile(rf"(?P<nested>{_REDACTED})|(?i:</REDACTED\s{{0,8}}>)"),
    "pem": re.compile(rf"-----END {_PRIVATE}-----|Private-MAC: [0-9a-f]{{20,128}}+"),
}
