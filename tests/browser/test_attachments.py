"""Files in the composer: picked, pasted, dropped, removed, refused in words, sent, and there after a reload."""

import pytest
from playwright.sync_api import FilePayload, Locator, Request, Route, expect

from tests.browser.people import Person
from tests.browser.watching import wait_until
from tests.chat.attached import PNG, REPORT, make_pdf

TEXT = FilePayload(name="report.txt", mimeType="text/plain", buffer=REPORT.encode())
DATA_TRANSFER = """([type, name, bytes]) => {
  const files = new DataTransfer();
  files.items.add(new File([new Uint8Array(bytes)], name, { type }));
  return files;
}"""
PASTE = """(text, clipboardData) => text.dispatchEvent(
  new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true })
)"""


def chips(demo: Person) -> Locator:
    return demo.page.locator("#attached > li")


@pytest.mark.slow
def test_files_are_attached_removed_sent_and_there_after_a_reload(visit, offline):
    demo = visit(offline)
    demo.starts_chat()
    field = demo.page.get_by_label("Attach files")

    field.focus()  # as the keyboard reaches it
    field.set_input_files([TEXT, FilePayload(name="tool.exe", mimeType="x/y", buffer=b"MZ\0")])
    expect(demo.page.get_by_role("alert").filter(has_text="tool.exe can’t be read")).to_be_visible()
    demo.page.get_by_role("button", name="Dismiss").click()
    image = demo.page.evaluate_handle(DATA_TRANSFER, ["image/png", "pasted.png", list(PNG)])
    demo.composer.evaluate(PASTE, image)
    expect(chips(demo).filter(has_text="pasted.png")).to_contain_text("This model can’t see images.")
    pdf = demo.page.evaluate_handle(DATA_TRANSFER, ["application/pdf", "dropped.pdf", list(make_pdf("Dropped."))])
    demo.page.locator("#log").dispatch_event("dragover", {"dataTransfer": pdf})
    expect(demo.page.locator("[data-composer]")).to_have_attribute("data-drop", "")
    demo.page.locator("#log").dispatch_event("drop", {"dataTransfer": pdf})
    expect(chips(demo)).to_have_count(3)
    demo.page.get_by_role("button", name="Remove dropped.pdf").click()
    expect(chips(demo)).to_have_count(2)
    expect(demo.composer).to_be_focused()
    demo.page.reload()  # what is attached and not sent is still there
    expect(chips(demo)).to_have_count(2)

    demo.asks("When does its lease end?").ends()

    expect(chips(demo)).to_have_count(0)
    for _time in ("live", "reloaded"):
        question = demo.page.locator("[data-role=user]")
        expect(question.get_by_role("link", name="report.txt")).to_be_visible()
        thumbnail = question.locator("img")
        expect(thumbnail).to_be_visible()
        assert thumbnail.evaluate("image => image.decode().then(() => image.naturalWidth)") == 1
        demo.page.reload()
    demo.page.locator("a[data-citation]").first.click()
    expect(demo.page.locator("#reader [data-cited] mark")).to_contain_text("Its lease ends on 30 June 2031")


@pytest.mark.slow
def test_file_that_no_script_can_upload_is_refused_in_words(visit, offline):
    demo = visit(offline)
    demo.starts_chat()
    demo.page.route("**/js/attachments*.js", lambda route: route.abort())
    demo.watch.expected += ["net::ERR_FAILED"]

    demo.page.get_by_label("Attach files").set_input_files([TEXT])

    expect(demo.page.get_by_role("alert").filter(has_text="report.txt: could not be uploaded")).to_be_visible()


@pytest.mark.slow
@pytest.mark.spec("product 44")
def test_page_asks_before_it_is_left_while_a_file_is_uploaded(visit, offline):
    demo = visit(offline)
    demo.starts_chat()
    held: list[Route] = []
    demo.page.route("**/attachments/", lambda route: held.append(route))
    demo.composer.click()  # of a page that nobody has used browsers ask nothing
    demo.page.get_by_label("Attach files").set_input_files([TEXT])
    wait_until(demo.page, lambda: bool(held))

    with demo.page.expect_event("dialog") as asked:
        demo.page.once("dialog", lambda dialog: dialog.dismiss())
        demo.page.evaluate("location.assign('/projects/')")
    assert asked.value.type == "beforeunload"
    held[0].continue_()

    expect(chips(demo).get_by_role("link", name="report.txt")).to_be_visible()
    demo.open("/projects/")  # nothing asks any more
    expect(demo.page.get_by_role("heading", name="Projects")).to_be_visible()


@pytest.mark.slow
def test_copied_file_is_attached_and_of_copied_cells_the_text_is_pasted(visit, offline):
    demo = visit(offline)
    demo.starts_chat()

    for name, formats in (("cells.png", ["text/plain", "text/html"]), ("copied.png", ["text/plain"])):
        copied = demo.page.evaluate_handle(DATA_TRANSFER, ["image/png", name, list(PNG)])
        copied.evaluate("(copied, formats) => formats.forEach((type) => copied.setData(type, 'copied.png'))", formats)
        demo.composer.evaluate(PASTE, copied)

    expect(chips(demo).get_by_role("link")).to_have_text(["copied.png"])


@pytest.mark.slow
def test_file_that_is_dropped_beside_the_chat_is_attached(visit, offline):
    demo = visit(offline)
    demo.starts_chat()
    file = demo.page.evaluate_handle(DATA_TRANSFER, ["text/plain", "report.txt", list(REPORT.encode())])

    demo.page.locator("#side").dispatch_event("drop", {"dataTransfer": file})

    expect(chips(demo).get_by_role("link", name="report.txt")).to_be_visible()


@pytest.mark.slow
def test_first_of_too_many_files_are_attached_and_one_line_names_the_others(visit, offline):
    demo = visit(offline)
    demo.starts_chat()
    names = [f"{number:02}.txt" for number in range(30)]
    uploads: list[Request] = []
    demo.page.on("request", lambda request: request.url.endswith("/attachments/") and uploads.append(request))

    demo.page.get_by_label("Attach files").set_input_files(
        [FilePayload(name=name, mimeType="text/plain", buffer=REPORT.encode()) for name in names]
    )

    refusal = demo.page.get_by_role("alert").filter(has_text="Not added")
    words = "At most 5 files can be attached to a message. Not added: "
    expect(refusal).to_have_text(words + ", ".join(names[5:]))
    expect(demo.page.locator("[data-uploading]")).to_have_count(0)
    expect(chips(demo).get_by_role("link")).to_have_text(names[:5])
    assert len(uploads) == 5
    expect(refusal).to_be_in_viewport(ratio=1)
    expect(demo.page.locator("[data-composer]")).to_be_in_viewport(ratio=1)


@pytest.mark.slow
def test_form_without_script_sends_files(visit, offline):
    demo = visit(offline, java_script_enabled=False)
    demo.starts_chat()

    demo.page.get_by_label("Attach files").set_input_files([TEXT])
    demo.writes("/set")  # a command sends nothing, so the file waits for the next message
    demo.submits(demo.send_button)
    expect(chips(demo)).to_have_count(1)
    demo.submits(demo.page.get_by_role("button", name="Remove report.txt"))
    expect(chips(demo)).to_have_count(0)
    demo.page.get_by_label("Attach files").set_input_files([TEXT])
    demo.writes("When does its lease end?")
    demo.submits(demo.send_button)

    expect(demo.page.locator("[data-role=user]").get_by_role("link", name="report.txt")).to_be_visible()
