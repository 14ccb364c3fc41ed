"""Documents on their way into a collection: accepted, read in the background, and replaced.

A document waits until a worker of some server claims it (``chat.documents.worker``). It is read in a process of its own
with limits, and its passages are stored in one transaction, so that a search finds all of them or none.
"""

from __future__ import annotations

import hashlib
import logging
from contextlib import suppress
from datetime import timedelta
from threading import Event

from cryptography.fernet import InvalidToken
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import F, Max, OuterRef, Q, Subquery, Sum
from django.db.models.functions import Coalesce
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.access.attempts import AttemptLimit
from accounts.models import User
from chat.documents.passages import PassageText, read_passages
from chat.eventlog import documents, leases
from chat.files.extraction import KINDS, FileText, media_type_of
from chat.files.slots import file_slot
from chat.files.words import clean_name, problem_text, refused_type
from chat.models import Collection, Document, DocumentPassage
from chat.processes import MemoryLimitError, NoProcessError, RenderTimeoutError, idle_processes, run_in_process
from chat.search.passage_text import TARGET_CHARS, anchors
from chat.validation import InvalidInputError

FIELD = "files"
UPLOADS_ALLOWED = 1_000  # in five minutes
MAX_CHARS = 5_000_000  # of a document; what follows can't be searched
MAX_PASSAGES = 20_000  # also of tiny pages: all are compared with those of the last copy and stored at once
AT_ONCE = 2  # in a process of the server
NICENESS = 10  # answers come first
TIME_LIMIT_S, WAIT_LIMIT_S = 60.0, 300.0  # of processor time, and altogether
ABANDONED_AFTER = timedelta(seconds=2 * WAIT_LIMIT_S)  # of a worker on another host
BATCH_ROWS = 200
MAX_CONTEXT_CHARS = 1_000
PROCESSES = idle_processes(AT_ONCE, niceness=NICENESS, wait_s=WAIT_LIMIT_S)
Status = Document.Status
arrived = Event()  # a document was accepted in this process
logger = logging.getLogger(__name__)


def accept(person: User | None, collection: Collection, upload: UploadedFile[bytes]) -> Document:
    """Store a file in a collection and have it read. ``person``: None for a command of the site.

    A file of the same name and content stays as it is, one of the same name replaces it. Raises InvalidInputError.
    """
    name = clean_name(upload.name or "")
    size, limit = upload.size or 0, settings.DOCUMENT_MAX_BYTES
    if size > limit:
        words = _("%(name)s is too large: %(size)s; at most %(limit)s are allowed.")
        raise refusal("too_large", words, name, size=filesizeformat(size), limit=filesizeformat(limit))
    if person and not AttemptLimit("load-document", str(person.pk), allowed=UPLOADS_ALLOWED).take():
        words = _("%(name)s was not added: too many files in a short time. Try again in a few minutes.")
        raise refusal("too_many_uploads", words, name)
    require_room(collection, name, size)
    with file_slot(size) as has_slot:
        if not has_slot:
            raise InvalidInputError("too_many_uploads", problem_text("busy", name), field=FIELD)
        # only now: size, number and quota are known without the content
        content = upload.read()
        media_type, _encoding = media_type_of(name, content) if content else (None, "")
        if media_type not in KINDS:
            words = refused_type(name, media_type, content, with_images=False)
            raise InvalidInputError("unsupported_type", words, field=FIELD)
        digest = hashlib.sha256(content).hexdigest()
        with transaction.atomic():
            Collection.objects.select_for_update().get(pk=collection.pk)  # files that come at once count too
            same = collection.documents.filter(name=name, digest=digest).exclude(status=Status.FAILED)
            if found := same.defer("sealed_content").first():
                return found
            require_room(collection, name, size)
            waiting = {
                "status": Status.WAITING,
                "problem": "",
                "worker": "",
                "digest": digest,
                "media_type": media_type,
            }
            transaction.on_commit(arrived.set)
            return documents.store(collection, name, content, **waiting)


def require_room(collection: Collection, name: str, size: int) -> None:
    """Refuse a file for which its collection or its owner has no room. Raises InvalidInputError."""
    others = Document.objects.exclude(collection=collection, name=name)
    if others.filter(collection=collection).count() >= settings.DOCUMENTS_PER_COLLECTION:
        words = _("%(name)s was not added: at most %(most)s documents can be in a collection.")
        raise refusal("too_many", words, name, most=settings.DOCUMENTS_PER_COLLECTION)
    if collection.owner_id is None:
        return
    # Small files unpack to long texts. The last ordinal is in an index; the texts would have to be read to be measured.
    last = DocumentPassage.objects.filter(document=OuterRef("pk")).order_by("-ordinal").values("ordinal")[:1]
    stored_bytes = F("size") + Coalesce(Subquery(last), 0) * TARGET_CHARS
    used = others.filter(collection__owner=collection.owner_id).aggregate(total=Sum(stored_bytes))["total"] or 0
    if used + size > settings.DOCUMENT_QUOTA_BYTES:
        words = _("%(name)s was not added: your documents would use more than %(limit)s. Delete some.")
        raise refusal("quota", words, name, limit=filesizeformat(settings.DOCUMENT_QUOTA_BYTES))


