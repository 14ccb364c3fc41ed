"""Pages in German contain no English message of ours."""

import re
from collections.abc import Iterator
from typing import Any

from django.test import Client
from lxml import html as markup

from accounts.access.tokens import create_token
from accounts.models import User
from chat import eventlog
from chat.filings.ingest import load_demo
from chat.models import Conversation, Turn
from reasoning.citations import Source, check_citations, citation_to_json
from reasoning.events import AssistantMessage, Reasoning, ToolCall, ToolResult
from tests import catalogue
from tests.factories import PASSWORD, make_conversation, open_turn

GERMAN = {"accept-language": "de-DE,de;q=0.9,en;q=0.5"}
ATTRIBUTES = ("aria-label", "placeholder", "title", "alt", "data-copied", "data-not-copied", "data-failed")
PLACEHOLDER = re.compile(r"%\\\(\w+\\\)[.\d\\]*[sdf]")  # as re.escape writes it
PASSAGE = "Das Wasser stieg langsam und stetig an."
ANSWER = f'> {PASSAGE} [1]\n\nEs fiel: "Das Wasser fiel schnell und stetig ab." [1]'
SOURCE = Source(
    ref=1, kind="filing", title="10-K", publisher="Muster AG", date=None, period="2025-12-31", section="Item 7",
    anchor="#item-7-p1", url="/filings/muster/#item-7-p1", snippet=PASSAGE, text=PASSAGE,
)  # fmt: skip


def german(user: User) -> Client:
    client = Client(headers=GERMAN)
    assert client.login(username=user.username, password=PASSWORD)
    return client


def texts_of(html: bytes | str) -> Iterator[str]:
    """Yield the texts of a page, and the attributes that are read aloud or shown later; not what a user typed."""
    root = markup.fromstring(html)
    for foreign in root.xpath("//*[@lang='en' and name() != 'html'] | //script | //style"):
        foreign.drop_tree()
    texts = [*root.itertext(), *(element.get(name, "") for element in root.iter() for name in ATTRIBUTES)]
    yield from filter(None, (" ".join(text.split()).strip(" ·,") for text in texts))


def english_in(html: bytes | str) -> set[str]:
    """Return the English messages on a page that have a German translation."""
    patterns = [
        re.compile(PLACEHOLDER.sub(".+", re.escape(piece.strip(" ,"))))
        for entry in catalogue.catalogue()
        for text in filter(None, (entry.msgid, entry.msgid_plural))
        for piece in re.split(r"<[^>]+>", text)
        if re.search(r"\w", PLACEHOLDER.sub("", re.escape(piece))) and text not in catalogue.words(entry)
    ]
    return {text for text in texts_of(html) if any(pattern.fullmatch(text) for pattern in patterns)}


def step(status: str, **more: Any) -> dict[str, Any]:
    shared = {"tool": "searchFilings", "args": {"query": "Wasser"}, "durationMs": 1200, "results": None}
    return {**shared, "topCitations": [], "status": status, **more}


def make_answer(conversation: Conversation) -> Turn:
    """Make a turn with thinking, steps of every kind, a verified quotation and an unverified one."""
    traces = {
        "c1": step("ok", results=1, args={"api_key": "[redacted]"}),
        "c2": step("error", error="Timed out."),
        "c3": step("denied"),
        "c4": step("cancelled"),
    }
    turn = open_turn(conversation.pk, text="Wie stand das Wasser?")
    thought = Reasoning(kind="text", text="Hm.", source_field="reasoning", model="m", provider="p", step=0)
    eventlog.append(
        turn, [thought, *(ToolCall(call_id=call, name="searchFilings", arguments="{}", step=0) for call in traces)]
    )
    eventlog.append(turn, [ToolResult(call_id=call, output="{}", ok=call == "c1", step=0) for call in traces], traces)
    checked = tuple(citation_to_json(citation) for citation in check_citations(ANSWER, [SOURCE]))
    answer = AssistantMessage(text=ANSWER, summary=("Gesucht.",), citations=checked, step=1)
    eventlog.close_turn(
        turn,
        [answer],
        status="completed",
        summary_source="trace",
        thinking_ms=12_000,
        model="Offline analyst",
        output_tokens=9,
    )
    return turn


