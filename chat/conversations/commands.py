"""The composer's slash commands: parse one, execute it for a person in a conversation, and describe the result.

``/set``, ``/profile``, ``/prompt`` and ``/help`` are commands. A command is neither stored as a message nor sent to
a model.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from django.utils.translation import gettext as _

from accounts import preferences
from accounts.models import User
from accounts.preferences import LABELS, allowed_text, error_text, layer_text, value_label
from chat.conversations import reasoning_settings
from chat.conversations.reasoning_settings import EffectiveSetting
from chat.models import Conversation
from chat.validation import InvalidInputError
from reasoning.errors import SettingError
from reasoning.replay.dialects import PRESETS
from reasoning.settings import PREFIX, SETTINGS, parse_setting, setting_name

COMMANDS = ("/set", "/profile", "/prompt", "/help")
SHOWN_CHARS = 80  # of a prompt in a list
UNSET_WORDS = ("unset", "default")
PROFILE_VERBS = ("save", "load", "delete")
_LONE_WORD = re.compile(r"/[a-z]+", re.IGNORECASE)
Verb = Literal["settings", "set", "profiles", "save", "load", "delete", "prompts", "prompt", "help"]


@dataclass(frozen=True, slots=True)
class Command:
    """A parsed command. ``name``: of a setting or profile; ``value``: None removes the conversation's own value."""

    verb: Verb
    name: str = ""
    value: Any = None


class CommandRow(NamedTuple):
    """A row of a table: what to type, with its name in words where it has one, and the other cells."""

    code: str
    cells: tuple[str, ...]
    label: str = ""


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """What a command reports: a sentence and, where there is more, a table or a text for the composer."""

    text: str
    head: tuple[str, ...] = ()
    rows: tuple[CommandRow, ...] = ()
    is_change: bool = False
    draft: str = ""  # for the composer


def parse(text: str) -> Command | None:
    """Return the command in ``text``, or None where it is a message for the model. Raises InvalidInputError."""
    words = text.split()
    match words[0].lower() if words else "":
        case "/set":
            # "/set name=value" is accepted too
            return parse_set(" ".join(words[1:]).replace("=", " ", 1).split())
        case "/profile":
            return parse_profile(words[1:])
        case "/prompt":
            return parse_prompt(words[1:])
        case "/help" if len(words) == 1:
            return Command("help")
        case "/help":
            raise invalid_command(_("/help has no arguments."))
    # Other texts may begin with a slash ("/etc/hosts is what?"), but a lone "/word", or one that is followed by a
    # setting's name, is more likely a typing error than a question.
    if words and _LONE_WORD.fullmatch(words[0]) and (len(words) == 1 or words[1].lower().startswith(PREFIX)):
        names = {"word": words[0][:40], "words": ", ".join(COMMANDS)}
        raise invalid_command(_("%(word)s: no such command; there are %(words)s.") % names)
    return None


def parse_change(name: str, value: Any) -> tuple[str, Any]:
    """Return a setting's full name and its value as stored; None removes it from its layer.

    Raises InvalidInputError naming the setting and what is allowed. Spec 001 ERR-001.
    """
    try:
        full = setting_name(name)
        return full, None if value is None else parse_setting(full, value)
    except SettingError as error:
        raise InvalidInputError("invalid_setting", error_text(error), field=error.key) from error


