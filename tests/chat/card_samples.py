"""Views to draw templates with, and how to draw them."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.template.loader import render_to_string
from django.urls import include, path
from django.utils.safestring import SafeString
from lxml import html as markup

from chat.cards.view_models import (
    AnswerView,
    ArgView,
    CardActions,
    ClockTime,
    ContextView,
    LinkView,
    QuestionView,
    SourceView,
    StepView,
    ThinkingView,
)
from chat.conversations.sidebar import Group, Sidebar
from reasoning.visibility import Visibility

HOSTILE = "<img src=x onerror=alert(1)>&\"'"
AT = ClockTime.of(datetime(2026, 3, 12, 14, 2, tzinfo=UTC))
STEP = StepView(
    tool="searchFilings",
    state="done",
    state_label="Done",
    args=(ArgView("query", "covenant"), ArgView("token", "", "key"), ArgView("to", "u***@domain.com", "email")),
    results_label="4 results",
    duration_label="412 ms",
    citations=(LinkView("/filings/x/#item-7-p31", "10-K · 2026-02-26 · Item 7"),),
)
ANSWER = AnswerView(
    id="a1",
    number=1,
    status="complete",
    model="Offline analyst",
    at=AT,
    sees=Visibility(),
    answer_html=SafeString("<p>It <strong>met</strong> them.</p>"),
    points=("Searched the newest 10-K.", "Read the tests."),
    steps=(STEP,),
    steps_label="1 step",
    steps_detail="4 results · 0.4 s",
    actions=CardActions(
        copy_url="/copy/a1/",
        retry_url="/retry/a1/",
        is_retry_offered=True,
        trace_url="/trace/a1/",
        usage_label="812 in · 340 think · 410 out",
    ),
    thinking=ThinkingView("Thought for 12 s", 340, "/thinking/a1/", size_label="~340 tokens"),
    sources=(SourceView(1, "/filings/x/#item-7-p31", "10-K · 2026-02-26 · Item 7", "filing"),),
    found_label="2 quotations found word for word",
    uncited_label="3 sentences without a source",
)
BARE = replace(ANSWER, points=(), steps=(), steps_label="0 steps", steps_detail="", thinking=None, sources=())
LIVE = replace(
    BARE,
    status="streaming",
    status_text="Searching filings…",
    elapsed_s=2,
    found_label="",
    actions=CardActions(trace_url="/trace/a1/"),
    thinking=ThinkingView("Thinking…", 0, "/thinking/a1/"),
)
QUESTION = QuestionView("a1-q", 1, "What would breach the covenants?", AT)


def _view(*_args: object, **_named: object) -> HttpResponse:
    return HttpResponse()


def _names(app: str, **routes: str) -> Any:
    return path("", include(([path(route, _view, name=name) for name, route in routes.items()], app)))


urlpatterns = [
    _names(
        "chat",
        home="",
        conversations="chats/",
        conversation="chats/<id:conversation_id>/",
        messages="chats/<id:conversation_id>/messages/",
        stop="chats/<id:conversation_id>/stop/",
        manage="chats/<id:conversation_id>/manage/",
        share="chats/<id:conversation_id>/share/",
        shares="shares/",
        archived="chats/archived/",
        completions="chats/completions/",
        projects="projects/",
        filings="filings/",
        documents="documents/",
        manifest="manifest.webmanifest",
    ),
    _names(
        "accounts",
        **{name: f"{name}/" for name in ("login", "logout", "signup", "password", "settings", "token_create")},
        token_revoke="tokens/<int:pk>/",
        settings_reasoning="settings/reasoning/",
        **{f"profile_{deed}": f"profiles/<int:pk>/{deed}/" for deed in ("use", "delete")},
        **{f"toggle_show_{name}": f"{name}/" for name in ("reasoning", "trace", "scratchpad")},
    ),
]


def draw(template: str, **context: Any) -> markup.HtmlElement:
    """Draw a template and return the root of what came out."""
    return markup.fragment_fromstring(f"<div>{text_of(template, **context)}</div>")


def text_of(template: str, **context: Any) -> str:
    return render_to_string(template, context)


def card(view: AnswerView, **context: Any) -> markup.HtmlElement:
    return draw("chat/card/_card.html", card=view, **context)[0]


def page(**context: Any) -> markup.HtmlElement:
    """Draw the whole conversation page."""
    return markup.fromstring(text_of("chat/conversation.html", **page_context(**context)))


def page_context(**changes: Any) -> dict[str, Any]:
    conversation = SimpleNamespace(id=UUID(int=1), title="Covenants")
    return {
        "conversation": conversation,
        "sidebar": Sidebar((Group("Today", (conversation, SimpleNamespace(id=UUID(int=2), title="")), is_today=True),)),
        "items": [{"question": QUESTION, "answer": ANSWER}],
        "queued": [],
        "running": False,
        "sees": Visibility(),
        "context": ContextView(18560, 32000),
        "model_name": "Offline analyst",
        "limit_chars": 32000,
        "starters": (),
        "corpus": None,
        "scratchpad_on": False,
        "socket_path": "/ws/chats/1/",
        "csrf_token": "token",
        "user": SimpleNamespace(get_username=lambda: "alice"),
        "request": SimpleNamespace(path="/chats/1/"),
        **changes,
    }


def one(root: markup.HtmlElement, selector: str) -> markup.HtmlElement:
    """Return the only element that ``selector`` finds."""
    (found,) = all_of(root, selector)
    return found


def all_of(root: markup.HtmlElement, selector: str) -> list[markup.HtmlElement]:
    """Find by ``#id``, ``tag``, ``.class``, ``[attribute]`` or ``[attribute=value]``, the root included."""
    name, _, value = selector.strip("[]#.").partition("=")
    test = {
        "#": f"@id='{name}'",
        ".": f"contains(concat(' ', @class, ' '), ' {name} ')",
        "[": f"@{name}='{value}'" if value else f"@{name}",
    }.get(selector[0], f"self::{name}")
    return list(root.xpath(f"descendant-or-self::*[{test}]"))


def words(elements: Iterable[markup.HtmlElement]) -> str:
    """Return the text of elements, white space folded."""
    return " ".join(" ".join(element.text_content().split()) for element in elements)
