"""A person's saved sets of ``reasoning.*`` values, and the built-in ones, by name.

What a set holds replaces what was set where it is loaded; nothing else about a conversation changes (spec 001 EC-005).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from accounts.models import ReasoningProfile, User
from reasoning.policy import parsed
from reasoning.presets import PRESETS

MOST = 50
_NAME = re.compile(r"[\w.:-]{1,40}")


class ProfileRefused(Exception):
    """A profile can't be saved, loaded or deleted. The message is for people."""


def saved(person: User) -> tuple[ReasoningProfile, ...]:
    """Return what this person saved, by name."""
    return tuple(person.reasoning_profiles.all())


def save(person: User, name: str, values: Mapping[str, Any]) -> None:
    """Keep these values under ``name``, in place of what stood there. Raises ProfileRefused."""
    if not _NAME.fullmatch(name):
        raise ProfileRefused(_("A name is 1 to 40 letters, digits and . : _ - without spaces."))
    if name in PRESETS:
        raise ProfileRefused(_("%(name)s is a built-in profile; choose another name.") % {"name": name})
    others = person.reasoning_profiles.exclude(name=name)
    if others.count() >= MOST:
        raise ProfileRefused(_("You have %(most)s profiles already; delete one first.") % {"most": MOST})
    person.reasoning_profiles.update_or_create(name=name, defaults={"values": dict(values)})


def load(person: User, name: str) -> dict[str, Any]:
    """Return the values of a saved or built-in profile. Raises ProfileRefused, SettingError where one is outdated."""
    own = person.reasoning_profiles.filter(name=name).first()
    if own is None and name not in PRESETS:
        raise ProfileRefused(_nothing_named(person, name, built_in=True))
    values = own.values if own else PRESETS[name].reasoning
    return {key: parsed(key, value) for key, value in values.items()}


def delete(person: User, name: str) -> None:
    """Delete a saved profile. Raises ProfileRefused."""
    if name in PRESETS and not person.reasoning_profiles.filter(name=name).exists():
        raise ProfileRefused(_("%(name)s is built in and can't be deleted.") % {"name": name})
    deleted, _by_model = person.reasoning_profiles.filter(name=name).delete()
    if not deleted:
        raise ProfileRefused(_nothing_named(person, name, built_in=False))


def _nothing_named(person: User, name: str, *, built_in: bool) -> str:
    names = [profile.name for profile in saved(person)] + (list(PRESETS) if built_in else [])
    if not names:
        return _("You have saved no profiles yet.")
    return _("There is no profile %(name)s; there are %(names)s.") % {"name": name[:40], "names": ", ".join(names)}
