"""Import conversations from an export of ChatGPT or of this product: their texts, models and times.

Sources, steps and thinking are left out, for nothing can check them here. Answers pass the same normalisation and
redaction as those of a model. An upload is read by a thread of this process, one conversation at a time, each in a
transaction of its own; what was imported before is skipped, so an import that was cut off, as by a restart, continues
where the upload is repeated.
"""

from __future__ import annotations

import logging
import re
import shutil
import time
import uuid
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b
from tempfile import TemporaryFile
from threading import Semaphore, Thread
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

import msgspec
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import DatabaseError, connections, transaction
from django.db.models import Q
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.translation import get_language, override
from django.utils.translation import gettext as _
from msgspec import Struct

from accounts.models import User
from chat import eventlog
from chat.conversations.actions import MAX_TITLE_CHARS
from chat.conversations.titles import masked_name, title_from
from chat.eventlog import EndedTurn
from chat.models import Conversation, ConversationImport
from chat.turns.manager import turn_manager
from chat.validation import InvalidInputError, storable
from reasoning.deltas import RawFields
from reasoning.events import AssistantMessage, TurnStatus
from reasoning.redaction import redact_text
from reasoning.stream.limits import TurnLimits
from reasoning.stream.turn import TurnMachine

MAX_FILE_BYTES = 100 * 1024**2  # of one file in a ZIP file, unpacked: it is in memory as a whole ...
MAX_UNPACKED_BYTES = 500 * 1024**2  # ... and of all that are read
MAX_CONVERSATION_BYTES = 10 * 1024**2
MAX_FILES = 10_000
MAX_CONVERSATIONS = 5_000
MAX_TURNS = 2_000
MAX_S = 600
IMPORTS_AT_ONCE = 2  # in a process: each takes a processor; others wait
REPORT_EVERY_S = 30.0  # of those that wait
EARLIEST = datetime(1970, 1, 2, tzinfo=UTC)
MAX_NAMES = 5  # of what was skipped for one reason
MAX_MODEL_CHARS = 100
# Larger ChatGPT exports divide their file; exports of this product have one per conversation.
_WANTED = re.compile(r"(?:.*/)?(?:conversations(?:-\d+)?|conversations/[^/]+)\.json")
# Strings are matched whole, so that brackets in them don't count; possessively, so that each is read once.
_STRING_OR_BRACKET = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{\]}]', re.DOTALL)
_ZIP_MARK, _ZIP_ENTRY = b"PK\x03\x04", b"PK\x01\x02"
CHUNK_BYTES = 64 * 1024
logger = logging.getLogger(__name__)
slots = Semaphore(IMPORTS_AT_ONCE)
# Any other status of an export is a completed answer.
_STATUS: Mapping[str, TurnStatus] = {"stopped": "aborted", "error": "errored", "interrupted": "interrupted"}


class Author(Struct):
    """Who wrote a message: system, user, assistant or tool."""

    role: str = ""


class Content(Struct):
    """Texts are those ``parts`` that are strings; the others are files."""

    content_type: str = "text"
    parts: list[Any] = []


class ExportedMessage(Struct):
    """A message of ChatGPT. One with another ``recipient`` is the call of a tool."""

    author: Author
    content: Content
    create_time: float | None = None
    recipient: str | None = "all"
    metadata: dict[str, Any] = {}


class Node(Struct):
    """A place in ChatGPT's tree."""

    message: ExportedMessage | None = None
    parent: str | None = None


class Entry(Struct):
    """A question or an answer of an export of this product."""

    role: str
    id: uuid.UUID | None = None
    text: str = ""
    answer: str = ""
    at: datetime | None = None
    model: str = ""
    status: str = ""


class ExportedConversation(Struct):
    """A conversation of either kind: ``mapping`` is ChatGPT's tree of messages, ``messages`` are our own."""

    title: str | None = None
    id: str | None = None
    mapping: dict[str, Node] | None = None
    current_node: str | None = None
    messages: list[Entry] | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """A message of either kind."""

    is_question: bool
    text: str
    at: datetime | None
    model: str = ""
    status: TurnStatus = "completed"


