"""The German catalogue holds all that the product says, says it whole, and is compiled as it is written."""

from __future__ import annotations

import ast
import re

import pytest
from django.utils.translation import ngettext, override

from chat import stored_text
from chat.providers.errors import Endpoint, failure_from_status
from tests import catalogue
from tests.catalogue import ROOT, TEMPLATES

PLACEHOLDER = re.compile(r"%\(\w+\)[-+ 0#]*\d*(?:\.\d+)?[a-zA-Z]|%[a-zA-Z]")
TAG = re.compile(r"<[^>]+>")
SPOKEN = re.compile(r"""(?:aria-label|placeholder|title|alt)="([^"]*)\"""")
# The product's name, and on the way in a quotation of the demonstration with its source.
AS_THEY_ARE = {
    "Legible",
    "The decline reflects the unplanned replacement of rotor blades on six of fourteen turbines at Skerry Sound.",
    "Northwind Tidal Power, Inc. · 10-K · 2026-02-26 · Item 7",
}


def shape(text: str) -> tuple[object, ...]:
    """Return what must be the same in every language."""
    outer = (text[:1].isspace(), text[-1:].isspace(), text.count("\n"))
    return sorted(PLACEHOLDER.findall(text)), sorted(TAG.findall(text)), outer


def spoken_without_a_mark(source: str) -> list[str]:
    """Return the words of a template that no tag of translation holds."""
    source = re.sub(r"\{% blocktranslate.*?%\}.*?\{% endblocktranslate %\}", "{}", source, flags=re.DOTALL)
    source = re.sub(r"\{#.*?#\}|<!--.*?-->", "", source, flags=re.DOTALL)
    source = re.sub(r"\{%.*?%\}|\{\{.*?\}\}", "{}", source, flags=re.DOTALL)
    attributes = [found for tag in TAG.findall(source) for found in SPOKEN.findall(tag)]
    texts = [text.replace("{}", " ").strip(" \n·,") for text in [*TAG.split(source), *attributes]]
    return [text for text in texts if re.search(r"[A-Za-z]{2}", text)]


def test_everything_that_is_said_is_in_the_catalogue() -> None:
    told = {catalogue.key(entry) for entry in catalogue.catalogue()}

    assert {message: path for message, path in catalogue.messages().items() if message not in told} == {}


def test_nothing_is_in_the_catalogue_that_nobody_says() -> None:
    said = catalogue.messages()

    assert [entry.msgid for entry in catalogue.catalogue() if catalogue.key(entry) not in said] == []


def test_every_entry_is_translated_and_none_is_a_guess() -> None:
    written = catalogue.catalogue()

    assert len(written) > 200
    assert written.fuzzy_entries() == []
    assert written.obsolete_entries() == []
    assert [entry.msgid for entry in written if not all(catalogue.words(entry))] == []


def test_every_plural_form_is_there() -> None:
    several = [entry for entry in catalogue.catalogue() if entry.msgid_plural]

    assert several
    assert "nplurals=2" in catalogue.catalogue().metadata["Plural-Forms"]
    assert [entry.msgid for entry in several if set(entry.msgstr_plural) != {0, 1}] == []


def test_placeholders_and_markup_agree() -> None:
    entries = catalogue.catalogue()

    wrong = [
        (entry.msgid, text)
        for entry in entries
        for form, text in enumerate(catalogue.words(entry))
        if shape(text) != shape(entry.msgid_plural if form else entry.msgid)
    ]

    assert wrong == []


def test_compiled_catalogue_is_what_is_written() -> None:
    written, loaded = catalogue.catalogue(), catalogue.compiled()

    assert {catalogue.key(entry): catalogue.words(entry) for entry in loaded} == {
        catalogue.key(entry): catalogue.words(entry) for entry in written
    }
    assert loaded.metadata["Plural-Forms"] == written.metadata["Plural-Forms"]
    assert loaded.metadata["Content-Type"] == "text/plain; charset=UTF-8"


def test_german_is_formal() -> None:
    familiar = re.compile(r"\b(du|dich|dir|dein\w*|ihr seid|euch|euer\w*|eure\w*)\b", re.IGNORECASE)

    said = [text for entry in catalogue.catalogue() for text in catalogue.words(entry)]

    assert [text for text in said if familiar.search(text)] == []


def test_templates_say_nothing_without_a_mark() -> None:
    found = {path.name: spoken_without_a_mark(path.read_text(encoding="utf-8")) for path in TEMPLATES}

    assert {name: left for name, texts in found.items() if (left := [t for t in texts if t not in AS_THEY_ARE])} == {}


@pytest.mark.parametrize(
    "source",
    [
        "<p>Not marked</p>",
        '<button aria-label="Not marked"></button>',
        '{% translate "Marked" %} Not marked',
        "{% if one %}Not marked{% endif %}",
    ],
)
def test_words_without_a_mark_are_noticed(source: str) -> None:
    assert spoken_without_a_mark(source) == ["Not marked"]


def test_kept_words_are_still_said_somewhere() -> None:
    folders = [ROOT / "chat" / "providers", ROOT / "chat" / "tools"]
    files = [
        ROOT / "chat" / "turns" / "run.py",
        ROOT / "chat" / "turns" / "tool_calls.py",
        ROOT / "reasoning" / "trace.py",
    ]
    files += [path for folder in folders for path in folder.rglob("*.py")]

    said = {text for path in files for text in texts_of(path.read_text(encoding="utf-8"))}
    said.add(failure_from_status(429, b"", {}, Endpoint("models.example")).message)

    assert stored_text.STORED - said == set()


def texts_of(source: str) -> set[str]:
    """Return the constant texts of a file."""
    constants = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
    return {value for value in constants if isinstance(value, str)}


def test_calls_are_read_from_a_source() -> None:
    source = """
_("one")
f"{_('inside')}"
ngettext("%(n)s step", "%(n)s steps", n)
pgettext("verb", "Open") + gettext(word) + gettext_noop("in " "pieces")
"""

    assert set(catalogue.of_source(source)) == {
        ("", "one", ""),
        ("", "inside", ""),
        ("", "%(n)s step", "%(n)s steps"),
        ("verb", "Open", ""),
        ("", "in pieces", ""),
    }


def test_calls_are_read_from_a_template() -> None:
    source = """{% load i18n %}<p title="{% translate 'It’s' %}">{% translate "50 %" context "share" %}</p>
{{ name|default:_("Nobody") }}{% blocktranslate count n=n trimmed %}
  {{ n }} step{% plural %}{{ n }} steps
{% endblocktranslate %}"""

    assert set(catalogue.of_template(source)) == {
        ("", "It’s", ""),
        ("share", "50 %%", ""),
        ("", "Nobody", ""),
        ("", "%(n)s step", "%(n)s steps"),
    }


@pytest.mark.parametrize(("language", "one", "two"), [("en", "step", "steps"), ("de", "Schritt", "Schritte")])
def test_each_language_counts_in_its_own_way(language: str, one: str, two: str) -> None:
    with override(language):
        said = [ngettext("%(count)s step", "%(count)s steps", count) % {"count": count} for count in (1, 2, 0)]

    assert said == [f"1 {one}", f"2 {two}", f"0 {two}"]


def test_kept_words_are_shown_in_the_language_of_the_reader() -> None:
    with override("de"):
        assert stored_text.translate_stored("Timed out.") == "Zeit abgelaufen."
        assert stored_text.translate_stored("Settings") == "Settings", "a model's name, for example"
        assert stored_text.translate_stored("") == ""
