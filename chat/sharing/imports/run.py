"""Import conversations from exports in the background, and store what became of them.

A thread of this process stores one conversation at a time, each in a transaction of its own, as a process of its own
reads them (``reader``). Sources, steps and thinking are left out, for nothing can check them here. What was imported
before is skipped, so an import that was cut off, as by a restart, continues where the upload is repeated.
"""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.reduction import send_handle
from tempfile import TemporaryFile
from threading import Semaphore, Thread
from typing import IO, Any, NamedTuple

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import DatabaseError, connections, transaction
from django.db.models import Q
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.translation import get_language, override
from django.utils.translation import gettext as _
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_fixed

from accounts.models import User
from chat import eventlog
from chat.conversations.actions import MAX_TITLE_CHARS
from chat.conversations.titles import masked_name, title_from
from chat.eventlog import EndedTurn, leases
from chat.models import Conversation, ConversationImport
from chat.processes import start_process
from chat.sharing.imports.conversation import LEFT_OUT
from chat.sharing.imports.products import product_names
from chat.sharing.imports.reader import (
    MAX_CONVERSATION_BYTES,
    Done,
    Found,
    FoundTurns,
    RefusedUpload,
    Skipped,
    read_uploads,
    shown_name,
)
from chat.sharing.imports.turns import Limits
from chat.texts import db_errors
from chat.turns.manager import turn_manager
from chat.validation import InvalidInputError

MAX_CONVERSATIONS = 5_000
MAX_TURNS = 2_000
MAX_S = 600
MEMORY_BYTES = 768 * 1024**2  # of the process that reads
IMPORTS_AT_ONCE = 2  # in a process: each takes a processor; others wait
REPORT_EVERY_S = 30.0  # of those that wait
POLL_S = 1.0
STORE_AGAIN_S = 5.0
MAX_NAMES = 5  # of what was skipped for one reason
logger = logging.getLogger(__name__)
slots = Semaphore(IMPORTS_AT_ONCE)


class Upload(NamedTuple):
    """An uploaded file: a copy, since Django closes its own with the request."""

    name: str
    file: IO[bytes]


@dataclass(slots=True)
class Report:
    """Result of an import.

    ``skipped`` maps a reason to a count and the first titles; ``left_out`` counts by kind what isn't in the
    conversations that were imported.
    """

    imported: int = 0
    shortened: int = 0
    skipped: dict[str, tuple[int, list[str]]] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)

    @property
    def seen(self) -> int:
        return self.imported + sum(count for count, _names in self.skipped.values())

    def skip(self, reason: str, name: str) -> None:
        count, names = self.skipped.get(reason, (0, []))
        self.skipped[reason] = (count + 1, [*names, name][:MAX_NAMES])

    def leave_out(self, counts: Mapping[str, int]) -> None:
        for kind, count in counts.items():
            self.left_out[kind] = self.left_out.get(kind, 0) + count

    def kinds_left_out(self) -> list[tuple[str, int]]:
        return [(str(words), self.left_out[kind]) for kind, words in LEFT_OUT.items() if self.left_out.get(kind)]

    def reasons(self) -> list[tuple[str, int, list[str]]]:
        return [(reason, count, names) for reason, (count, names) in self.skipped.items()]


def start_import(person: User, uploads: Sequence[UploadedFile[bytes]]) -> None:
    """Import the conversations of uploaded files in the background. Raises InvalidInputError."""
    if sum(upload.size or 0 for upload in uploads) > settings.IMPORT_MAX_BYTES:
        words = _("The files are too large; at most %(most)s are allowed together.")
        raise refusal(words, most=filesizeformat(settings.IMPORT_MAX_BYTES))
    with ExitStack() as stack:
        files: list[Upload] = []
        for upload in uploads:
            file = stack.enter_context(TemporaryFile())
            shutil.copyfileobj(upload, file)
            file.flush()
            files.append(Upload(shown_name(upload.name or ""), file))
        with transaction.atomic():
            User.objects.select_for_update().get(pk=person.pk)  # two uploads may come at once
            current = ConversationImport.objects.filter(owner=person).first()
            if current and current.is_running:  # each takes memory and a processor
                raise refusal(_("Another import is still running. Try again when it has ended."), code="import_running")
            if current:
                current.delete()
            run = ConversationImport.objects.create(owner=person, worker=leases.worker())
        open_files = stack.pop_all()  # the thread closes them
    Thread(target=run_import, args=(run, files, open_files, get_language()), name="import").start()


def end_abandoned() -> None:
    """End the imports whose process has ended, so that they can be repeated at once."""
    for run in ConversationImport.objects.filter(ended_at=None).select_related("owner"):
        if leases.is_dead(run.worker):
            with override(run.owner.language or settings.LANGUAGE_CODE):
                error = _("The import was interrupted. Upload the file again to continue.")
            ConversationImport.objects.filter(pk=run.pk, ended_at=None).update(ended_at=timezone.now(), error=error)


def run_import(run: ConversationImport, files: Sequence[Upload], open_files: ExitStack, language: str | None) -> None:
    """Import files, and store what became of them. Target of a thread."""
    report, error = Report(), ""
    try:
        with open_files, override(language):
            while not slots.acquire(timeout=REPORT_EVERY_S):
                if not save_progress(run, report):
                    return
            try:
                import_files(run, files, report)
            except InvalidInputError as refused:
                error = refused.message
            except Exception as problem:
                logger.warning("import failed", exc_info=True)
                error = failure_text(problem)
            finally:
                slots.release()
        save_end(run, report, error)
    except DatabaseError:  # after a while the page says that it was interrupted
        logger.warning("end of an import not stored", exc_info=True)
    finally:
        connections.close_all()  # those of this thread