@dataclass(slots=True)
class Report:
    """Result of an import. ``skipped`` maps a reason to a count and the first titles."""

    imported: int = 0
    shortened: int = 0
    skipped: dict[str, tuple[int, list[str]]] = field(default_factory=dict)

    @property
    def seen(self) -> int:
        return self.imported + sum(count for count, _names in self.skipped.values())

    def skip(self, reason: str, name: str) -> None:
        count, names = self.skipped.get(reason, (0, []))
        self.skipped[reason] = (count + 1, [*names, name][:MAX_NAMES])

    def reasons(self) -> list[tuple[str, int, list[str]]]:
        return [(reason, count, names) for reason, (count, names) in self.skipped.items()]


def start_import(person: User, upload: UploadedFile[bytes]) -> None:
    """Import the conversations of an uploaded file in the background. Raises InvalidInputError."""
    if (upload.size or 0) > settings.IMPORT_MAX_BYTES:
        words = _("The file is too large; at most %(most)s are allowed.")
        raise refusal(words, most=filesizeformat(settings.IMPORT_MAX_BYTES))
    with ExitStack() as stack:
        file = stack.enter_context(TemporaryFile())
        shutil.copyfileobj(upload, file)  # Django closes the upload with its request
        with transaction.atomic():
            User.objects.select_for_update().get(pk=person.pk)  # two uploads may come at once
            current = ConversationImport.objects.filter(owner=person).first()
            if current and current.is_running:  # each takes memory and a processor
                raise refusal(_("Another import is still running. Try again when it has ended."), code="import_running")
            if current:
                current.delete()
            run = ConversationImport.objects.create(owner=person)
        stack.pop_all()  # the thread closes it
    Thread(target=run_import, args=(run, file, get_language()), name="import").start()


def run_import(run: ConversationImport, file: IO[bytes], language: str | None) -> None:
    """Import a file, and store what became of it. Target of a thread."""
    report, error = Report(), ""
    try:
        with file, override(language):
            while not slots.acquire(timeout=REPORT_EVERY_S):
                if not save_progress(run, report):
                    return
            try:
                import_file(run, file, report)
            except InvalidInputError as refused:
                error = refused.message
            except Exception:
                logger.warning("import failed", exc_info=True)
                error = _("Something went wrong on this server. Upload the file again to continue.")
            finally:
                slots.release()
        save_progress(run, report, error=error, ended_at=timezone.now())
    except DatabaseError:  # after a while the page says that it was interrupted
        logger.warning("end of an import not stored", exc_info=True)
    finally:
        connections.close_all()  # those of this thread


def save_progress(run: ConversationImport, report: Report, **fields: object) -> bool:
    """Store what was done so far; False where this import was deleted or replaced, or its user may not sign in."""
    rows = ConversationImport.objects.filter(pk=run.pk, owner__is_active=True)
    return bool(rows.update(updated_at=timezone.now(), report=asdict(report), **fields))


def import_file(run: ConversationImport, file: IO[bytes], report: Report) -> None:
    """Import the conversations of a file. Raises InvalidInputError where it is no export, or too large."""
    ends_at = time.monotonic() + MAX_S
    for file_name, data in json_files(file):
        for number, raw in enumerate(conversations_in(data, ends_at), 1):
            if not save_progress(run, report):
                return
            if turn_manager.is_draining():
                raise refusal(_("The server was restarted. Upload the file again to continue."))
            name = f"{file_name} {number}"
            if report.imported >= MAX_CONVERSATIONS:
                report.skip(_("Not imported yet. Upload the file again to continue."), name)
                continue
            if len(raw) > MAX_CONVERSATION_BYTES:
                report.skip(_("Too large"), name)
                continue
            try:
                found = msgspec.json.decode(raw, type=ExportedConversation)
            except (ValueError, RecursionError):
                report.skip(_("Not a ChatGPT or Legible export"), name)
                continue
            import_conversation(run.owner, found, raw, name, report)
        if time.monotonic() > ends_at:  # what follows is not even counted
            report.skip(_("Not imported yet. Upload the file again to continue."), file_name)
            break
    if not report.seen:
        raise refusal(_("The file is no export of ChatGPT or Legible. Choose the ZIP file as you downloaded it."))