def make_ended(conversation: Conversation, status: Any, **figures: Any) -> None:
    eventlog.close_turn(open_turn(conversation.pk, text="Und dann?"), [], status=status, **figures)


def test_english_on_a_page_is_noticed():
    page = "<p>Settings <b>5 results</b><i lang='en'>Save</i></p><button aria-label='Copy'>Kopieren</button>"

    assert english_in(page) == {"Settings", "5 results", "Copy"}


def test_sign_in_is_german(db, client):
    refused = client.post("/accounts/login/", {"username": "niemand", "password": "falsch"}, headers=GERMAN)
    page = client.get("/accounts/login/", headers=GERMAN)

    assert page["Content-Language"] == "de"
    assert '<html lang="de"' in page.content.decode()
    assert "Anmelden" in set(texts_of(page.content))
    assert english_in(page.content) | english_in(refused.content) == set()


def test_sign_up_and_a_missing_page_are_german(db, client, settings, alice):
    settings.SIGNUP_ENABLED = True

    pages = [client.get("/accounts/signup/", headers=GERMAN), german(alice).get("/filings/unknown/")]

    assert [english_in(page.content) for page in pages] == [set(), set()]
    assert "Diese Quelle ist nicht mehr hier" in set(texts_of(pages[1].content))


def test_empty_chat_is_german(alice):
    page = german(alice).get("/", follow=True)

    assert {"Neuer Chat", "Was möchten Sie wissen?", "Stellen Sie eine Frage …"} <= set(texts_of(page.content))
    assert english_in(page.content) == set()


def test_finished_card_is_german(alice):
    conversation = make_conversation(owner=alice, title="Wasser")
    turn = make_answer(conversation)

    page = german(alice).get(f"{conversation.get_absolute_url()}?open={turn.public_id}")

    words = set(texts_of(page.content))
    assert {
        "Zusammenfassung der Begründung",
        "12 s nachgedacht",
        "Offline-Analyst",
        "Zeit abgelaufen.",
        "Werkzeugschritte",
    } <= words
    assert {"1 Zitat wörtlich gefunden", "wörtlich gefunden", "Quellen", "••• verdeckt (Schlüssel)"} <= words
    assert "4 Schritte · 1 Treffer · 4,8 s" in words
    assert "10-K · Zeitraum bis 2025-12-31 · Item 7 ¶1" in words
    assert english_in(page.content) == set()


def test_other_ends_are_german(alice):
    conversation = make_conversation(owner=alice, title="Wasser")
    for status in ("aborted", "iteration_capped", "interrupted", "completed"):
        make_ended(conversation, status)
    make_ended(conversation, "errored", error_code="internal")

    page = german(alice).get(conversation.get_absolute_url())

    words = set(texts_of(page.content))
    assert {
        "Nach weniger als 1 s gestoppt",
        "Das Modell hat ohne Antwort geendet.",
        "Gestoppt: Auf diesem Server ist etwas schiefgegangen.",
    } <= words
    assert english_in(page.content) == set()


def test_settings_are_german(ada, settings):
    settings.REASONING_SCRATCHPAD_ENABLED = True
    create_token(ada, "")
    client = german(ada)

    paths = ("settings/", "settings/reasoning/", "tokens/", "password/")
    pages = [client.get(f"/accounts/{path}").content for path in paths] + [client.get("/data/").content]

    words = {text for page in pages for text in texts_of(page)}
    assert {"API-Token", "Vorgabe (Automatisch)", "Sehr hoch", "Ohne Namen", "Notizblock", "Konto löschen"} <= words
    assert [english_in(page) for page in pages] == [set()] * 5


def test_filings_are_german_around_their_own_words(alice):
    client = german(alice)
    empty = client.get("/filings/")
    load_demo()
    listed = client.get("/filings/")
    hello = client.get("/", follow=True)

    assert english_in(empty.content) | english_in(listed.content) | english_in(hello.content) == set()
