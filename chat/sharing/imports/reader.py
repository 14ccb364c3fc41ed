"""What reads uploaded exports: a process with limits of time and memory, at a lower priority than the server.

It knows no secret and no database. For each conversation it sends what it found, and reads its texts only when the
server asks for them: cleaning answers takes nearly all the time.
"""

from __future__ import annotations

import codecs
import json
import mmap
import os
import re
import resource
import signal
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import blake2b
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple
from uuid import UUID
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _
from django.utils.translation import override

from chat.files.encodings import detect_encoding
from chat.sharing.imports.conversation import ExportedConversation
from chat.sharing.imports.products import product_names, read_conversation
from chat.sharing.imports.turns import ImportedTurn, Limits, imported_turns
from chat.validation import storable
from reasoning.redaction import redact_text

MAX_FILE_BYTES = 100 * 1024**2  # of one file in a ZIP file, unpacked ...
MAX_UNPACKED_BYTES = 500 * 1024**2  # ... and of all that are read
MAX_CONVERSATION_BYTES = 10 * 1024**2  # it is in memory as a whole
MAX_FILES = 10_000
MAX_DEPTH = 4_000  # of brackets: a message of LibreChat is inside the one before it, at two levels
MAX_UNUSABLE = 1_000  # in a file: of what is no conversation, or has no text, more isn't counted
MAX_TOKENS = 5_000_000  # of one conversation, before its end is no longer looked for
CONVERSATION_S = 60.0  # of processor time, for one conversation ...
PROCESSOR_S = 300  # ... and for all
NICENESS = 10
MAX_NAME_CHARS = 80
# Larger ChatGPT exports divide their file; exports of this product have one per conversation.
_WANTED = re.compile(r"(?:.*[/\\])?(?:conversations[^/\\]*|conversations[/\\][^/\\]+)\.json", re.IGNORECASE)
# Of other products: any, but neither what macOS adds nor accounts.
_JSON = re.compile(r"(?!__MACOSX/)(?:.*[/\\])?(?!users?\.)[^./\\][^/\\]*\.json", re.IGNORECASE)
# Strings are matched whole, so that brackets in them don't count; possessively, so that each is read once.
_STRING_OR_BRACKET = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{\]}]', re.DOTALL)
# A list, or an object with a list of them, maybe behind a version and the like.
_LIST = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*"
    rb"(\[|\{\s*(?:\"\w{1,30}\"\s*:\s*(?:\"[^\"\\\[{]{0,100}\"|[\w.+-]{1,30})\s*,\s*){0,9}"
    rb"(?:\"data\"\s*:\s*\{\s*)?\"(?:conversations|chats|data)\"\s*:\s*\[)?"
)
_ZIP_MARK, _ZIP_ENTRY = b"PK\x03\x04", b"PK\x01\x02"
_WIDE = {codecs.BOM_UTF32_LE: "utf-32-le", codecs.BOM_UTF32_BE: "utf-32-be"}
_WIDE |= {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_CHUNK_BYTES = 64 * 1024


class Found(NamedTuple):
    """A conversation, before its texts are cleaned. The answer is whether they are wanted."""

    name: str
    title: str
    import_id: str  # names it on another import
    first_answer: UUID | None


class FoundTurns(NamedTuple):
    """Texts of a conversation that were wanted, and how many things of each kind are not among them."""

    turns: Sequence[ImportedTurn]
    is_shortened: bool
    left_out: dict[str, int]


class Skipped(NamedTuple):
    """Something that isn't imported."""

    reason: str
    name: str


class RefusedUpload(NamedTuple):
    """Why the upload isn't read, or no further."""

    reason: str


class Done(NamedTuple):
    """All files were read."""


class UnreadableError(Exception):
    """A file can't be read, or no further. Its text is for the user."""


class TooSlowError(Exception):
    """A conversation takes too long. Raised wherever its reader is."""


def read_uploads(connection: Connection[Any, Any], names: Sequence[str], limits: Limits, language: str) -> None:
    """Read files, whose handles come over the connection. Target of a process."""
    with suppress(PermissionError):  # as in chat.processes
        os.nice(NICENESS)
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_S, PROCESSOR_S + 1))
    signal.signal(signal.SIGPROF, stop_slow)
    # JSON is decoded with recursion.
    sys.setrecursionlimit(2 * MAX_DEPTH)
    files = [os.fdopen(recv_handle(connection), "rb") for _name in names]
    with override(language):
        for name, file in zip(names, files, strict=True):
            try:
                for json_name, json_file in json_files(file, name):
                    read_json(connection, json_name, json_file, limits)
            except UnreadableError as error:
                connection.send(RefusedUpload(str(error)))
        connection.send(Done())


