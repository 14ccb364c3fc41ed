"""Choosing the model of a conversation, by its name: for the page's picker and for the API."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from asgiref.sync import sync_to_async
from django.utils.translation import gettext as _

from chat import upstream
from chat.forms import MessageRefused
from chat.models import Conversation, ModelProfile
from chat.upstream import ChosenModel

SITES_OWN = ""  # the name of no model: whichever answers without a choice


async def find(name: object) -> ChosenModel | None:
    """Return the offered model of this name, or None for the site's own.

    Raises MessageRefused naming the allowed ones, and ProviderError where an endpoint that chooses its model can't be
    asked which one that is.
    """
    offered = await sync_to_async(upstream.offered_models)()
    if name == SITES_OWN:
        return None
    for model in offered:
        if model.name == name:
            return model
    names = [name for name, _label in await _named(offered)]
    if name == names[0]:
        return offered[0]
    raise MessageRefused("unknown_model", _("model: one of %(models)s.") % {"models": ", ".join(names)}, field="model")


def choose(conversation: Conversation, model: ChosenModel | None) -> None:
    """Let this model answer in a conversation from the next request on. Writes the database."""
    name = model.name if model and model.is_profile else None
    conversation.profile = ModelProfile.objects.filter(name=name).first() if name else None
    conversation.save(update_fields=["profile"])


@asynccontextmanager
async def chosen(conversation: Conversation, name: object, *, tell: Callable[[], None]) -> AsyncIterator[None]:
    """Choose the model of this name for what is sent inside; where that is refused, nothing was chosen.

    ``tell`` is called after each change.
    """
    before = conversation.profile
    await sync_to_async(choose)(conversation, await find(name))
    tell()
    try:
        yield
    except MessageRefused:
        conversation.profile = before
        await conversation.asave(update_fields=["profile"])
        tell()
        raise


async def listed() -> list[tuple[str, str]]:
    """Return names and labels of all that may be chosen. Raises ProviderError as ``find`` does."""
    return await _named(await sync_to_async(upstream.offered_models)())


async def _named(offered: Sequence[ChosenModel]) -> list[tuple[str, str]]:
    """Return names and labels; where an endpoint chooses its model, both are the name that it has chosen."""
    named = [(model.name, model.label) for model in offered]
    if not offered[0].name:
        found = (await upstream.provider(offered[0])).model
        named[0] = (found, found)
    return named
