"""Files to attach, and the composer's form to attach them with."""

import io
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


def make_form(values: dict[str, str]) -> bytes:
    """Return a PDF with a form of these fields; a value that begins with a slash is the state of a check box."""
    writer = pypdf.PdfWriter()
    writer.append(io.BytesIO(make_pdf("A form")))
    name, text = pypdf.generic.NameObject, pypdf.generic.TextStringObject
    fields = pypdf.generic.ArrayObject()
    for label, value in values.items():
        is_box = value.startswith("/")
        form_field = {
            name("/FT"): name("/Btn" if is_box else "/Tx"),
            name("/T"): text(label),
            name("/V"): name(value) if is_box else text(value),
        }
        fields.append(writer._add_object(pypdf.generic.DictionaryObject(form_field)))
    writer.root_object[name("/AcroForm")] = pypdf.generic.DictionaryObject({name("/Fields"): fields})
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def upload(client: Client, conversation: Conversation, name: str, content: bytes) -> Any:
    """Attach a file as the page's script does."""
    form = {"files": SimpleUploadedFile(name, content, content_type="application/x-whatever")}
    return client.post(f"/chats/{conversation.pk}/attachments/", form)


def attach(conversation: Conversation, name: str = "report.txt", content: bytes = REPORT.encode()) -> Attachment:
    """Attach a file as the owner does; return it."""
    answer = upload(client_of(conversation.owner), conversation, name, content)
    assert answer.status_code == 201, answer.content
    return Attachment.objects.latest("created_at")
