"""Pages of PDFs as pictures: where a reader shows one, and how it is drawn when somebody asks for it.

A page is drawn in a process of its own with limits, as files are read, and is then stored.
"""

from __future__ import annotations

from functools import partial
from threading import BoundedSemaphore

from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.access.attempts import AttemptLimit
from accounts.models import User
from chat.documents.loading import NICENESS
from chat.eventlog import documents
from chat.files.extraction import PDF
from chat.files.images import ImageFile, draw_page
from chat.filings.reader import ReaderPicture
from chat.models import Document
from chat.processes import MemoryLimitError, NoProcessError, RenderTimeoutError, idle_processes, run_in_process

AT_ONCE = 2  # in a process of the server
TIME_LIMIT_S = 10.0  # of processor time
SLOW_ALLOWED = 5  # pages of a user that took too long or too much memory, in five minutes
UNKNOWN_SIZE = (1_200, 1_697)  # A4, for documents that were read before sizes were stored
WAIT_LIMIT_S = 30.0
PROCESSES = idle_processes(AT_ONCE, niceness=NICENESS)
# Taken before a file is decrypted: those who wait hold no copy of theirs.
drawing = BoundedSemaphore(AT_ONCE)


def has_pictures(document: Document) -> bool:
    """Say whether pages can be shown: of a PDF, unless a newer copy of it has yet to be read."""
    return document.media_type == PDF and document.status == Document.Status.READY


def pictures_of(document: Document, pages: set[int]) -> dict[int, ReaderPicture]:
    """Return where the pictures of pages are, by page; for those that can't be drawn, as is known by now, why."""
    if not has_pictures(document):
        return {}
    failed = document.pictures.filter(page__in=pages, digest=document.digest).exclude(problem="")
    problems = dict(failed.values_list("page", "problem"))
    sizes = document.picture_sizes or []
    pictures = {}
    for page in pages:
        width, height = next(((wide, high) for first, wide, high in reversed(sizes) if first <= page), UNKNOWN_SIZE)
        pictures[page] = ReaderPicture(
            address=reverse("chat:document_page", args=[document.pk, page]),
            label=_("Page %(page)s of %(name)s") % {"page": page, "name": document.name},
            width=width,
            height=height,
            problem=problem_text(problems[page]) if page in problems else "",
        )
    return pictures


def picture(person: User, document: Document, page: int) -> ImageFile:
    """Return a page as a picture: the stored one, else drawn now. Raises Document.DoesNotExist."""
    if stored := documents.picture_of(document, page):
        return ImageFile(*stored)
    slow = AttemptLimit("slow-picture", str(person.pk), allowed=SLOW_ALLOWED)
    if slow.is_used_up() or not drawing.acquire(timeout=WAIT_LIMIT_S):
        return ImageFile(problem="busy")
    try:
        content = documents.content_of(document)
        found = run_in_process(partial(draw_page, content, page), pool=PROCESSES, limit_s=TIME_LIMIT_S)
    except NoProcessError:
        return ImageFile(problem="busy")
    except MemoryLimitError:
        found = ImageFile(problem="memory")
    except RenderTimeoutError:
        found = ImageFile(problem="slow")
    finally:
        drawing.release()
    if found.problem in {"memory", "slow"}:
        slow.take()
    documents.store_picture(document, page, found.content, found.problem)
    return found


def problem_text(problem: str) -> str:
    """Say why a page is not shown as a picture. ``problem``: as ``ImageFile`` names it."""
    return {
        "encrypted": _("This page can’t be shown as a picture: the file is protected by a password."),
        "slow": _("This page can’t be shown as a picture: it takes too long to draw."),
        "memory": _("This page can’t be shown as a picture: it is too large."),
        "unreadable": _("This page can’t be shown as a picture: the file is damaged."),
        "busy": _("This page can’t be shown as a picture now: others are being drawn. Try again in a moment."),
    }[problem]
