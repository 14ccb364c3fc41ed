"""Small documents of every kind, and how they are loaded."""

import io
import re
import zipfile
from collections.abc import Mapping
from email.message import EmailMessage

import docx
import openpyxl
import pptx
import pypdf
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.models import User
from chat.documents import loading, worker
from chat.models import Collection, Document
from tests.chat.attached import make_pdf

OUTLINED = ("Storage", "The Bryce site stores 412 pallets."), ("Lease", "Its lease ends on 30 June 2031.")


def load(collection: Collection, name: str, content: bytes, *, person: User | None = None) -> Document:
    """Load a document, and return it as the server's worker has read it."""
    document = accept(collection, name, content, person=person)
    worker.read_waiting()
    document.refresh_from_db()
    return document


def accept(collection: Collection, name: str, content: bytes, *, person: User | None = None) -> Document:
    return loading.accept(person, collection, SimpleUploadedFile(name, content))


def word() -> bytes:
    document = docx.Document()
    document.core_properties.title = "Site report"
    document.add_heading("Storage", 1)
    document.add_heading("Pallets", 2)
    document.add_paragraph("The Bryce site stores 412 pallets.")
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "Rent", "9,200"
    return saved(document)


def workbook() -> bytes:
    book = openpyxl.Workbook()
    book.active.title = "Sites"
    book.active.append(["Site", "Pallets", "Share"])
    book.active.append(["Bryce", 412, 0.125])
    book.active["C2"].number_format = "0.0%"
    book.active["XFD1048576"] = "far away"
    return saved(book)


def slides() -> bytes:
    presentation = pptx.Presentation()
    for title, text in OUTLINED:
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text = title, text
    slide.notes_slide.notes_text_frame.text = "Ask about renewal."
    return saved(presentation)


def book() -> bytes:
    namespace = "urn:oasis:names:tc:opendocument:xmlns:container"
    container = f'<container xmlns="{namespace}"><rootfile full-path="in/b.opf"/></container>'
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Sites</dc:title>'
        '<item id="one" href="one.xhtml"/><item id="two" href="two.xhtml"/><itemref idref="two"/><itemref idref="one"/>'
        "</package>"
    )
    page = "<html><body><h1>{}</h1><p>{}</p></body></html>"
    pages = {f"in/{name}.xhtml": page.format(*each) for name, each in zip(("two", "one"), OUTLINED, strict=True)}
    return archive({"META-INF/container.xml": container, "in/b.opf": package, **pages})


def mail() -> bytes:
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = "Lease of Bryce", "ada@example.org", "alice@example.org"
    message.set_content("The lease ends on 30 June 2031.")
    message.add_attachment(b"%PDF-", maintype="application", subtype="pdf", filename="lease.pdf")
    return message.as_bytes()


def pdf(*pages: str) -> bytes:
    """Return a PDF whose outline names the first line of each page."""
    writer = pypdf.PdfWriter(io.BytesIO(make_pdf(*pages)))
    for number, text in enumerate(pages):
        writer.add_outline_item(title=text, page_number=number)
    writer.add_metadata({"/Title": "Site report"})
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def archive(parts: Mapping[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, part in parts.items():
            file.writestr(name, part)
    return out.getvalue()


def changed(content: bytes, part: str, to: bytes) -> bytes:
    """Return an archive with another part in the place of one."""
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return archive({name: to if name == part else file.read(name) for name in file.namelist()})


def strict(content: bytes) -> bytes:
    """Return an Office file as Office saves it as "Strict Open XML"."""
    ours, strict = (
        rb"http://schemas\.openxmlformats\.org/(officeDocument|\w+ml)/2006/",
        rb"http://purl.oclc.org/ooxml/\1/",
    )
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return archive({name: re.sub(ours, strict, file.read(name)) for name in file.namelist()})


def saved(document: object) -> bytes:
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()
