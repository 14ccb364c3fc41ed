"""The German catalogue contains every message of the product, completely translated, and is compiled."""

import ast
import re

import pytest
from django.utils.translation import ngettext, override

from chat.texts import stored_text
from tests import catalogue
from tests.catalogue import ROOT, TEMPLATES

PLACEHOLDER = re.compile(r"%\(\w+\)[-+ 0#]*\d*(?:\.\d+)?[a-zA-Z]|%[a-zA-Z]")
TAG = re.compile(r"<[^>]+>")
TEXT_ATTRIBUTES = re.compile(r"""(?:aria-label|placeholder|title|alt)="([^"]*)\"""")
# The product's name, and on the sign-in page a quotation of the demo corpus with its source.
UNTRANSLATED = {
    "Legible",
    "The decline reflects the unplanned replacement of rotor blades on six of fourteen turbines at Skerry Sound.",
    "Northwind Tidal Power, Inc. · 10-K · 2026-02-26 · Item 7",
}


def shape(text: str) -> tuple[object, ...]:
    """Return what must be the same in every language."""
    outer = (text[:1].isspace(), text[-1:].isspace(), text.count("\n"))
    return sorted(PLACEHOLDER.findall(text)), sorted(TAG.findall(text)), outer


def untranslatable_words(source: str) -> list[str]:
    """Return the words of a template that are outside all translation tags."""
    source = re.sub(r"\{% blocktranslate.*?%\}.*?\{% endblocktranslate %\}", "{}", source, flags=re.DOTALL)
    source = re.sub(r"\{#.*?#\}|<!--.*?-->", "", source, flags=re.DOTALL)
    source = re.sub(r"\{%.*?%\}|\{\{.*?\}\}", "{}", source, flags=re.DOTALL)
    attributes = [found for tag in TAG.findall(source) for found in TEXT_ATTRIBUTES.findall(tag)]
    texts = [text.replace("{}", " ").strip(" \n·,") for text in [*TAG.split(source), *attributes]]
    return [text for text in texts if re.search(r"[A-Za-z]{2}", text)]


def test_every_message_is_in_the_catalogue():
    listed = {catalogue.key(entry) for entry in catalogue.catalogue()}

    assert {message: path for message, path in catalogue.messages().items() if message not in listed} == {}


def test_every_entry_of_the_catalogue_is_used():
    used = catalogue.messages()

    assert [entry.msgid for entry in catalogue.catalogue() if catalogue.key(entry) not in used] == []


def test_every_entry_is_translated_and_none_is_fuzzy():
    written = catalogue.catalogue()

    assert len(written) > 200
    assert written.fuzzy_entries() == []
    assert written.obsolete_entries() == []
    assert [entry.msgid for entry in written if not all(catalogue.words(entry))] == []


def test_every_plural_form_is_translated():
    several = [entry for entry in catalogue.catalogue() if entry.msgid_plural]

    assert several
    assert "nplurals=2" in catalogue.catalogue().metadata["Plural-Forms"]
    assert [entry.msgid for entry in several if set(entry.msgstr_plural) != {0, 1}] == []


def test_placeholders_and_markup_agree():
    entries = catalogue.catalogue()

    wrong = [
        (entry.msgid, text)
        for entry in entries
        for form, text in enumerate(catalogue.words(entry))
        if shape(text) != shape(entry.msgid_plural if form else entry.msgid)
    ]

    assert wrong == []


def test_token_has_one_plural():
    """“Token” is right for one and for several; “Tokens” is the genitive only."""
    texts = [text for entry in catalogue.catalogue() for text in catalogue.words(entry)]

    assert [text for text in texts if re.search(r"(?<!seines )\bTokens\b", text)] == []


def test_compiled_catalogue_equals_the_written_one():
    written, loaded = catalogue.catalogue(), catalogue.compiled()

    assert {catalogue.key(entry): catalogue.words(entry) for entry in loaded} == {
        catalogue.key(entry): catalogue.words(entry) for entry in written
    }
    assert loaded.metadata["Plural-Forms"] == written.metadata["Plural-Forms"]
    assert loaded.metadata["Content-Type"] == "text/plain; charset=UTF-8"


def test_every_word_of_a_template_is_translatable():
    found = {path.name: untranslatable_words(path.read_text(encoding="utf-8")) for path in TEMPLATES}

    assert {name: left for name, texts in found.items() if (left := [t for t in texts if t not in UNTRANSLATED])} == {}


def test_stored_texts_are_still_written_somewhere():
    folders = [ROOT / "chat" / name for name in ("mcp", "providers", "tools", "web")]
    files = [
        ROOT / "chat" / "turns" / "tool_calls.py",
        ROOT / "chat" / "turns" / "execute.py",
        ROOT / "reasoning" / "trace.py",
    ]
    files += [path for folder in folders for path in folder.rglob("*.py")]

    written = {text for path in files for text in texts_of(path.read_text(encoding="utf-8"))}

    assert stored_text.STORED - written == set()


def texts_of(source: str) -> set[str]:
    """Return the constant texts of a file."""
    constants = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
    return {value for value in constants if isinstance(value, str)}


@pytest.mark.parametrize(("language", "one", "two"), [("en", "step", "steps"), ("de", "Schritt", "Schritte")])
def test_each_language_has_its_plurals(language, one, two):
    with override(language):
        counted = [ngettext("%(count)s step", "%(count)s steps", count) % {"count": count} for count in (1, 2, 0)]

    assert counted == [f"1 {one}", f"2 {two}", f"0 {two}"]


def test_stored_texts_are_shown_in_the_language_of_the_viewer():
    with override("de"):
        assert stored_text.translate_stored("Timed out.") == "Zeit abgelaufen."
        assert stored_text.translate_stored("Settings") == "Settings", "a model's name, for example"
        assert stored_text.translate_stored("") == ""
