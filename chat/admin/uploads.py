"""Files that staff send, to filings: each by itself, so that one that can't be read doesn't keep out the others."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from chat.filings.ingest import ingest
from chat.filings.submission import MAX_BYTES, DocumentError
from chat.models import Filing

LIMIT_MB = MAX_BYTES // 1024**2
MOST_FILES = 20
SUFFIXES = ".htm,.html,.xhtml,.txt,.xml"


@dataclass(frozen=True, slots=True)
class Loaded:
    """What came of one file: its filing, or the reason why there is none; and a line that says so."""

    filing: Filing | None
    told: str


class FilesInput(forms.ClearableFileInput):
    """A chooser of several files."""

    allow_multiple_selected = True


class FilesField(forms.FileField):
    """Several files, each bounded in size before any is read."""

    widget = FilesInput(attrs={"accept": SUFFIXES})

    def clean(self, data: Any, initial: Any = None) -> list[UploadedFile[bytes]]:
        files = data if isinstance(data, list) and data else [data or None]
        if len(files) > MOST_FILES:
            raise forms.ValidationError(_("At most %(most)d files at once.") % {"most": MOST_FILES})
        return [super(FilesField, self).clean(file, initial) for file in files]


class UploadForm(forms.Form):
    """Documents as EDGAR hands them out, and a filing date for those that state none."""

    documents = FilesField(
        label=gettext_lazy("Files"),
        max_length=255,
        help_text=gettext_lazy("HTML, inline XBRL or text, as EDGAR hands them out."),
    )
    filed_on = forms.DateField(
        label=gettext_lazy("Filing date"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text=gettext_lazy("Used where a document states none itself."),
    )

    def takes(self, results: Sequence[Loaded]) -> bool:
        """Name the files that failed as errors; return whether there are none."""
        for result in results:
            if result.filing is None:
                self.add_error("documents", result.told)
        return self.is_valid()


def load(file: UploadedFile[bytes], filed_on: dt.date | None) -> Loaded:
    """Load one file. It is read only where its size is allowed."""
    name = file.name or ""
    try:
        filing = ingest(_content(file), name=name, filed_on=filed_on)
    except (DocumentError, OSError) as error:
        return Loaded(None, _("%(file)s: not loaded: %(reason)s") % {"file": name, "reason": error})
    count = filing.passages.count()
    passages = ngettext("%(count)d passage", "%(count)d passages", count) % {"count": count}
    told = {"file": name, "filing": filing, "passages": passages}
    return Loaded(filing, _("Loaded %(file)s: %(filing)s, %(passages)s") % told)


def _content(file: UploadedFile[bytes]) -> bytes:
    if (file.size or 0) > MAX_BYTES:
        raise DocumentError(
            _("larger than the limit of %(limit)d MB (%(size).1f MB)")
            % {"limit": LIMIT_MB, "size": (file.size or 0) / 1024**2}
        )
    return bytes(file.read())
