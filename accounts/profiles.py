"""A user's saved sets of ``reasoning.*`` values, and the built-in ones, by name.

Loading a profile replaces the values of the layer it is loaded into and changes nothing else (spec 001 EC-005).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from accounts.models import ReasoningProfile, User
from reasoning.replay.dialects import PRESETS
from reasoning.settings import parse_setting

MAX_PROFILES = 50
VALID_NAME = re.compile(r"[\w.:-]{1,40}")


class InvalidProfileError(Exception):
    """A profile can't be saved, loaded or deleted. The message is shown to the user."""


def saved(user: User) -> tuple[ReasoningProfile, ...]:
    """Return the user's saved profiles, ordered by name."""
    return tuple(user.reasoning_profiles.all())


def save(user: User, name: str, values: Mapping[str, Any]) -> None:
    """Save these values under ``name``, replacing an earlier profile of that name. Raises InvalidProfileError."""
    if not VALID_NAME.fullmatch(name):
        raise InvalidProfileError(_("A name is 1 to 40 letters, digits and . : _ - without spaces."))
    if name in PRESETS:
        raise InvalidProfileError(_("%(name)s is a built-in profile; choose another name.") % {"name": name})
    if user.reasoning_profiles.exclude(name=name).count() >= MAX_PROFILES:
        raise InvalidProfileError(_("You have %(most)s profiles already; delete one first.") % {"most": MAX_PROFILES})
    user.reasoning_profiles.update_or_create(name=name, defaults={"values": dict(values)})


def load(user: User, name: str) -> dict[str, Any]:
    """Return the values of a saved or built-in profile.

    Raises InvalidProfileError if there is none, SettingError if it holds a value that is no longer allowed.
    """
    # A profile saved before a preset of the same name was added wins over the preset.
    profile = user.reasoning_profiles.filter(name=name).first()
    if profile is None and name not in PRESETS:
        raise not_found(name, [*(each.name for each in saved(user)), *PRESETS])
    values = profile.values if profile else PRESETS[name].reasoning
    return {key: parse_setting(key, value) for key, value in values.items()}


def delete(user: User, name: str) -> None:
    """Delete a saved profile. Raises InvalidProfileError."""
    deleted, _by_model = user.reasoning_profiles.filter(name=name).delete()
    if deleted:
        return
    if name in PRESETS:
        raise InvalidProfileError(_("%(name)s is built in and can't be deleted.") % {"name": name})
    raise not_found(name, [each.name for each in saved(user)])


def not_found(name: str, names: list[str]) -> InvalidProfileError:
    """Return the error for an unknown name; it lists the known ones."""
    if not names:
        return InvalidProfileError(_("You have saved no profiles yet."))
    text = _("There is no profile %(name)s; there are %(names)s.")
    return InvalidProfileError(text % {"name": name[:40], "names": ", ".join(names)})