def execute(command: Command, person: User, conversation_id: uuid.UUID) -> CommandAnswer:
    """Do what a command asks for, synchronously. Raises InvalidInputError, with nothing changed."""
    # read again: another page may have changed settings since this one was loaded
    conversation = person.conversations.get(pk=conversation_id)
    try:
        match command.verb:
            case "settings":
                return settings_table(command.name, person, conversation)
            case "set":
                return set_value(command, person, conversation)
            case "profiles":
                return profiles_table(person)
            case "prompts":
                return prompts_table(person)
            case "prompt":
                return insert_prompt(command.name, person)
            case "help":
                head = (_("Command"), _("What it does"))
                return CommandAnswer(_("Commands (not sent to the model)"), head=head, rows=help_rows())
            case "save":
                preferences.save_profile(person, command.name, reasoning_settings.chosen_by(person, conversation))
                return CommandAnswer(_("Profile %(name)s is saved.") % {"name": command.name}, is_change=True)
            case "load":
                values = preferences.load_profile(person, command.name)
                reasoning_settings.replace(conversation.pk, values)
                text = _("Profile %(name)s applies from the next message: %(values)s")
                conversation.refresh_from_db()
                text = with_notes(text % {"name": command.name, "values": layer_text(values)}, person, conversation)
                return CommandAnswer(text, is_change=True)
            case "delete":
                preferences.delete_profile(person, command.name)
                return CommandAnswer(_("Profile %(name)s is deleted.") % {"name": command.name}, is_change=True)
    except preferences.InvalidProfileError as error:
        raise InvalidInputError("invalid_profile", str(error), field="text") from error
    except SettingError as error:  # a saved profile may hold a value that is no longer allowed
        raise InvalidInputError("invalid_setting", error_text(error), field="text") from error


def completions(person: User) -> list[list[str]]:
    """Return what the composer may complete, each with a hint: whole commands, and their beginnings word by word."""
    prompts = list(person.prompts.values_list("name", "text"))
    saved = list(person.reasoning_profiles.values_list("name", flat=True))
    found = [
        ["/set ", _("show or change settings")],
        ["/profile ", _("saved settings")],
        ["/prompt " if prompts else "/prompt", _("saved prompts")],
        ["/help", _("all commands")],
    ]
    found += [[f"/prompt {name}", text[:SHOWN_CHARS]] for name, text in prompts]
    for name, setting in SETTINGS.items():
        found.append([f"/set {name} ", str(LABELS[name])])
        found += [[f"/set {name} {word}", ""] for word in setting.allowed]
        found.append([f"/set {name} unset", _("use the default")])
    found += [[f"/profile {verb} ", hint] for verb, hint in zip(PROFILE_VERBS, profile_hints(), strict=True)]
    for verb in PROFILE_VERBS:
        found += [[f"/profile {verb} {name}", _("saved")] for name in saved]
    return [*found, *([f"/profile load {name}", _("built in")] for name in PRESETS)]


def parse_set(words: list[str]) -> Command:
    match words:
        case []:
            return Command("settings")
        case [name]:
            return Command("settings", parse_change(name, None)[0])
        case [name, value]:
            return Command("set", *parse_change(name, None if value.lower() in UNSET_WORDS else value))
    name, _value = parse_change(words[0], None)
    raise invalid_command(_("%(name)s needs one value: %(allowed)s.") % {"name": name, "allowed": allowed_text(name)})


def parse_profile(words: list[str]) -> Command:
    # The verb is compared without case, the name of a profile with it.
    match [word.lower() for word in words[:1]], words[1:]:
        case [], _rest:
            return Command("profiles")
        case ["save" | "load" | "delete" as verb], [name]:
            return Command(verb, name)
    raise invalid_command(_("/profile alone, or /profile save, load or delete with one name."))


def parse_prompt(words: list[str]) -> Command:
    match words:
        case []:
            return Command("prompts")
        case [name]:
            return Command("prompt", name)
    raise invalid_command(_("/prompt alone, or with the name of one prompt."))


def insert_prompt(name: str, person: User) -> CommandAnswer:
    prompt = person.prompts.filter(name=name).first()
    if prompt is None:
        names = ", ".join(person.prompts.values_list("name", flat=True)) or _("none yet")
        raise invalid_command(
            _("There is no prompt %(name)s. Saved prompts: %(names)s.") % {"name": name[:40], "names": names}
        )
    return CommandAnswer(_("Prompt %(name)s is in the composer.") % {"name": name}, draft=prompt.text)