def json_files(file: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield name and contents of the JSON files of an upload, one at a time. Raises InvalidInputError."""
    file.seek(0)
    is_zip = file.read(len(_ZIP_MARK)) == _ZIP_MARK
    file.seek(0)
    if not is_zip:
        yield _("Conversation"), file.read()
        return
    # Counted before the directory is read, which takes half a kilobyte of memory per entry.
    if sum(chunk.count(_ZIP_ENTRY) for chunk in iter(partial(file.read, CHUNK_BYTES), b"")) > MAX_FILES:
        raise refusal(_("The ZIP file has too many files; at most %(most)s are allowed."), most=MAX_FILES)
    try:
        with ZipFile(file) as archive:
            wanted = [info for info in archive.infolist() if _WANTED.fullmatch(info.filename)]
            if not wanted:
                raise refusal(_("The ZIP file has no conversations.json and no exported conversations."))
            if any(info.compress_type not in (ZIP_STORED, ZIP_DEFLATED) or info.flag_bits & 1 for info in wanted):
                raise refusal(_("The ZIP file is encrypted or compressed in an unusual way."))
            # no more than the declared sizes is ever unpacked
            sizes = [info.file_size for info in wanted]
            if max(sizes) > MAX_FILE_BYTES or sum(sizes) > MAX_UNPACKED_BYTES:
                words = _("Unpacked, a file may have at most %(most)s, and all together %(total)s.")
                most, total = filesizeformat(MAX_FILE_BYTES), filesizeformat(MAX_UNPACKED_BYTES)
                raise refusal(words, most=most, total=total)
            for info in wanted:
                yield redact_text(storable(info.filename.rpartition("/")[2])), archive.read(info)
    except (BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError) as error:
        raise refusal(_("The ZIP file is damaged.")) from error


def conversations_in(data: bytes, ends_at: float) -> Iterator[bytes]:
    """Yield the JSON of each conversation of a file: the objects of its list, or its only one; until ``ends_at``.

    Nothing is decoded here: a list of small values would take many times its size.
    """
    level = 1 if re.match(rb"(?:\xef\xbb\xbf)?\s*\[", data) else 0
    depth = begin = 0
    for token in _STRING_OR_BRACKET.finditer(data):
        if time.monotonic() > ends_at:  # brackets alone pack a hundredfold
            return
        match token[0][:1]:
            case b"{" | b"[":
                if depth == level:
                    begin = token.start()
                depth += 1
            case b"}" | b"]":
                depth -= 1
                if depth == level:
                    yield data[begin : token.end()]
    if depth > level:
        yield data[begin:]  # cut off, and reported as such


def import_conversation(person: User, found: ExportedConversation, raw: bytes, name: str, report: Report) -> None:
    """Store one conversation, unless it has no text or is here already."""
    # 1. Its messages, whichever product wrote them.
    said = list(chatgpt_branch(found) if found.mapping is not None else own_entries(found.messages or ()))
    title = masked_name(found.title or "", MAX_TITLE_CHARS)
    name = title or name
    if not any(message.text for message in said):
        report.skip(_("No text"), name)
        return
    # 2. What names it on another import: its own id, its first answer, or all of its bytes.
    first_answer = next((entry.id for entry in found.messages or () if entry.id), None)
    source = (found.id or (first_answer.hex if first_answer else "")).encode("utf-8", "replace") or raw
    import_id = blake2b(source, digest_size=16).hexdigest()
    is_here = Q(import_id=import_id) | Q(turns=first_answer) if first_answer else Q(import_id=import_id)
    same = person.conversations.filter(is_here)
    # Before its answers are cleaned, which takes nearly all the time: a file that is uploaded again must get further
    if same.exists():
        report.skip(_("Here already"), name)
        return
    turns, is_shortened = ended_turns(said)
    with transaction.atomic():
        User.objects.select_for_update().get(pk=person.pk)  # the same file may be uploaded twice at once
        if same.exists():
            report.skip(_("Here already"), name)
            return
        conversation = Conversation.objects.create(
            owner=person,
            title=title or title_from(turns[0].question),
            is_renamed=bool(title),
            import_id=import_id,
            updated_at=turns[-1].ended_at,
        )
        # ``auto_now_add`` ignores a value that is given to create().
        Conversation.objects.filter(pk=conversation.pk).update(created_at=turns[0].started_at)
        eventlog.add_ended_turns(conversation, turns)
    report.imported += 1
    report.shortened += is_shortened


def chatgpt_branch(found: ExportedConversation) -> Iterator[Said]:
    """Yield the messages of the branch that was shown, without those to and from tools."""
    nodes, path = dict(found.mapping or {}), []
    at = found.current_node or next(reversed(nodes), None)
    while at is not None and (node := nodes.pop(at, None)):  # removed, so that a circle ends
        path.append(node.message)
        at = node.parent
    for message in reversed(path):
        if (
            message is not None
            and message.author.role in ("user", "assistant")
            and message.recipient in ("all", None)
            and message.content.content_type in ("text", "multimodal_text")
            and not message.metadata.get("is_visually_hidden_from_conversation")
        ):
            text = "\n\n".join(part for part in message.content.parts if isinstance(part, str))
            model = str(message.metadata.get("model_slug") or "")
            yield Said(message.author.role == "user", text.strip(), time_of(message.create_time), model)


def own_entries(entries: Iterable[Entry]) -> Iterator[Said]:
    for entry in entries:
        if entry.role == "user":
            yield Said(True, entry.text.strip(), time_of(entry.at))
        elif entry.role == "assistant":
            yield Said(False, entry.answer, time_of(entry.at), entry.model, _STATUS.get(entry.status, "completed"))


def ended_turns(said: Iterable[Said]) -> tuple[list[EndedTurn], bool]:
    """Return the turns of a conversation, and whether any of it was too long: questions, answers, their number."""
    # 1. Each question with the messages that answer it.
    groups: list[tuple[Said, list[Said]]] = []
    for message in said:
        if message.is_question or not groups:
            groups.append((message if message.is_question else replace(message, text=""), []))
        if not message.is_question:
            groups[-1][1].append(message)

    # 2. Each of them as a turn, within the limits that a turn of this site has.
    note = "\n\n" + _("[Shortened when it was imported]")
    is_shortened = len(groups) > MAX_TURNS
    turns: list[EndedTurn] = []
    for question, answers in groups[:MAX_TURNS]:
        asked = storable(question.text) or _("[No text]")
        if len(asked) > settings.MESSAGE_MAX_CHARS:
            asked, is_shortened = asked[: settings.MESSAGE_MAX_CHARS - len(note)] + note, True
        answer, is_cut = clean_answer("\n\n".join(message.text for message in answers if message.text))
        if answer and is_cut:
            answer, is_shortened = [*answer[:-1], replace(answer[-1], text=answer[-1].text + note)], True
        models = [message.model for message in answers if message.model]
        started_at = question.at or (turns[-1].ended_at if turns else timezone.now())
        turns.append(
            EndedTurn(
                question=asked,
                answer=answer,
                status=answers[-1].status if answers else "aborted",
                model=redact_text(storable(models[-1]))[:MAX_MODEL_CHARS] if models else "",
                started_at=started_at,
                ended_at=max(started_at, (answers[-1].at if answers else None) or started_at),
            )
        )
    return turns, is_shortened


def clean_answer(text: str) -> tuple[list[AssistantMessage], bool]:
    """Return an answer as it is stored of a model's text, and whether it was too long."""
    limits = TurnLimits(answer_bytes=settings.MAX_ANSWER_BYTES)
    # The road of a model's answer, so that sections, delimiters and secrets are handled alike.
    machine = TurnMachine(turn_id="", model="", provider="", system_prompt="", limits=limits)
    step = machine.begin_step()
    step.feed(RawFields({"content": storable(text)}))
    events = step.end().events
    return [event for event in events if isinstance(event, AssistantMessage)], machine.room.reached is not None


def time_of(value: float | datetime | None) -> datetime | None:
    """Return a time that is not in the future; None where there is none that can be, in any time zone."""
    try:
        at = datetime.fromtimestamp(value, UTC) if isinstance(value, int | float) else value
        at = at and (at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC))
    except (ValueError, OverflowError, OSError):
        return None
    return min(at, timezone.now()) if at and at >= EARLIEST else None


def refusal(message: str, *, code: str = "invalid_import", **values: object) -> InvalidInputError:
    return InvalidInputError(code, message % values, field="file")
