"""People's own documents in a browser: added, read, chosen for a chat, searched by the model, cited, opened."""

import pytest
from playwright.sync_api import FilePayload, expect

from tests.browser.looks import violations
from tests.browser.upstream import calls, opening, reply, says
from tests.chat.attached import make_pdf

LEASE = FilePayload(
    name="lease.md", mimeType="text/markdown", buffer=b"# Lease\n\nIts lease ends on 30 June 2031, without an option."
)
PAGES = FilePayload(
    name="two.pdf", mimeType="application/pdf", buffer=make_pdf("Storage costs rise.", "The lease ends.", "It is over.")
)
PROGRAM = FilePayload(name="tool.exe", mimeType="x/y", buffer=b"MZ\0")
DROPPED = """() => {
  const files = new DataTransfer();
  files.items.add(new File(["The Bryce site stores 412 pallets."], "dropped.txt", { type: "text/plain" }));
  return files;
}"""


def test_document_is_added_chosen_searched_cited_and_opened(visit, connected, model):
    demo = visit(connected)
    page = demo.page
    demo.open("/documents/")
    page.get_by_label("Name").fill("Leases")
    demo.submits(page.get_by_role("button", name="Create collection"))
    page.get_by_label("Add documents").set_input_files([LEASE, PROGRAM])
    expect(page.locator("#uploads [role=alert]")).to_contain_text("tool.exe can’t be read.")
    expect(page.locator("#uploads progress")).to_have_count(0)  # both are sent at once, and a reload ends what is
    page.reload()  # what was added is read all the same
    expect(page.locator("[data-status=ready]")).to_contain_text("lease.md")
    dropped = page.evaluate_handle(DROPPED)
    page.locator("#main").dispatch_event("dragover", {"dataTransfer": dropped})
    page.locator("#main").dispatch_event("drop", {"dataTransfer": dropped})
    expect(page.locator("[data-status=ready]")).to_have_count(2)
    assert violations(page) == []

    demo.starts_chat()
    page.locator(".collections > summary").click()
    page.get_by_label("Only these:").check()
    page.get_by_label("Leases").check()
    expect(page.locator(".collections__label")).to_have_text("Leases")  # a choice counts at once
    expect(page.get_by_label("Leases")).to_be_focused()
    assert violations(page) == []
    model.script(
        [
            reply(*calls("searchDocuments", '{"query": "when does the lease end"}')),
            reply(says(opening("Searched the documents.", "Quoted one."), "“Its lease ends on 30 June 2031” [1].")),
        ]
    )
    demo.asks("When does the lease end?").ends()
    page.locator("[data-answer] a[data-citation]").first.click()

    expect(page.locator("#reader [data-cited] mark")).to_have_text("Its lease ends on 30 June 2031")
    chat = page.url
    demo.submits(page.get_by_role("link", name="Open full page"))
    expect(page.locator("#main [data-cited] mark")).to_have_text("Its lease ends on 30 June 2031")
    assert violations(page) == []

    demo.open("/documents/")
    demo.submits(page.get_by_role("main").get_by_role("link", name="Leases"))
    demo.submits(page.get_by_role("link", name="Delete lease.md"))
    demo.submits(page.get_by_role("button", name="Delete"))
    demo.open(chat)
    page.locator("[data-answer] a[data-citation]").first.click()
    expect(page.locator("#reader")).to_contain_text("This source is not here any more")
    expect(page.locator("#reader")).to_contain_text("The document was deleted")
    assert page.url == chat
    assert violations(page) == []


@pytest.mark.slow
def test_documents_are_added_chosen_and_deleted_without_script(visit, offline):
    demo = visit(offline, java_script_enabled=False)
    page = demo.page
    demo.open("/documents/")
    page.get_by_label("Name").fill("Papers")
    demo.submits(page.get_by_role("button", name="Create collection"))
    page.get_by_label("Add documents").set_input_files([LEASE, PROGRAM])
    demo.submits(page.get_by_role("button", name="Add", exact=True))
    expect(page.locator(".notices")).to_contain_text("1 document was added.")
    expect(page.locator(".notices")).to_contain_text("tool.exe can’t be read.")

    demo.starts_chat()
    page.locator(".collections > summary").click()
    page.get_by_label("No documents").check()
    demo.submits(page.get_by_role("button", name="Use these"))
    expect(page.locator(".collections__label")).to_have_text("No documents")

    demo.open("/documents/")
    demo.submits(page.get_by_role("link", name="Papers"))
    demo.submits(page.get_by_role("link", name="Delete lease.md"))
    expect(page.get_by_text("No answer cites it.")).to_be_visible()
    demo.submits(page.get_by_role("button", name="Delete"))
    expect(page.get_by_text("No documents yet.")).to_be_visible()


@pytest.mark.slow
def test_pages_of_a_pdf_are_drawn_when_they_are_shown(visit, offline):
    demo = visit(offline)
    page = demo.page
    demo.open("/documents/")
    page.get_by_label("Name").fill("Pages")
    demo.submits(page.get_by_role("button", name="Create collection"))
    page.get_by_label("Add documents").set_input_files([PAGES])
    expect(page.locator("[data-status=ready]")).to_contain_text("two.pdf")
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/pages/" in request.url else None)
    reason = "This page can’t be shown as a picture: it takes too long to draw."
    demo.watch.expected += ["status of 422"]
    page.route(
        "**/pages/2.webp",
        lambda route: route.fulfill(status=422, content_type="text/plain; charset=utf-8", body=reason),
    )
    demo.submits(page.get_by_role("main").get_by_role("link", name="two.pdf", exact=True))
    shown, last = (page.get_by_role("img", name=f"Page {number} of two.pdf") for number in (1, 3))

    page.get_by_text("Show page").nth(0).click()

    box = shown.bounding_box()
    page.wait_for_function("image => image.naturalWidth === 1200", arg=shown.element_handle())
    assert shown.bounding_box() == box  # nothing moves when the picture comes
    assert [url.rpartition("/")[2] for url in asked] == ["1.webp"]
    expect(last).not_to_be_visible()
    page.get_by_text("Show page").nth(1).click()
    expect(page.locator("[data-passage]").nth(1)).to_contain_text(reason)
    expect(page.locator("[data-passage]").nth(1)).to_contain_text("The lease ends.")
    assert violations(page) == []

    plain = visit(offline, java_script_enabled=False)
    # Of the page that a browser makes around a picture: it may do nothing.
    plain.watch.expected += ["inline style", "Blocked script execution"]
    plain.page.on("request", lambda request: asked.append(request.url) if "/pages/" in request.url else None)
    asked.clear()
    plain.open(page.url)
    plain.page.get_by_text("Show page").nth(2).click()
    assert asked == []
    plain.submits(plain.page.get_by_role("link", name="Page 3 of two.pdf"))
    assert [url.rpartition("/")[2] for url in asked] == ["3.webp"]

    demo.open("/documents/")  # other tests ask on this site
    demo.submits(page.get_by_role("main").get_by_role("link", name="Pages"))
    demo.submits(page.get_by_role("link", name="Delete collection"))
    demo.submits(page.get_by_role("button", name="Delete"))
