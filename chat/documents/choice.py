"""Which collections a conversation or a project reads: what may be chosen, and what was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat.documents.access import readable_collections
from chat.models import Conversation, Project
from chat.url_converters import parse_id
from chat.validation import InvalidInputError

FIELD = "collections"
Reads = Literal["all", "none", "some"]


@dataclass(frozen=True, slots=True)
class CollectionOption:
    """A collection that may be chosen."""

    id: str
    name: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class CollectionChoice:
    """What is chosen: all of them, none, or ``some``. ``default_label`` names what is read without a choice."""

    reads: Reads
    label: str
    default_label: str
    options: tuple[CollectionOption, ...]

    @property
    def is_default(self) -> bool:
        return self.reads == "all"


def collection_choice(place: Conversation | Project) -> CollectionChoice | None:
    """Return the choice of a conversation or a project; None where its owner has no collection to read."""
    chosen = place.collection_ids
    options = tuple(
        CollectionOption(each.pk.hex, each.name, is_chosen=chosen is not None and each.pk.hex in chosen)
        for each in readable_collections(place.owner_id)
    )
    if not options:
        return None
    project = place.project if isinstance(place, Conversation) else None
    is_of_project = project is not None and project.collection_ids is not None
    default_label = _("As the project") if is_of_project else _("All collections")
    found = [option.name for option in options if option.is_chosen]
    reads: Reads = "all" if chosen is None else "some" if found else "none"
    match reads:
        case "all":
            label = default_label
        case "none":
            label = _("No documents")
        case "some" if len(found) == 1:
            label = found[0]
        case _:
            label = ngettext("%(count)s collection", "%(count)s collections", len(found)) % {"count": len(found)}
    return CollectionChoice(reads, label, default_label, options)


def read_choice(form: QueryDict) -> object:
    """Return what a form chooses, for ``clean_choice``. Raises InvalidInputError."""
    match form.get("reads"):
        case "all":
            return None
        case "none":
            return []
        case "some":
            return form.getlist("collection")
    raise InvalidInputError("invalid", _("reads: one of all, none, some."), field="reads")


def clean_choice(owner_id: int, value: object) -> list[str] | None:
    """Validate a choice: None for the default, else ids of collections that this person may read.

    Raises InvalidInputError, of the code ``unknown_collection`` also for those of somebody else.
    """
    if value is None:
        return None
    if not isinstance(value, Sequence) or isinstance(value, str):
        words = _("collections: null or a list of ids of collections is needed.")
        raise InvalidInputError("invalid", words, field=FIELD)
    known = set(readable_collections(owner_id).values_list("pk", flat=True))
    ids = [parse_id(each) for each in value]
    if unknown := next((each for each, pk in zip(value, ids, strict=True) if pk not in known), None):
        words = _("collections: there is no collection %(id)s.") % {"id": str(unknown)[:40]}
        raise InvalidInputError("unknown_collection", words, field=FIELD)
    return [each.hex for each in dict.fromkeys(ids) if each]