def failure_text(error: Exception) -> str:
    """Return why an import ended early."""
    if db_errors.is_disk_full(error):
        return _("The server’s disk is full. Upload the file again when there is room.")
    if db_errors.is_outage(error):
        return _("The server’s database did not answer. Upload the file again to continue.")
    return _("Something went wrong on this server. Upload the file again to continue.")


def save_progress(run: ConversationImport, report: Report, **fields: object) -> bool:
    """Store what was done so far; False where this import was deleted or replaced, or its user may not sign in."""
    rows = ConversationImport.objects.filter(pk=run.pk, owner__is_active=True)
    return bool(rows.update(updated_at=timezone.now(), report=asdict(report), **fields))


def save_end(run: ConversationImport, report: Report, error: str) -> None:
    """Store how an import ended, also where the database that ended it is unavailable for a while."""
    is_late = stop_after_delay(MAX_S)
    retrying = Retrying(
        retry=retry_if_exception(db_errors.is_outage),
        wait=wait_fixed(STORE_AGAIN_S),
        stop=lambda state: turn_manager.is_draining() or is_late(state),
        before_sleep=lambda _state: connections.close_all(),
        reraise=True,
    )
    retrying(save_progress, run, report, error=error, ended_at=timezone.now())


def import_files(run: ConversationImport, files: Sequence[Upload], report: Report) -> None:
    """Import the conversations of files. Raises InvalidInputError where they are no export, or too large."""
    limits = Limits(
        question_chars=settings.MESSAGE_MAX_CHARS,
        answer_bytes=settings.MAX_ANSWER_BYTES,
        turns=MAX_TURNS,
        branch_chars=2 * MAX_CONVERSATION_BYTES,
    )
    names = [upload.name for upload in files]
    args = (names, limits, get_language() or settings.LANGUAGE_CODE)
    process, connection = start_process(read_uploads, *args, name="import", memory_bytes=MEMORY_BYTES)
    refusals: list[str] = []
    ends_at = time.monotonic() + MAX_S
    try:
        for upload in files:
            send_handle(connection, upload.file.fileno(), process.pid)
        while True:
            match receive(connection, ends_at):
                case Found() as found:
                    if not save_progress(run, report):
                        return
                    import_conversation(run, connection, found, report, ends_at)
                case Skipped(reason, name):
                    report.skip(reason, name)
                case RefusedUpload(reason):
                    refusals.append(reason)
                case Done():
                    break
    except (EOFError, ConnectionError, TimeoutError):  # what follows is not even counted
        report.skip(_("Not imported yet. Upload the file again to continue."), ", ".join(names[:MAX_NAMES]))
    finally:
        process.kill()
        process.join()
        process.close()
        connection.close()
    if refusals:
        raise refusal("%(reasons)s", reasons=" ".join(refusals))
    if not report.seen:
        words = _("There is no conversation in it. Exports of %(products)s are read: choose the files as you got them.")
        raise refusal(words, products=product_names())


def receive(connection: Connection[Any, Any], ends_at: float) -> object:
    """Return what the process sends next. Raises EOFError, TimeoutError, InvalidInputError where the server stops."""
    is_ready = False
    while not is_ready:
        if turn_manager.is_draining():
            raise refusal(_("The server was restarted. Upload the file again to continue."))
        if time.monotonic() > ends_at:
            raise TimeoutError
        is_ready = connection.poll(POLL_S)
    return connection.recv()


def import_conversation(
    run: ConversationImport, connection: Connection[Any, Any], found: Found, report: Report, ends_at: float
) -> None:
    """Store one conversation, unless it is here already."""
    person = run.owner
    title = masked_name(found.title, MAX_TITLE_CHARS)
    name = title or found.name
    is_here = Q(import_id=found.import_id)
    if found.first_answer:
        is_here |= Q(turns=found.first_answer)
    same = person.conversations.filter(is_here)
    reason = _("Here already") if same.exists() else ""
    if not reason and report.imported >= MAX_CONVERSATIONS:
        reason = _("Not imported yet. Upload the file again to continue.")
    connection.send(not reason)
    if reason:
        report.skip(reason, name)
        return
    sent = receive(connection, ends_at)
    if not isinstance(sent, FoundTurns):
        report.skip(sent.reason if isinstance(sent, Skipped) else "", name)
        return
    turns = [EndedTurn(*turn) for turn in sent.turns]
    if not any(turn.is_active for turn in turns):
        report.skip(_("No text"), name)
        return
    with transaction.atomic():
        User.objects.select_for_update().get(pk=person.pk)  # the same file may be uploaded twice at once
        if not ConversationImport.objects.filter(pk=run.pk, owner__is_active=True).exists():
            return  # all conversations were deleted meanwhile
        if same.exists():
            report.skip(_("Here already"), name)
            return
        newest = max(turn.ended_at for turn in turns if turn.is_active)
        conversation = Conversation.objects.create(
            owner=person,
            title=title or title_from(next(turn.question for turn in turns if turn.is_active)),
            is_renamed=bool(title),
            import_id=found.import_id,
            updated_at=newest,
        )
        # ``auto_now_add`` ignores a value that is given to create().
        oldest = min(turn.started_at for turn in turns)
        Conversation.objects.filter(pk=conversation.pk).update(created_at=oldest)
        eventlog.add_ended_turns(conversation, turns)
    report.imported += 1
    report.shortened += sent.is_shortened
    report.leave_out(sent.left_out)


def refusal(message: str, *, code: str = "invalid_import", **values: object) -> InvalidInputError:
    return InvalidInputError(code, message % values, field="file")