def settings_table(name: str, person: User, conversation: Conversation) -> CommandAnswer:
    """Describe the setting of this name, or all of them."""
    listed = reasoning_settings.list_settings(person, conversation)
    rows = [row for row in listed if row.name == name or (not name and row.is_offered)]
    text = with_notes(_("The settings of the next request"), person, conversation, name)
    head = (_("Setting"), _("Value"), _("Source"), _("Type one of"))
    return CommandAnswer(text, head=head, rows=tuple(map(setting_row, rows)))


def setting_row(row: EffectiveSetting) -> CommandRow:
    allowed = ", ".join(SETTINGS[row.name].allowed) or allowed_text(row.name)
    return CommandRow(row.name, (value_label(row.name, row.value), layer_label(row), allowed), str(LABELS[row.name]))


def set_value(command: Command, person: User, conversation: Conversation) -> CommandAnswer:
    reasoning_settings.change(conversation.pk, {command.name: command.value})
    conversation.refresh_from_db()
    row = next(row for row in reasoning_settings.list_settings(person, conversation) if row.name == command.name)
    values = {"name": LABELS[row.name], "value": value_label(row.name, row.value), "layer": layer_label(row)}
    text = _("%(name)s set to %(value)s (%(layer)s), from the next message") % values
    return CommandAnswer(with_notes(text, person, conversation, row.name), is_change=True)


def with_notes(text: str, person: User, conversation: Conversation, name: str = "") -> str:
    """Add which settings reach nothing at the model of the next request: the one of this name, or all. Product 24."""
    found = [note for of_setting, note in reasoning_settings.notes(person, conversation) if name in ("", of_setting)]
    return ". ".join((text, " ".join(found))) if found else text


def prompts_table(person: User) -> CommandAnswer:
    rows = tuple(CommandRow(prompt.name, (prompt.text[:SHOWN_CHARS],)) for prompt in person.prompts.all())
    if not rows:
        return CommandAnswer(_("You have no prompts yet. Write one in Settings, under Prompts."))
    return CommandAnswer(_("Your prompts"), head=(_("Prompt"), _("Text")), rows=rows)


def profiles_table(person: User) -> CommandAnswer:
    profiles = person.reasoning_profiles.all()
    saved = [CommandRow(profile.name, (_("saved"), layer_text(profile.values))) for profile in profiles]
    built_in = [CommandRow(name, (_("built in"), layer_text(preset.reasoning))) for name, preset in PRESETS.items()]
    head = (_("Profile"), _("Kind"), _("Settings"))
    return CommandAnswer(_("Profiles"), head=head, rows=(*saved, *built_in))


def help_rows() -> tuple[CommandRow, ...]:
    save, load, delete = profile_hints()
    commands = {
        "/set": _("show all settings, where each comes from, and what it may be"),
        "/set reasoning.effort low": _("set one for this conversation"),
        "/set reasoning.effort unset": _("reset this conversation to the default"),
        "/profile": _("list saved and built-in profiles"),
        "/profile save NAME": save,
        "/profile load NAME": load,
        "/profile delete NAME": delete,
        "/prompt": _("list saved prompts"),
        "/prompt NAME": _("put a saved prompt into the composer"),
        "/help": _("this list"),
    }
    return tuple(CommandRow(command, (hint,)) for command, hint in commands.items())


def profile_hints() -> tuple[str, str, str]:
    return (
        _("save current settings as a profile"),
        _("replace the settings of this conversation with a profile"),
        _("delete a saved profile"),
    )


def layer_label(row: EffectiveSetting) -> str:
    labels = {"site": _("site"), "model": _("model"), "user": _("you"), "conversation": _("this conversation")}
    return labels[row.layer] if row.layer else _("default")


def invalid_command(message: str) -> InvalidInputError:
    return InvalidInputError("invalid_command", message, field="text")
