"""Carry out a composer command for one person in one conversation, and say what came of it.

A command makes no turn: it is not stored as a message and never sent to a model. Synchronous.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from django.utils.translation import gettext as _

from accounts import profiles
from accounts.models import User
from accounts.settingwords import allowed_text, layer_text, refusal, value_text
from chat import commands, layers
from chat.commands import Order, Verb
from chat.forms import MessageRefused
from chat.layers import InForce
from chat.models import Conversation
from reasoning.errors import SettingError
from reasoning.presets import PRESETS


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """What a command says: a sentence, and a table where there is more to tell."""

    text: str
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    is_change: bool = False


def carry_out(order: Order, person: User, conversation_id: uuid.UUID) -> CommandAnswer:
    """Do what a command asks for. Raises MessageRefused, with nothing changed."""
    conversation = person.conversations.get(pk=conversation_id)
    try:
        return _DOERS[order.verb](order, person, conversation)
    except profiles.ProfileRefused as refused:
        raise MessageRefused("invalid_profile", str(refused), field="text") from refused
    except SettingError as outdated:
        raise MessageRefused("invalid_setting", refusal(outdated), field="text") from outdated


def completions(person: User) -> list[list[str]]:
    """Return what the composer may complete for this person."""
    return commands.completions([profile.name for profile in profiles.saved(person)], PRESETS)


def _set_by(row: InForce) -> str:
    names = {"site": _("site"), "model": _("model"), "user": _("you"), "conversation": _("this conversation")}
    return names[row.layer] if row.layer else _("built in")


def _show_settings(order: Order, person: User, conversation: Conversation) -> CommandAnswer:
    rows = [row for row in layers.listed(person, conversation) if order.name in ("", row.name)]
    return CommandAnswer(
        _("The settings of the next request"),
        head=(_("Setting"), _("Value"), _("Set by"), _("Allowed")),
        rows=tuple((row.name, _value(row), _set_by(row), allowed_text(row.name)) for row in rows),
    )


def _set(order: Order, person: User, conversation: Conversation) -> CommandAnswer:
    layers.change(conversation.pk, {order.name: order.value})
    conversation.refresh_from_db()
    row = next(row for row in layers.listed(person, conversation) if row.name == order.name)
    words = {"name": row.name, "value": _value(row), "layer": _set_by(row)}
    return CommandAnswer(_("%(name)s: %(value)s (%(layer)s), from the next request on") % words, is_change=True)


def _show_profiles(order: Order, person: User, conversation: Conversation) -> CommandAnswer:
    own = [(profile.name, _("saved"), layer_text(profile.values)) for profile in profiles.saved(person)]
    built_in = [(name, _("built in"), layer_text(preset.reasoning)) for name, preset in PRESETS.items()]
    return CommandAnswer(
        _("Profiles, to be loaded by name"), head=(_("Profile"), _("Kind"), _("Holds")), rows=(*own, *built_in)
    )


def _save(order: Order, person: User, conversation: Conversation) -> CommandAnswer:
    profiles.save(person, order.name, layers.chosen_by(person, conversation))
    return CommandAnswer(_("Profile %(name)s is saved.") % {"name": order.name}, is_change=True)


def _load(order: Order, person: User, conversation: Conversation) -> CommandAnswer:
    values = profiles.load(person, order.name)
    layers.replace(conversation.pk, values)
    words = {"name": order.name, "values": layer_text(values)}
    return CommandAnswer(_("Profile %(name)s holds from the next request on: %(values)s") % words, is_change=True)


def _delete(order: Order, person: User, conversation: Conversation) -> CommandAnswer:
    profiles.delete(person, order.name)
    return CommandAnswer(_("Profile %(name)s is deleted.") % {"name": order.name}, is_change=True)


def _help(order: Order, person: User, conversation: Conversation) -> CommandAnswer:
    return CommandAnswer(
        _("Commands; they are not sent to the model"),
        head=(_("Command"), _("What it does")),
        rows=commands.help_rows(),
    )


def _value(row: InForce) -> str:
    return value_text(row.value) or _("not set")


_DOERS: dict[Verb, Callable[[Order, User, Conversation], CommandAnswer]] = {
    "settings": _show_settings,
    "setting": _show_settings,
    "set": _set,
    "profiles": _show_profiles,
    "save": _save,
    "load": _load,
    "delete": _delete,
    "help": _help,
}