def stop_slow(*_signal: object) -> None:
    raise TooSlowError


@contextmanager
def limit_time() -> Iterator[None]:
    """Limit the time of what is done for one conversation. Nothing is sent meanwhile: it would come as a half."""
    signal.setitimer(signal.ITIMER_PROF, CONVERSATION_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def json_files(file: IO[bytes], name: str) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield name and file of the JSON files of an upload, one at a time. Raises UnreadableError."""
    file.seek(0)
    is_zip = file.read(len(_ZIP_MARK)) == _ZIP_MARK
    file.seek(0)
    if not is_zip:
        yield name, file
        return
    # Counted before the directory is read, which takes half a kilobyte of memory per entry.
    if sum(chunk.count(_ZIP_ENTRY) for chunk in iter(partial(file.read, _CHUNK_BYTES), b"")) > MAX_FILES:
        raise UnreadableError(_("The ZIP file has too many files; at most %(most)s are allowed.") % {"most": MAX_FILES})
    try:
        with ZipFile(file) as archive:
            entries = archive.infolist()
            wanted = [info for info in entries if _WANTED.fullmatch(info.filename)]
            wanted = wanted or [info for info in entries if _JSON.fullmatch(info.filename)]
            if not wanted:
                raise UnreadableError(_("The ZIP file has no conversations.json and no exported conversations."))
            if any(info.compress_type not in (ZIP_STORED, ZIP_DEFLATED) or info.flag_bits & 1 for info in wanted):
                raise UnreadableError(_("The ZIP file is encrypted or compressed in an unusual way."))
            # no more than the declared sizes is ever unpacked
            sizes = [info.file_size for info in wanted]
            if max(sizes) > MAX_FILE_BYTES or sum(sizes) > MAX_UNPACKED_BYTES:
                words = _("Unpacked, a file may have at most %(most)s, and all together %(total)s.")
                most, total = filesizeformat(MAX_FILE_BYTES), filesizeformat(MAX_UNPACKED_BYTES)
                raise UnreadableError(words % {"most": most, "total": total})
            for info in wanted:
                with TemporaryFile() as unpacked:
                    with archive.open(info) as packed:
                        copyfileobj(packed, unpacked)
                    yield shown_name(info.filename.rpartition("/")[2]), unpacked
    except (BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError) as error:
        if "No space left" in str(error):
            raise UnreadableError(_("The server’s disk is full. Upload the file again when there is room.")) from error
        raise UnreadableError(_("The ZIP file is damaged.")) from error


def shown_name(name: str) -> str:
    return redact_text(" ".join(storable(name).split()))[:MAX_NAME_CHARS]


def read_json(connection: Connection[Any, Any], file_name: str, file: IO[bytes], limits: Limits) -> None:
    """Send the conversations of a JSON file. Raises UnreadableError where the rest of it is not read."""
    unusable = 0
    if not file.seek(0, os.SEEK_END):
        return
    file.seek(0)
    encoding = next((name for mark, name in _WIDE.items() if file.read(len(mark)) == mark or file.seek(0)), "")
    if encoding:
        with TemporaryFile() as narrow:
            for text in codecs.getreader(encoding)(file, "replace"):
                narrow.write(text.encode("utf-8", "replace"))
            narrow.flush()
            read_json(connection, file_name, narrow, limits)
        return
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for number, raw in enumerate(conversations_in(data), 1):
            name = f"{file_name} {number}"
            try:
                unusable += not send_one(connection, raw, name, limits)
            except TooSlowError:
                connection.send(Skipped(_("Takes too long to read"), name))
            except MemoryError:
                connection.send(Skipped(_("Too large"), name))
            except (LookupError, TypeError, AttributeError, ValueError):  # an odd form: the others are read
                connection.send(Skipped(_("Cut off or damaged"), name))
                unusable += 1
            if unusable >= MAX_UNUSABLE:
                raise UnreadableError(_("The rest of %(name)s was not read.") % {"name": file_name})


def send_one(connection: Connection[Any, Any], raw: bytes | None, name: str, limits: Limits) -> bool:
    """Send a conversation, or why it isn't imported; False where there is none, or no text in it."""
    # 1. Find out what it is.
    if raw is None:
        raise MemoryError
    try:
        with limit_time():
            text = raw.decode("utf-8", "replace")
            if "\ufffd" in text and "".join(set(text) - {"\ufffd"}).isascii():  # saved anew by another program
                text = raw.decode(detect_encoding(raw) or "utf-8", "replace")
            # Control characters in strings are no reason to refuse a conversation.
            found = read_conversation(json.loads(text, strict=False))
    except (ValueError, RecursionError):
        connection.send(Skipped(_("Cut off or damaged"), name))
        return False
    if found is None:
        connection.send(Skipped(_("No export of %(products)s") % {"products": product_names()}, name))
        return False
    title = storable(found.title)
    if not any(message.text.strip() for message in found.messages if message.side != "none"):
        connection.send(Skipped(_("No text"), shown_name(title) or name))
        return False

    # 2. Read its texts, if they are wanted.
    connection.send(Found(name, title, import_id_of(found, raw), found.first_answer))
    if connection.recv():
        with limit_time():
            turns, is_shortened = imported_turns(found, limits)
        connection.send(FoundTurns(turns, is_shortened, {kind: n for kind, n in found.left_out.items() if n}))
    return True


def conversations_in(data: mmap.mmap) -> Iterator[bytes | None]:
    """Yield the JSON of each conversation: the objects of a list, or the only one; None for one that is too large.

    Raises UnreadableError where brackets are nested more deeply than in any export. Nothing is decoded here: a list of
    small values would take many times its size.
    """
    begins_list = _LIST.match(data)
    level = len(re.findall(rb"[\[{]", begins_list[1])) if begins_list and begins_list[1] else 0
    depth = begin = tokens = 0
    for token in _STRING_OR_BRACKET.finditer(data):
        tokens += 1
        if tokens > MAX_TOKENS:
            raise UnreadableError(_("A conversation is too large; the rest of the file was not read."))
        match token[0][:1]:
            case b"{" | b"[":
                if depth == level:
                    begin = token.start()
                depth += 1
                if depth > MAX_DEPTH:
                    raise UnreadableError(_("A conversation is nested too deeply; the rest of the file was not read."))
            case b"}" | b"]":
                depth -= 1
                if depth == level:
                    tokens = 0
                    yield data[begin : token.end()] if token.end() - begin <= MAX_CONVERSATION_BYTES else None
    if depth > level:  # cut off, and reported as such
        yield data[begin:] if len(data) - begin <= MAX_CONVERSATION_BYTES else None


def import_id_of(found: ExportedConversation, raw: bytes) -> str:
    """Return a digest of what names a conversation: its own id, its first answer, or all of its bytes."""
    name = found.id or (found.first_answer.hex if found.first_answer else "")
    return blake2b(name.encode("utf-8", "replace") or raw, digest_size=16).hexdigest()
