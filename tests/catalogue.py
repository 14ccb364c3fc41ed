"""The messages in the product's sources and in its German catalogue, for tests; without gettext's tools.

A message is the key of a catalogue: its context, its text and its plural text.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import polib
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "locale" / "de" / "LC_MESSAGES"
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
SOURCES = sorted(path for app in ("accounts", "chat", "config") for path in (ROOT / app).rglob("*.py"))
Message = tuple[str, str, str]  # context, text, plural text; empty where there is none

_CALLS = {
    **dict.fromkeys(("_", "gettext", "gettext_lazy", "gettext_noop"), ("", "one")),
    **dict.fromkeys(("ngettext", "ngettext_lazy"), ("", "one", "several")),
    **dict.fromkeys(("pgettext", "pgettext_lazy"), ("context", "one")),
    **dict.fromkeys(("npgettext", "npgettext_lazy"), ("context", "one", "several")),
}
_WORD = r"""u?('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")"""
_TEMPLATE_CALL = re.compile(rf"(?<!\w)({'|'.join(_CALLS)})\({_WORD}(?:, {_WORD})?(?:, {_WORD})?(?:,\s*count)?\)")


@cache
def catalogue() -> polib.POFile:
    """Return the German catalogue as written."""
    return polib.pofile(str(FOLDER / "django.po"))


def compiled() -> polib.MOFile:
    """Return the German catalogue as Django loads it."""
    return polib.mofile(str(FOLDER / "django.mo"))


def key(entry: polib.POEntry | polib.MOEntry) -> Message:
    return entry.msgctxt or "", entry.msgid, entry.msgid_plural or ""


def words(entry: polib.POEntry | polib.MOEntry) -> list[str]:
    """Return the translations of an entry: one text, or one for each plural form."""
    return [text for _form, text in sorted(entry.msgstr_plural.items())] or [entry.msgstr]


@cache
def messages() -> dict[Message, str]:
    """Return every message of the product, with a file that uses it."""
    found = {message: path for path in SOURCES for message in of_source(path.read_text(encoding="utf-8"))}
    found |= {message: path for path in TEMPLATES for message in of_template(path.read_text(encoding="utf-8"))}
    return {message: path.relative_to(ROOT).as_posix() for message, path in found.items()}


def of_source(text: str) -> Iterator[Message]:
    """Yield the messages of a Python file. A call with a variable uses messages that are listed elsewhere."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and (name := _called(node)) in _CALLS:
            given = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
            if given and all(isinstance(word, str) for word in given):
                yield _message(name, given)


def of_template(text: str) -> Iterator[Message]:
    """Yield the messages of a template, which Django turns into calls amid blanked text."""
    for found in _TEMPLATE_CALL.finditer(templatize(text)):
        name, *given = found.groups()
        yield _message(name, [ast.literal_eval(word) for word in given if word])


def _called(node: ast.Call) -> str:
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _message(name: str, given: list[str]) -> Message:
    parts = [part for part in _CALLS[name] if part]
    by_part = dict(zip(parts, given, strict=False))
    return by_part.get("context", ""), by_part["one"], by_part.get("several", "")
