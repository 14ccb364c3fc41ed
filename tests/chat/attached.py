"""Files to attach, and the composer's form to attach them with."""

import io
from collections.abc import Sequence
from typing import Any

import pypdf
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from chat.models import Attachment, Conversation
from tests.factories import client_of

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8cfc0000003010100"
    "c9fe92ef0000000049454e44ae426082"
)
REPORT = "The Bryce site stores 412 pallets.\n\nIts lease ends on 30 June 2031, without an option to renew it."


def make_pdf(*pages: str, password: str = "") -> bytes:
    """Return a PDF with one line of text on each page."""
    writer = pypdf.PdfWriter()
    font = pypdf.generic.DictionaryObject(
        {
            pypdf.generic.NameObject(f"/{name}"): pypdf.generic.NameObject(f"/{value}")
            for name, value in (("Type", "Font"), ("Subtype", "Type1"), ("BaseFont", "Helvetica"))
        }
    )
    for text in pages:
        page = writer.add_blank_page(600, 800)
        content = pypdf.generic.DecodedStreamObject()
        content.set_data(f"BT /F1 12 Tf 50 700 Td ({text}) Tj ET".encode())
        fonts = pypdf.generic.DictionaryObject({pypdf.generic.NameObject("/F1"): font})
        page[pypdf.generic.NameObject("/Resources")] = pypdf.generic.DictionaryObject(
            {pypdf.generic.NameObject("/Font"): fonts}
        )
        page[pypdf.generic.NameObject("/Contents")] = writer._add_object(content)
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def make_form(*pages: list[dict[str, Any]], elsewhere: Sequence[dict[str, Any]] = ()) -> bytes:
    """Return a PDF with a form whose fields are drawn on these pages, and others that no page draws."""
    writer = pypdf.PdfWriter(io.BytesIO(make_pdf(*["A form"] * len(pages))))
    fields = pypdf.generic.ArrayObject()
    for page, drawn in zip(writer.pages, pages, strict=True):
        widgets = [writer._add_object(pdf_object({"/Subtype": "/Widget", **one})) for one in drawn]
        page[pypdf.generic.NameObject("/Annots")] = pypdf.generic.ArrayObject(widgets)
        fields.extend(widgets)
    fields.extend(writer._add_object(pdf_object(one)) for one in elsewhere)
    form = pypdf.generic.DictionaryObject({pypdf.generic.NameObject("/Fields"): fields})
    writer.root_object[pypdf.generic.NameObject("/AcroForm")] = form
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def pdf_object(value: Any) -> Any:
    """Return a value as a PDF has it; a text begins with a slash if it is a name."""
    match value:
        case dict():
            named = {pypdf.generic.NameObject(name): pdf_object(each) for name, each in value.items()}
            return pypdf.generic.DictionaryObject(named)
        case list():
            return pypdf.generic.ArrayObject(map(pdf_object, value))
        case int():
            return pypdf.generic.NumberObject(value)
        case _ if value.startswith("/"):
            return pypdf.generic.NameObject(value)
    return pypdf.generic.TextStringObject(value)


def upload(client: Client, conversation: Conversation, name: str, content: bytes) -> Any:
    """Attach a file as the page's script does."""
    form = {"files": SimpleUploadedFile(name, content, content_type="application/x-whatever")}
    return client.post(f"/chats/{conversation.pk}/attachments/", form)


def attach(conversation: Conversation, name: str = "report.txt", content: bytes = REPORT.encode()) -> Attachment:
    """Attach a file as the owner does; return it."""
    answer = upload(client_of(conversation.owner), conversation, name, content)
    assert answer.status_code == 201, answer.content
    return Attachment.objects.latest("created_at")