def refusal(code: str, words: str, name: str, **values: object) -> InvalidInputError:
    return InvalidInputError(code, words % {"name": name, **values}, field=FIELD)


def claim(document: Document) -> bool:
    """Make this process the one that reads a document that waits, or whose worker is gone."""
    before = Document.objects.filter(pk=document.pk, status=document.status, worker=document.worker)
    ours = {"status": Status.READING, "worker": leases.worker(), "changed_at": timezone.now()}
    # Atomic: whoever updates first changes status and worker, so that nobody else finds this row.
    return bool(before.filter(changed_at=document.changed_at).update(**ours))


def claim_next() -> Document | None:
    """Claim the document that has waited longest, of the person for whom none was read for longest."""
    reading = Document.objects.filter(status=Status.READING)
    workers = reading.order_by().values_list("worker", flat=True).distinct()
    dead = [worker for worker in workers if leases.is_dead(worker)]
    abandoned = Q(worker__in=dead) | Q(changed_at__lt=timezone.now() - ABANDONED_AFTER)
    waiting = Document.objects.filter(Q(status=Status.WAITING) | Q(abandoned, status=Status.READING))
    others = Document.objects.exclude(status=Status.WAITING).order_by().values_list("collection__owner")
    served = dict(others.annotate(Max("changed_at")))
    queue = list(waiting.order_by("changed_at").values_list("pk", "collection__owner"))
    queue.sort(key=lambda row: (row[1] in served, served.get(row[1])))
    for key, _owner in queue[:AT_ONCE]:
        document = waiting.defer("sealed_content").filter(pk=key).first()
        if document and claim(document):
            return document
    return None


def read(document: Document) -> None:
    """Read a document that this process has claimed; store its passages, all at once, or why there are none."""
    document = Document.objects.get(pk=document.pk)
    found, texts = FileText(problem="unreadable"), list[PassageText]()
    with suppress(InvalidToken):  # its key is missing
        found, texts = read_apart(document.media_type, documents.content_of(document))
    if not found.problem and not texts:
        found = FileText(problem="empty")
    store(document, found, texts)


def read_apart(media_type: str, content: bytes) -> tuple[FileText, list[PassageText]]:
    """Read a file in a process for documents."""
    args = (media_type, content, MAX_CHARS, MAX_PASSAGES)
    try:
        return run_in_process(read_passages, *args, pool=PROCESSES, limit_s=TIME_LIMIT_S)
    except MemoryLimitError:
        return FileText(problem="memory"), []
    except (RenderTimeoutError, NoProcessError):
        return FileText(problem="slow"), []


def store(document: Document, found: FileText, texts: list[PassageText]) -> None:
    """Store what was read, unless the document was replaced, deleted or claimed by another process meanwhile."""
    known = list(document.passages.order_by("ordinal").values_list("section", "anchor", "text"))
    names = anchors([(one.section, one.text) for one in texts], known)
    ours = Document.objects.filter(
        pk=document.pk, status=Status.READING, worker=leases.worker(), digest=document.digest
    )
    with transaction.atomic():
        if not ours.select_for_update().values_list("pk").first():
            logger.info("document was changed while it was read")
            return
        if not found.problem:  # old passages stay with a file that can't be read: a better copy may have them
            document.passages.all().delete()
            rows = [
                DocumentPassage(
                    document=document,
                    ordinal=ordinal,
                    section=one.section,
                    page=one.page,
                    anchor=anchor,
                    text=one.text,
                    context=" · ".join(filter(None, (found.title or document.name, one.section)))[:MAX_CONTEXT_CHARS],
                )
                for ordinal, (one, anchor) in enumerate(zip(texts, names, strict=True), start=1)
            ]
            DocumentPassage.objects.bulk_create(rows, batch_size=BATCH_ROWS)
        ours.update(
            status=Status.FAILED if found.problem else Status.READY,
            problem=found.problem,
            title=found.title,
            pages=found.pages,
            picture_sizes=found.picture_sizes,
            is_cut=found.is_cut,
            worker="",
            changed_at=timezone.now(),
        )
