"""The states of the page that are looked at for one thing or another, by name: each brings a person there."""

import json
import re
from collections.abc import Callable
from typing import Any

from django.template.loader import render_to_string
from playwright.sync_api import FilePayload, expect

from tests.browser.people import Person
from tests.browser.upstream import calls, opening, plain, reply, says, thinks, waits
from tests.chat.attached import PNG, REPORT

States = dict[str, Callable[[Person], None]]
# What a browser says of the addresses here that lead nowhere, and of forms that are refused or out of date.
NOWHERE = ["status of 404", "status of 400", "status of 403"]
CHATGPT = json.dumps(
    [
        {
            "title": "Imported",
            "create_time": 1.7e9,
            "current_node": "b",
            "mapping": {
                "a": {
                    "id": "a",
                    "parent": None,
                    "children": ["b"],
                    "message": {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Who?"]}},
                },
                "b": {
                    "id": "b",
                    "parent": "a",
                    "children": [],
                    "message": {"author": {"role": "assistant"}, "content": {"content_type": "text", "parts": ["I."]}},
                },
            },
        }
    ]
)
COVENANTS = "What would breach Northwind Tidal’s debt covenants?"


def _empty(person: Person) -> None:
    person.open()
    person.starts_chat()


def _everything_open(person: Person) -> None:
    card = person.reads_finished()
    card.opens_trace()
    card.opens_thinking()
    expect(card.thought).not_to_be_empty()


def _opinion(person: Person) -> None:
    card = person.reads_finished()
    poor = card.root.get_by_role("button", name="Bad answer")
    if poor.get_attribute("aria-pressed") == "true":  # in another test, of the same person
        poor.click()
        expect(poor).to_have_attribute("aria-pressed", "false")
    poor.click()
    expect(card.root.get_by_label("Reason")).to_be_visible()


def _edit(person: Person) -> None:
    person.reads_finished()
    person.page.get_by_role("link", name="Edit question 1").click()
    expect(person.page.get_by_role("textbox", name="Edit question 1")).to_be_focused()


def _menu(person: Person) -> None:
    person.reads_finished()
    person.page.get_by_role("link", name="Conversation menu", exact=True).click()
    expect(person.page.get_by_role("menuitem").first).to_be_focused()


def _rename(person: Person) -> None:
    person.reads_finished()
    person.chooses("Rename")
    expect(person.title_field).to_be_focused()


def _manage(person: Person) -> None:
    person.open(f"{person.site.prepared.finished}manage/")


def _offers(person: Person) -> None:
    _empty(person)
    person.composer.press_sequentially("/set ")
    expect(person.page.get_by_role("option").first).to_be_visible()


def _search(person: Person) -> None:
    person.open()
    person.page.get_by_role("searchbox").fill("turbines")
    expect(person.page.locator("#conversations mark").first).to_be_visible()


def _passage(person: Person) -> None:
    person.reads_finished().answer.locator("a[data-citation]").first.click()
    # Beside the answer on wide screens, else on its page.
    expect(person.page.locator("#reader [data-cited], [data-passage]:target")).to_be_visible()


def _nothing_found(person: Person) -> None:
    person.open("/chats/?q=zeppelin")


def _command(person: Person) -> None:
    person.open()
    person.writes("/set")
    person.send_button.click()
    expect(person.page.locator("#command").get_by_role("table")).to_be_visible()


def _shortcuts(person: Person) -> None:
    person.reads_finished()
    person.page.keyboard.press("Control+/")
    expect(person.page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()


def _share(person: Person) -> None:
    person.reads_finished()
    person.page.get_by_role("link", name="Share").click()
    dialog = person.page.get_by_role("dialog", name="Share this conversation")
    dialog.get_by_role("button", name="Create link").click()
    expect(dialog.get_by_role("heading", name="Active links")).to_be_visible()


def _preview(person: Person) -> None:
    person.open()
    person.starts_chat()
    person.asks(COVENANTS).ends()
    person.open(f"{person.page.url}preview/")


def _next_request(person: Person) -> None:
    person.reads_finished()
    person.page.locator("#context > summary").click()
    expect(person.page.locator("#context .parts")).to_be_visible()


def _at(path: str) -> Callable[[Person], None]:
    return lambda person: person.open(path)


def _reader(person: Person) -> None:
    person.open("/filings/")
    person.submits(person.page.get_by_role("main").get_by_role("link").first)


def _attached(person: Person) -> None:
    _empty(person)
    long_name = f"{'a long name of a file ' * 4}.txt"
    files = [("report.txt", REPORT.encode()), ("a.png", PNG), ("tool.exe", b"MZ\0"), (long_name, b"Text.")]
    payloads = [FilePayload(name=name, mimeType="text/plain", buffer=content) for name, content in files]
    person.page.locator("[name=files]").set_input_files(payloads)
    expect(person.page.locator("#attached > [data-attachment]")).to_have_count(3)
    expect(person.page.locator("#refused-files > p")).to_be_visible()


def _attached_text(person: Person) -> None:
    _attached(person)
    person.submits(person.page.get_by_role("link", name="report.txt"))


def _attached_question(person: Person) -> None:
    _attached(person)
    person.asks("When does its lease end?").ends()


def _project(person: Person) -> None:
    person.open("/projects/")
    person.page.get_by_label("Name").fill("Harbour")
    person.submits(person.page.get_by_role("button", name="Create project"))


def _collection(person: Person) -> None:
    person.open("/documents/")
    person.page.get_by_label("Name").fill("Leases")
    person.submits(person.page.get_by_role("button", name="Create collection"))
    files = [("lease.txt", REPORT.encode()), ("tool.exe", b"MZ\0")]
    payloads = [FilePayload(name=name, mimeType="text/plain", buffer=content) for name, content in files]
    person.page.get_by_label("Add documents").set_input_files(payloads)
    expect(person.page.locator("[data-status=ready]")).to_have_count(1)
    expect(person.page.locator("#uploads [role=alert]")).to_be_visible()


def _document(person: Person) -> None:
    _collection(person)
    person.submits(person.page.get_by_role("link", name="lease.txt", exact=True))


def _document_deletion(person: Person) -> None:
    _collection(person)
    person.submits(person.page.get_by_role("link", name="Delete lease.txt"))


def _chosen_collections(person: Person) -> None:
    _collection(person)
    person.starts_chat()
    person.page.locator(".collections > summary").click()
    person.page.get_by_label("Only these:").check()
    expect(person.page.locator(".collections [name=collection]").first).to_be_visible()


def _of_finished(path: str) -> Callable[[Person], None]:
    return lambda person: person.open(f"{person.site.prepared.finished}{path}")


def _edit_page(person: Person) -> None:
    """Follow the link as a browser without JavaScript does."""
    person.reads_finished()
    person.open(person.page.get_by_role("link", name="Edit question 1").get_attribute("href") or "")


def _cited(person: Person) -> None:
    person.reads_finished().answer.locator("a[data-citation]").first.focus()
    expect(person.page.get_by_role("tooltip")).to_be_visible()


def _details(person: Person) -> None:
    person.reads_finished().root.locator(".numbers > summary").click()
    person.page.locator("#context > summary").click()
    expect(person.page.locator("#context > .numbers__body")).to_be_visible()


def _refused_command(person: Person) -> None:
    _empty(person)
    person.writes("/set reasoning.effort extreme")
    person.send_button.click()
    expect(person.page.locator("#command p, .composer-bar [role=alert]").first).to_be_visible()


def _temporary(person: Person) -> None:
    person.open()
    person.submits(person.page.get_by_role("button", name="Temporary chat"))
    expect(person.page.get_by_text("Temporary chat. Not saved to your history")).to_be_visible()


def _unsent(person: Person) -> None:
    """Send a message while nothing reaches the server: htmx believes in its socket until it is closed."""
    _empty(person)
    person.page.evaluate("WebSocket.prototype.send = () => {}")
    person.writes("Is it lost?")
    person.send_button.click()
    expect(person.page.get_by_text("Not sent yet")).to_be_visible()


def _deleted(person: Person) -> None:
    _empty(person)
    person.asks(COVENANTS).ends()
    person.chooses("Delete")
    expect(person.page.get_by_role("button", name="Undo")).to_be_visible()


def _shared(person: Person) -> None:
    _share(person)
    person.open(person.page.locator(".links__url").first.get_attribute("href") or "")
    person.answer(0).summary.wait_for()


def _share_page(person: Person) -> None:
    _of_finished("share/")(person)
    person.submits(person.page.get_by_role("button", name="Create link"))


def _imports(name: str, content: str, outcome: str | re.Pattern[str]) -> Callable[[Person], None]:
    def go(person: Person) -> None:
        person.open("/data/import/")
        file = FilePayload(name=name, mimeType="application/json", buffer=content.encode())
        person.page.get_by_label("Files").set_input_files(file)
        person.page.get_by_role("button", name="Import", exact=True).click()
        expect(person.page.locator("main").get_by_text(outcome)).to_be_visible()

    return go


def _refused_password(person: Person) -> None:
    person.open("/accounts/password/")
    for field in person.page.locator("main input[type=password]").all():
        field.fill("wrong")
    person.submits(person.page.get_by_role("button", name="Change password"))
    expect(person.page.locator(".errorlist").first).to_be_visible()


def _token(person: Person) -> None:
    person.open("/accounts/tokens/")
    person.page.get_by_label("Name").fill("A script")
    person.submits(person.page.get_by_role("button", name="Create token"))
    expect(person.page.get_by_text("Copy it now.")).to_be_visible()


def _prompt(person: Person) -> None:
    person.open("/prompts/")
    person.page.get_by_label("Name").fill("brief")
    person.page.get_by_label("Text").fill("Answer in three sentences.")
    person.submits(person.page.get_by_role("button", name="Save prompt"))


def _gate(person: Person) -> None:
    person.open()
    expect(person.page.get_by_role("button", name="Sign in")).to_be_visible()


def _refused_sign_in(person: Person) -> None:
    _gate(person)
    person.page.get_by_label("Username").fill("nobody")
    person.page.get_by_label("Password").fill("wrong")
    person.submits(person.page.get_by_role("button", name="Sign in"))
    expect(person.page.get_by_role("alert")).to_be_visible()


def _refused_sign_up(person: Person) -> None:
    person.open("/accounts/signup/")
    person.page.get_by_label("Username").fill("demo")
    for field in person.page.locator("input[type=password]").all():
        field.fill("12345678")
    person.submits(person.page.get_by_role("button", name="Create account"))
    expect(person.page.locator(".errorlist").first).to_be_visible()


def _out_of_date(person: Person) -> None:
    _gate(person)
    person.page.get_by_label("Username").fill("demo")
    person.page.get_by_label("Password").fill("wrong")
    person.context.clear_cookies()
    person.submits(person.page.get_by_role("button", name="Sign in"))
    expect(person.page.get_by_role("heading", name="This form is out of date")).to_be_visible()


def _broken(template: str) -> Callable[[Person], None]:
    """Show a page that only a broken server sends; these are drawn without a request."""

    def go(person: Person) -> None:
        html = render_to_string(template)
        person.page.route("**/broken/", lambda route: route.fulfill(body=html, content_type="text/html"))
        person.open("/broken/")
        person.page.unroute("**/broken/")

    return go


def _reads_in_admin(person: Person) -> None:
    person.open("/admin/chat/conversation/")
    person.submits(person.page.locator("#result_list tbody a").first)


def _preset(person: Person) -> None:
    person.open("/admin/chat/modelprofile/")
    person.submits(person.page.get_by_role("link", name="vLLM", exact=True))


ANSWERS: States = {
    **{"empty": _empty, "opinion": _opinion, "everything open": _everything_open, "edit": _edit, "menu": _menu},
    **{"edit page": _edit_page, "rename": _rename, "passage": _passage, "citation": _cited, "details": _details},
    **{"share": _share, "temporary": _temporary, "unsent": _unsent, "shared": _shared},
}
COMPOSER: States = {
    **{"command": _command, "refused command": _refused_command, "offers": _offers, "shortcuts": _shortcuts},
    **{"attached": _attached, "attached text": _attached_text, "attached question": _attached_question},
    **{"next request": _next_request, "next request page": _of_finished("next-request/")},
    **{"search": _search, "nothing found": _nothing_found, "deleted": _deleted},
}
PAGES: States = {
    **{"manage": _manage, "share page": _share_page, "system prompt": _of_finished("system-prompt/")},
    **{"select": _at("/chats/"), "archived": _at("/chats/archived/"), "found": _at("/chats/?q=covenants")},
    **{"projects": _at("/projects/"), "project": _project, "filings": _at("/filings/"), "reader": _reader},
    **{"documents": _at("/documents/"), "collection": _collection, "document": _document},
    **{"deletion of a document": _document_deletion, "chosen collections": _chosen_collections},
    "no document": _at("/documents/7b0e8f2a-0000-4000-8000-000000000000/"),
    **{"no filing": _at("/filings/none/"), "leaving": _at("/leaving/?url=https%3A%2F%2Fexample.com%2Fa")},
    **{"no way out": _at("/leaving/?url=javascript%3A1"), "nowhere": _at("/nowhere/")},
}
SETTINGS: States = {
    **{"links": _at("/shares/"), "settings": _at("/accounts/settings/"), "password": _at("/accounts/password/")},
    **{"reasoning": _at("/accounts/settings/reasoning/"), "tokens": _token, "prompts": _prompt, "data": _at("/data/")},
    **{"refused password": _refused_password, "import": _at("/data/import/")},
    "refused import": _imports("notes.json", "[]", "There is no conversation in it."),
    "imported": _imports("conversations.json", CHATGPT, re.compile("conversations? (was|were) imported")),
}
CHAT: States = {**ANSWERS, **COMPOSER, **PAGES, **SETTINGS}
STAFF: States = {  # but for Django's own lists, whose style for the other direction comes with a language
    **{
        "new chat": _empty,
        "preview": _preview,
        "index": _at("/admin/"),
        "turns": _at("/admin/chat/turn/"),
        "upload": _at("/admin/filings/filing/add/"),
    },
    **{name: _at(f"/admin/chat/turn/{name}/") for name in ("usage", "guards", "status")},
    **{"conversation": _reads_in_admin, "models": _at("/admin/chat/modelprofile/"), "model": _preset},
}
STRANGER: States = {
    **{"sign in": _gate, "refused sign-in": _refused_sign_in},
    **{"sign up": _at("/accounts/signup/"), "refused sign-up": _refused_sign_up},
    **{"no link": _at("/s/nobody-made-this/"), "out of date": _out_of_date},
    **{f"broken {code}": _broken(f"{code}.html") for code in ("400", "500", "503", "busy")},
}


def _asked(text: str, status: str) -> Callable[[Person], None]:
    def go(person: Person) -> None:
        _empty(person)
        person.asks(text).ends(status)

    return go


def _streaming(person: Person) -> None:
    _empty(person)
    card = person.asks("Still writing?")
    expect(card.answer).to_contain_text("Three begins")
    card.opens_trace()
    card.opens_thinking()
    person.writes("The next question")


def _thinking(person: Person) -> None:
    _empty(person)
    person.asks("Still thinking?").opens_thinking()
    expect(person.answer().thought).to_contain_text("Looking")


def _queued(person: Person) -> None:
    _streaming(person)
    person.send_button.click()
    queue = person.page.locator("#queue")
    queue.get_by_role("link", name="Edit").click()
    expect(queue.get_by_role("textbox", name="Queued message")).to_be_focused()


def _asks_permission(person: Person) -> None:
    _empty(person)
    person.asks("May it read?")
    expect(person.page.get_by_role("group", name="Permission")).to_be_visible()


def _cut(person: Person) -> None:
    _asked("A long one?", "complete")(person)
    expect(person.page.get_by_role("button", name="Continue")).to_be_visible()


def _stopped(person: Person) -> None:
    _empty(person)
    card = person.asks("Still writing?")
    expect(card.answer).to_contain_text("Three begins")
    person.stop_button.click()
    card.ends("stopped")


# States of a running or failed turn: what the model says, and how a person comes there.
Replies = list[dict[str, Any]]
_SEARCH = reply(thinks("Looking. "), calls("searchFilings", '{"query":"covenants"}'))
_WRITING = [
    _SEARCH,
    reply(thinks("Reading. "), says(opening(), "One.\n\n$$\\frac{a}{b}$$\n\nThree begins "), waits("rest")),
]
_READ = reply(calls("readPassage", '{"passageId":"none"}'))
LIVE: dict[str, tuple[Replies, Callable[[Person], None]]] = {
    "thinking": ([reply(thinks("Looking. ", "On. "), waits("rest"))], _thinking),
    "streaming": (_WRITING, _streaming),
    "stopped": (_WRITING, _stopped),
    "approval": ([_READ], _asks_permission),
    "error": ([plain("", faults=[{"kind": "http_error", "status": 401, "times": 9}])], _asked("Anyone?", "error")),
    "cut": ([plain("It begins and", finish="length")], _cut),
    "queued": (_WRITING, _queued),
}
