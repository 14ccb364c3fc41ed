"""Nothing that a turn holds leaves by a door that nobody has looked at (product 15).

Two lists, each with its reasons. Every address says what it shows; every module that reads the log or draws cards says
for whom. A new one fails here until it is on its list, and what shows content to people must take a ``Visibility``.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib import admin
from django.urls import URLPattern, URLResolver, get_resolver

from chat.models import Checkpoint, Event
from chat.routing import websocket_urlpatterns
from tests.exits import SHOWN_BY, SILENT

ROOT = Path(__file__).resolve().parent.parent
APPS = ("accounts", "chat", "config")
READERS = {
    "turns", "turn_record", "load_records", "read_newest", "read_page", "read_shared_page", "thinking_for",
    "thinking_of", "history", "question_of", "checkpoint_answer", "checkpoint_thinking", "decrypted_payloads",
}  # fmt: skip
ROWS = {"Event", "Checkpoint"}
DRAWERS = {"chat.cards.build", "reasoning.envelope", "chat.sharing.export"}

OTHERS = ("accounts:", "admin:")  # people and their settings; staff, listed by model below

PAGES = "shows it to people, by a Visibility"
KEEPS = "writes, or works on what stays on the server"
SENDS = "makes the next request, which is the model's; Visibility decides nothing there"
WAITS = "passes rows on to what draws them, and shows nothing itself"
OWN = "gives people back what they typed themselves"
SEARCHES = "titles, questions and answers alone: what Visibility never hides from their owner"
STAFF = "public halves, for staff (product 14)"
DOORS = {
    "chat/api/messages.py": PAGES,
    "chat/api/sse.py": PAGES,
    "chat/cards/build.py": PAGES,
    "chat/sharing/export.py": PAGES,
    "chat/socket/frames.py": PAGES,
    "chat/socket/page.py": PAGES,
    "chat/pages/context.py": PAGES,
    "chat/sharing/links.py": PAGES,
    "chat/sharing/views.py": PAGES,
    "chat/pages/turn_actions.py": PAGES,
    "chat/live/stored.py": WAITS,
    "chat/turns/manager.py": OWN,
    "chat/conversations/search.py": SEARCHES,
    "chat/admin/conversations.py": STAFF,
    "chat/admin/filings.py": STAFF,  # how many answers cite a filing
    "chat/documents/collections.py": KEEPS,  # how many answers cite a document or collection
    "chat/evaluation/run.py": KEEPS,  # in a database of its own
    "chat/turns/finish.py": KEEPS,
    "chat/cards/labels.py": WAITS,
    "chat/cards/pagination.py": WAITS,
    "chat/cards/rendering.py": WAITS,  # answers alone, which everybody sees who sees the conversation
    "chat/management/commands/rerender.py": KEEPS,
    "chat/audit/turns.py": KEEPS,
    "chat/audit/scan.py": KEEPS,
    "chat/turns/requests/compaction.py": SENDS,
    "chat/turns/requests/planning.py": SENDS,
    "chat/conversations/actions.py": KEEPS,
    "chat/turns/queue.py": SENDS,  # an answer that is continued
    "chat/cards/continuation.py": WAITS,
    "chat/request_preview/plan.py": SENDS,  # drawn by view_model.py: texts for administrators, tokens for everybody
}


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _reads_the_log(tree: ast.AST) -> bool:
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name))
    by_name = any(node.value.id in ("eventlog", "read") and node.attr in READERS for node in calls)  # type: ignore[attr-defined]
    imported = {name.rsplit(".", 1)[-1] for name in _imports(tree) if name.startswith("chat.eventlog")} & READERS
    rows = {f"chat.models.{row}" for row in ROWS} | {f"chat.models.turn.{row}" for row in ROWS}
    return by_name or bool(imported) or bool(rows & set(_imports(tree)))


def _found() -> dict[str, ast.AST]:
    """Return the modules outside the log itself that read it or draw cards."""
    found = {}
    for path in sorted(path for app in APPS for path in (ROOT / app).rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(("chat/eventlog/", "chat/models/")) or "/migrations/" in name:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if _reads_the_log(tree) or DRAWERS & set(_imports(tree)):
            found[name] = tree
    return found


def _addresses(patterns: list[URLPattern | URLResolver], namespace: str = "") -> Iterator[str]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            inner = f"{namespace}{pattern.namespace}:" if pattern.namespace else namespace
            yield from _addresses(pattern.url_patterns, inner)
        elif pattern.name:
            yield f"{namespace}{pattern.name}"


@pytest.mark.spec("product 15")
def test_every_address_says_what_it_shows():
    known = {name for name in _addresses(get_resolver().url_patterns) if not name.startswith(OTHERS)}

    assert known == SHOWN_BY.keys() | SILENT
    assert SHOWN_BY.keys().isdisjoint(SILENT)


@pytest.mark.spec("product 15")
def test_there_is_one_socket():
    assert len(websocket_urlpatterns) == 1


@pytest.mark.spec("product 15")
def test_every_module_that_reads_turns_is_on_the_list():
    assert _found().keys() == DOORS.keys()


@pytest.mark.spec("product 15")
@pytest.mark.parametrize("name", sorted(name for name, why in DOORS.items() if why == PAGES))
def test_what_shows_turns_to_people_takes_a_visibility(name):
    words = {
        word
        for node in ast.walk(ast.parse((ROOT / name).read_text(encoding="utf-8")))
        for word in (getattr(node, "id", ""), getattr(node, "attr", ""), getattr(node, "arg", ""))
    }

    assert {"sees", "Visibility", "visibility_for"} & words


@pytest.mark.spec("product 14")
def test_no_sealed_half_is_a_field_of_the_admin():
    for model, registered in admin.site._registry.items():
        if model in (Event, Checkpoint):
            named = {str(field) for field in (*(registered.fields or ()), *registered.list_display)}
            assert named
            assert "sealed" not in named
