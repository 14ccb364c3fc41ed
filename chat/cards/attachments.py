"""Attached files as the composer and the question's card show them."""

from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import PurePath

from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from chat.cards.view_models import AttachmentView
from reasoning.events import AttachedFile
from reasoning.replay.attachments import IMAGE_TOKENS


def attachment_view(file: AttachedFile, conversation_id: uuid.UUID) -> AttachmentView:
    """Return a file for its owner."""
    address = [conversation_id, uuid.UUID(file.id)]
    tokens = IMAGE_TOKENS if file.is_image else -(-file.chars // 4)
    size = {"size": filesizeformat(file.size), "tokens": number_format(tokens, force_grouping=True)}
    note = _("The first %(count)s characters are used.") % {"count": number_format(file.chars, force_grouping=True)}
    return AttachmentView(
        id=file.id,
        name=file.name,
        url=reverse("chat:attachment", args=address),
        image_url=reverse("chat:attachment_file", args=address) if file.is_image else "",
        size_label=_("%(size)s · ~%(tokens)s tokens") % size,
        kind=(PurePath(file.name).suffix[1:] or file.media_type.rpartition("/")[2])[:4].upper(),
        note=note if file.cut else "",
    )


def draft_view(file: AttachedFile, conversation_id: uuid.UUID, *, takes_images: bool) -> AttachmentView:
    """Return a file that is not sent yet; ``takes_images``: the model that is asked next does."""
    view = attachment_view(file, conversation_id)
    if file.is_image and not takes_images:
        view = replace(view, note=_("This model can’t see images. It is told the name only."))
    return replace(view, remove_url=reverse("chat:attachment_remove", args=[conversation_id, uuid.UUID(file.id)]))
