"""The composer's commands, from text to an order. Nothing is carried out here; ``chat.orders`` does that.

``/set``, ``/profile`` and ``/help`` are commands; whatever else begins with a slash is a message, but for a lone
``/word``, which is more likely a slip than a question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from django.utils.translation import gettext as _

from accounts.settingwords import LABELS, allowed_text, refusal
from chat.forms import MessageRefused
from reasoning.errors import SettingError
from reasoning.policy import PREFIX, SETTINGS, parsed, setting_name

COMMANDS = ("/set", "/profile", "/help")
UNSET = ("unset", "default")
PROFILE_VERBS = ("save", "load", "delete")
_LONE_WORD = re.compile(r"/[a-z]+", re.IGNORECASE)
Verb = Literal["settings", "setting", "set", "profiles", "save", "load", "delete", "help"]


@dataclass(frozen=True, slots=True)
class Order:
    """What a command asks for. ``name``: of a setting or a profile; ``value``: None falls back to the other layers."""

    verb: Verb
    name: str = ""
    value: Any = None


def parse(text: str) -> Order | None:
    """Return the order that a message is, or None where it is a message for the model. Raises MessageRefused."""
    words = text.split()
    match words[0].lower() if words else "":
        case "/set":
            return _set(" ".join(words[1:]).replace("=", " ", 1).split())
        case "/profile":
            return _profile(words[1:])
        case "/help" if len(words) == 1:
            return Order("help")
        case "/help":
            raise _refused(_("/help takes nothing after it."))
    if words and _is_slip(words):
        listed = ", ".join(COMMANDS)
        raise _refused(_("%(word)s: no such command; there are %(words)s.") % {"word": words[0][:40], "words": listed})
    return None


def parse_change(name: str, value: Any) -> tuple[str, Any]:
    """Return one change as it is kept: the setting's full name, and its value; None falls back to the other layers.

    Raises MessageRefused naming the setting and what is allowed. Spec 001 ERR-001.
    """
    try:
        full = setting_name(name)
        return full, None if value is None else parsed(full, value)
    except SettingError as error:
        raise MessageRefused("invalid_setting", refusal(error), field=error.key) from error


def completions(saved: Iterable[str], built_in: Iterable[str]) -> list[list[str]]:
    """Return what the composer may complete, each with a hint: whole commands, a word longer at each level."""
    found = [["/set ", _("show or change settings")], ["/profile ", _("saved settings")], ["/help", _("all commands")]]
    for name, setting in SETTINGS.items():
        found.append([f"/set {name} ", str(LABELS[name])])
        found += [[f"/set {name} {word}", ""] for word in setting.allowed]
        found.append([f"/set {name} unset", _("as it is elsewhere")])
    found += [[f"/profile {verb} ", hint] for verb, hint in zip(PROFILE_VERBS, _profile_hints(), strict=True)]
    for verb in PROFILE_VERBS:
        found += [[f"/profile {verb} {name}", _("saved")] for name in saved]
    return [*found, *([f"/profile load {name}", _("built in")] for name in built_in)]


def help_rows() -> tuple[tuple[str, str], ...]:
    """Return each command with what it does."""
    save, load, delete = _profile_hints()
    return (
        ("/set", _("show all settings, where each comes from, and what it may be")),
        ("/set reasoning.effort low", _("set one for this conversation")),
        ("/set reasoning.effort unset", _("let the other layers decide again")),
        ("/profile", _("list saved and built-in profiles")),
        ("/profile save NAME", save),
        ("/profile load NAME", load),
        ("/profile delete NAME", delete),
        ("/help", _("this list")),
    )


def _profile_hints() -> tuple[str, str, str]:
    return (
        _("keep what you have set, under a name"),
        _("set here what a profile holds, and nothing else"),
        _("forget a saved profile"),
    )


def _set(words: Sequence[str]) -> Order:
    match words:
        case []:
            return Order("settings")
        case [name]:
            return Order("setting", parse_change(name, None)[0])
        case [name, value]:
            return Order("set", *parse_change(name, None if value.lower() in UNSET else value))
    full = parse_change(words[0], None)[0]
    raise _refused(_("%(name)s takes one value: %(allowed)s.") % {"name": full, "allowed": allowed_text(full)})


def _profile(words: Sequence[str]) -> Order:
    match [word.lower() for word in words[:1]], words[1:]:
        case [], _rest:
            return Order("profiles")
        case ["save"], [name]:
            return Order("save", name)
        case ["load"], [name]:
            return Order("load", name)
        case ["delete"], [name]:
            return Order("delete", name)
    raise _refused(_("/profile alone, or /profile save, load or delete with one name."))


def _is_slip(words: Sequence[str]) -> bool:
    """Return whether an unknown command was meant: a word alone, or one with a setting after it."""
    is_word = bool(_LONE_WORD.fullmatch(words[0]))
    return is_word and (len(words) == 1 or words[1].lower().startswith(PREFIX))


def _refused(message: str) -> MessageRefused:
    return MessageRefused("invalid_command", message, field="text")
