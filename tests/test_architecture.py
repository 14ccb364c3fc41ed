"""Rules of the tree that no other tool checks."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from reasoning_stream_cases import CASES

ROOT = Path(__file__).resolve().parent.parent
APPS = ("accounts", "chat", "config", "reasoning")
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
SOURCES = sorted(path for app in APPS for path in (ROOT / app).rglob("*.py") if "migrations" not in path.parts)
RULES = ROOT / "reasoning" / "RULES.md"


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _markup_matching(pattern: str) -> list[str]:
    """Return where ``pattern`` matches in the templates' markup, their own tags and comments blanked."""
    found = re.compile(pattern, re.IGNORECASE | re.DOTALL)
    return [f"{_name(path)}: {match[0][:80]}" for path in TEMPLATES for match in found.finditer(_markup(path))]


def _markup(path: Path) -> str:
    return re.sub(r"\{[%{#].*?[%}#]\}", "{}", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def _imports(path: Path) -> Iterator[str]:
    """Yield every dotted name that a file imports, late imports included."""
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_packages_for_others_import_nothing_of_the_product():
    paths = sorted((ROOT / "packages").glob("*/**/*.py"))
    product = {*APPS, "deploy", "legible_chat", "tests"}

    assert len(paths) > 20
    assert {(_name(path), name) for path in paths for name in _imports(path) if name.split(".")[0] in product} == set()


def _importers(*names: str) -> set[str]:
    return {_name(path) for path in SOURCES if set(names) & set(_imports(path))}


def _mentioning(word: str) -> set[str]:
    """Return the files in whose code, comments and docstrings aside, ``word`` is a name or an attribute."""
    return {_name(path) for path in SOURCES if word in _words(path)}


@cache
def _words(path: Path) -> set[str]:
    words: set[str] = set()
    for node in ast.walk(_tree(path)):
        match node:
            case ast.Name(id=word) | ast.Attribute(attr=word) | ast.alias(name=word):
                words.add(word)
            case ast.Constant(value=str(word)):
                words.add(word)
    return words


def test_tree_is_where_it_is_expected():
    assert len(SOURCES) > 50
    assert len(TEMPLATES) > 10


def test_no_script_inside_a_template():
    assert not _markup_matching(r"<script(?![^>]*\ssrc=)[^>]*>|javascript:")


def test_no_style_inside_a_template():
    assert not _markup_matching(r"<style\b|<[^>]*\sstyle\s*=")


def test_no_event_handler_inside_a_template():
    assert not _markup_matching(r"""<[^>]*[\s"']on[a-z]+\s*=|\shx-on\b|\shx-vals\s*=\s*["']js:""")


def test_no_template_switches_escaping_off():
    unescaped = re.compile(r"\|\s*safe(seq)?\b|autoescape\s+off")

    assert [_name(path) for path in TEMPLATES if unescaped.search(path.read_text(encoding="utf-8"))] == []


def test_markup_is_declared_safe_in_one_place():
    makers = _mentioning("mark_safe") | _importers("django.utils.safestring.mark_safe")

    assert {name for name in makers if not name.startswith(("chat/html/", "chat/html.py"))} == set()
    assert makers, "nothing makes markup: this test looks in the wrong place"


@pytest.mark.spec("product 3")
def test_only_the_log_opens_seals():
    modules = (
        "attachments",
        "documents",
        "read",
        "serialization",
        "maintenance",
        "sealed_values",
        "write",
        "link_tokens",
    )
    log = {f"chat/eventlog/{name}.py" for name in modules}
    assert _importers("chat.eventlog.encryption") <= log | _commands("rotate_keys", "purge_thinking", "audit_storage")


@pytest.mark.spec("product 9")
def test_only_the_gate_makes_grants():
    assert _mentioning("GRANT_KEY") == {"accounts/access/scratchpad.py", "reasoning/scratchpad.py"}


def test_settings_are_read_from_the_environment_in_one_place():
    readers = {_name(path) for path in SOURCES if {"environ", "getenv"} & _words(path)}

    assert readers <= {
        "chat/management/backup.py",  # passes it on to PostgreSQL's tools, with the password
        "chat/management/commands/evaluate.py",  # passes it on to a process with another database
        "config/asgi.py",  # names the settings module
        "config/environment.py",
        "config/env_file.py",  # leaves out what the environment sets already
        "config/serve.py",  # names the settings module
        "config/settings.py",  # ENV_FILE
    }


def test_modules_say_what_they_are_for():
    assert [_name(path) for path in SOURCES if not ast.get_docstring(_tree(path))] == []


def test_nothing_is_named_after_nothing():
    empty_names = {"utils.py", "util.py", "helpers.py", "helper.py", "common.py", "misc.py", "services.py"}

    assert [_name(path) for path in SOURCES if path.name in empty_names] == []


def test_every_rule_has_a_test_and_every_test_names_a_rule():
    text = RULES.read_text(encoding="utf-8")
    listed = {rule.removeprefix("spec ") for rule in re.findall(r"^[-*|]\s*`([^`]+)`", text, re.MULTILINE)}
    tested = {
        rule for path in (ROOT / "tests").rglob("test_*.py") for rule in _marked(path.read_text(encoding="utf-8"))
    }

    tested |= {rule.removeprefix("spec ") for case in CASES for rule in case.rules}

    assert listed
    assert listed - tested == set()
    assert tested - listed == set()


def test_every_rule_that_code_or_a_document_cites_exists():
    rules = set(re.findall(r"^- `([^`]+)`", RULES.read_text(encoding="utf-8"), re.MULTILINE))
    index = (ROOT / "docs/decisions/README.md").read_text(encoding="utf-8")
    decisions = set(re.findall(r"\| `(product \d+)` \|", index))
    numbered = r"rule \d|BR-\d+|EC-\d+|ERR-\d+|invariant \d|case \d|decision \d"
    cited = re.compile(rf"\b(?:normaliser \d+|replay D?\d[\d.]*\d|replay D?\d|product \d+|spec \d+ (?:{numbered}))")
    paths = [*SOURCES, *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").rglob("*.py")]
    texts = {path: re.sub("Spec |Replay |Product ", _lower, path.read_text(encoding="utf-8")) for path in paths}

    found = {(_name(path), rule) for path, text in texts.items() for rule in cited.findall(text)}
    assert len(found) > 100
    assert {(path, rule) for path, rule in found if rule not in rules | decisions} == set()


def _lower(word: re.Match[str]) -> str:
    return word[0].lower()


def _marked(source: str) -> Iterator[str]:
    for arguments in re.findall(r"mark\.spec\(([^)]*)\)", source):
        yield from (rule.removeprefix("spec ") for rule in re.findall(r"""["']([^"']+)["']""", arguments))


def _commands(*names: str) -> set[str]:
    return {f"chat/management/commands/{name}.py" for name in names}
