"""The states of the page that are looked at for one thing or another, by name: each brings a person there."""

from collections.abc import Callable

from playwright.sync_api import FilePayload, expect

from tests.browser.people import Person
from tests.chat.attached import PNG, REPORT

States = dict[str, Callable[[Person], None]]
NOWHERE = ["status of 404"]  # what a browser says of the addresses here that lead nowhere


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
    person.open()
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
    person.asks("What would breach Northwind Tidal’s debt covenants?").ends()
    person.open(f"{person.page.url}preview/")


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


def _gate(person: Person) -> None:
    person.open()
    expect(person.page.get_by_role("button", name="Sign in")).to_be_visible()


CHAT: States = {
    **{"empty": _empty, "opinion": _opinion, "everything open": _everything_open, "edit": _edit, "menu": _menu},
    **{"nothing found": _nothing_found, "command": _command, "shortcuts": _shortcuts, "share": _share},
    **{"rename": _rename, "manage": _manage},
    **{"offers": _offers, "search": _search, "passage": _passage},
    **{"links": _at("/shares/"), "settings": _at("/accounts/settings/"), "password": _at("/accounts/password/")},
    **{"reasoning": _at("/accounts/settings/reasoning/"), "tokens": _at("/accounts/tokens/"), "data": _at("/data/")},
    **{"attached": _attached, "attached text": _attached_text, "attached question": _attached_question},
    **{"select": _at("/chats/"), "archived": _at("/chats/archived/"), "project": _project},
    **{"import": _at("/data/import/")},
    **{"filings": _at("/filings/"), "reader": _reader, "nowhere": _at("/nowhere/")},
}
STAFF: States = {  # but for Django's own lists, whose style for the other direction comes with a language
    **{
        "new chat": _empty,
        "preview": _preview,
        "index": _at("/admin/"),
        "turns": _at("/admin/chat/turn/"),
        "upload": _at("/admin/chat/filing/add/"),
    },
    **{"usage": _at("/admin/chat/turn/usage/"), "guards": _at("/admin/chat/turn/guards/")},
}
STRANGER: States = {"sign in": _gate, "sign up": _at("/accounts/signup/"), "no link": _at("/s/nobody-made-this/")}
