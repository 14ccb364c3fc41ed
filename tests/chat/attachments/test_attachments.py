"""Files of a message: what is accepted, who gets them, how they rest, and what becomes of them."""

import io
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import BoundedSemaphore

import pypdf
import pytest
from cryptography.fernet import Fernet
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.utils import timezone
from PIL import ExifTags, Image
from PIL.PngImagePlugin import PngInfo

from chat.attachments import uploads
from chat.conversations import actions
from chat.eventlog import attachments
from chat.eventlog.link_tokens import token_of
from chat.files.extraction import FileText
from chat.models import Attachment, Conversation, QueuedMessage
from chat.processes import NoProcessError
from chat.sharing.export import Choice
from chat.sharing.links import create_link
from reasoning.events import AssistantMessage
from tests.chat.attached import PNG, REPORT, attach, make_form, make_pdf, upload
from tests.factories import client_of, end_turn, make_conversation, open_turn

pytestmark = pytest.mark.django_db(transaction=True)
CANARY = "canary-of-the-attached-file"


@pytest.mark.parametrize(
    ("name", "content", "media_type", "text"),
    [
        ("notes.txt", "Grüße".encode(), "text/plain", "Grüße"),
        ("alt.txt", "Grüße".encode("cp1252"), "text/plain", "Grüße"),
        ("wide.txt", "Grüße".encode("utf-16"), "text/plain", "Grüße"),
        ("table.CSV", b"a;b\r\n1;2", "text/csv", "a;b\n1;2"),
        ("read.md", b"# Title", "text/markdown", "# Title"),
        ("page", b"<!doctype html><script>evil()</script><p>Shown</p>", "text/html", "Shown"),
        ("two.pdf", make_pdf("First page", "Second page"), "application/pdf", "First page\fSecond page"),
        ("picture.txt", PNG, "image/png", ""),
    ],
)
def test_type_and_text_come_from_the_content(alice, conversation, name, content, media_type, text):
    stored = attach(conversation, name, content)

    assert stored.media_type == media_type
    assert attachments.content_of(stored) == content
    if text is not None:
        assert attachments.text_of(stored) == text


@pytest.mark.spec("product 45")
@pytest.mark.parametrize("line", [b"\n", b" \t\n"])
def test_empty_lines_take_no_memory_to_leave_out(conversation, line):
    content = line * (600_000 // len(line)) + b"Bryce"
    tracemalloc.start()
    try:
        attach(conversation, "a.txt", content)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 20 * len(content)


def test_text_that_begins_with_many_comments_is_read_at_once(alice, conversation):
    assert attach(conversation, "notes.txt", b"<!-- a -->\n" * 150 + b"<p>End.").media_type == "text/plain"


@pytest.mark.parametrize(
    ("name", "content", "code", "words"),
    [
        ("empty.txt", b"", "unsupported_type", "empty.txt is empty."),
        ("tool.exe", b"MZ\x00\x01\x02", "unsupported_type", "tool.exe can’t be read"),
        ("fake.png", b"no picture", "unsupported_type", "fake.png can’t be read"),
        ("blank.txt", b" \n ", "empty_file", "blank.txt has no text that can be read."),
        ("drawing.svg", b"<svg onload='evil()'><text>drawn</text></svg>", "unsupported_type", "drawing.svg is an SVG"),
        ("named.txt", b'<?xml version="1.0"?>\n<svg><path/></svg>', "unsupported_type", "named.txt is an SVG drawing"),
        ("noted.txt", b"<!-- a -->\n" * 60 + b"<svg><path/></svg>", "unsupported_type", "noted.txt is an SVG drawing"),
        ("scan.pdf", make_pdf(""), "scan_file", "scan.pdf has no text layer: it is a scan."),
        ("locked.pdf", make_pdf("Text", password="secret"), "encrypted_file", "locked.pdf is protected by a password"),
        ("broken.pdf", b"%PDF-1.7 nothing else", "unreadable_file", "broken.pdf is damaged"),
        ("big.txt", b"x" * 2001, "too_large", "big.txt is too large: 2,001 bytes; at most 2,000 bytes are allowed."),
        ("bigger.txt", b"x" * 9000, "too_large", "bigger.txt is too large: 8.8\xa0KB; at most 2.0\xa0KB are allowed."),
        ("quota.txt", b"x" * 1900, "quota", "quota.txt was not added: your files"),
    ],
)
def test_file_that_cannot_be_used_is_refused_in_words(alice, conversation, settings, name, content, code, words):
    settings.ATTACHMENT_MAX_BYTES = 2000
    settings.ATTACHMENT_QUOTA_BYTES = 1800

    answer = upload(client_of(alice), conversation, name, content)

    assert answer.status_code == 400
    error = answer.json()["error"]
    assert (error["code"], error["field"]) == (code, "files")
    assert error["message"].startswith(words)
    assert not Attachment.objects.exists()


PICTURE = Image.new("RGB", (4, 2), "red")
NOISE = Image.effect_noise((64, 64), 80).convert("RGB")


def saved(picture: Image.Image, kind: str, **options: object) -> bytes:
    out = io.BytesIO()
    picture.save(out, kind, **options)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_picture_is_decoded_whole_before_it_is_stored(alice, conversation, kind):
    content = saved(NOISE, kind)

    cut = upload(client_of(alice), conversation, "cut.bin", content[: len(content) // 2])
    whole = attach(conversation, "whole.bin", content)

    assert cut.status_code == 400
    assert cut.json()["error"]["message"] == "cut.bin is damaged or no valid file of its type."
    assert attachments.content_of(whole) == content


def test_picture_that_services_refuse_for_its_size_is_refused_here(alice, conversation):
    answer = upload(client_of(alice), conversation, "wide.png", saved(Image.new("1", (8_001, 1)), "PNG"))

    assert answer.json()["error"]["message"] == "wide.png is too large: at most 8000 pixels on each side are allowed."


def test_picture_that_needs_too_much_memory_is_not_called_damaged(alice, conversation, monkeypatch):
    def read_here(work, *args, **_options):
        return work(*args)

    def open_image(*_args, **_options):
        raise MemoryError

    monkeypatch.setattr(uploads, "run_in_process", read_here)
    monkeypatch.setattr("chat.files.kinds.image.Image.open", open_image)

    error = upload(client_of(alice), conversation, "wide.webp", saved(PICTURE, "WEBP")).json()["error"]

    assert error["message"].startswith("wide.webp needs too much memory to be read.")


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_place_and_device_are_removed_from_a_picture_and_its_orientation_stays(conversation, kind):
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    exif[ExifTags.Base.Model] = "Camera of Ada"
    exif[ExifTags.IFD.GPSInfo] = {ExifTags.GPS.GPSLatitudeRef: "N", ExifTags.GPS.GPSLatitude: (48.0, 8.0, 14.0)}

    stored = attachments.content_of(attach(conversation, "photo.bin", saved(PICTURE, kind, exif=exif)))

    with Image.open(io.BytesIO(stored)) as found:
        assert dict(found.getexif()) == {ExifTags.Base.Orientation: 6}
        assert (found.format, found.size) == (kind, PICTURE.size)
    assert b"Ada" not in stored


TEXTS = {
    "cp1251": "Это договор о поставке, подписанный в мае.",
    "koi8_r": "Это договор о поставке, подписанный в мае.",
    "gb18030": "这是一个关于合同的简短说明，包括付款条件。",
    "big5": "這是一份關於合約的說明，包括付款條件。",
    "cp932": "契約書について、第三条を参照してください。",
    "cp949": "안녕하세요. 계약서에 관한 설명입니다.",
    "cp1252": "Größe: 12 € – déjà reçu",
    "cp1250": "Příliš žluťoučký kůň úpěl ďábelské ódy.",
    "utf_16_le": "Written by an old editor.",
    "utf_16_be": "Ещё одна строка.",
}
# Too short for statistics: what decides is which characters are frequent.
SHORT_TEXTS = [
    ("cp1251", "Добрый день"),
    ("koi8_r", "Добрый день"),
    ("koi8_r", "ВНИМАНИЕ! СРОЧНО"),
    ("cp1251", "Order 12\tИванов\t12.50"),
    ("koi8_r", "Order 12\tИванов\t12.50"),
    ("cp1250", "Łódź i Kraków są piękne"),
    ("iso8859_2", "Łódź i Kraków są piękne"),
    ("iso8859_2", "Książka leży na półce"),
    ("iso8859_2", "Šéf řekl, že žádost o pronájem skladu byla schválena."),
    ("gb18030", "北京，早上好"),
    ("cp949", "좋은 아침"),
]


@pytest.mark.parametrize(("encoding", "text"), [*TEXTS.items(), *SHORT_TEXTS])
def test_older_encodings_are_detected_and_the_text_is_shown(alice, conversation, encoding, text):
    stored = attach(conversation, "old.txt", text.encode(encoding))

    assert attachments.text_of(stored) == text
    assert text in client_of(alice).get(stored.get_absolute_url()).content.decode()


@pytest.mark.parametrize(
    ("encoding", "text", "head"),
    [
        ("cp1250", "Zażółć", '<html><meta charset="windows-1250">'),
        ("iso8859_2", "Žluť", '<html><meta charset="iso-8859-2">'),
        ("cp1253", "Ελλάδα", '<html><meta http-equiv="Content-Type" content="text/html; charset=Windows-1253">'),
        ("cp932", "日本", '<?xml version="1.0" encoding="Shift_JIS"?><html>'),
        ("utf_8", "Zażółć", '<html><meta charset="windows-1250">'),
        ("cp1251", "Привет, как дела?", '<html><meta charset="iso-8859-1">'),
        ("cp1252", "Größe", '<html><meta charset="no-such">'),
    ],
)
def test_encoding_that_a_page_states_is_used_where_it_fits(conversation, encoding, text, head):
    stored = attach(conversation, "page.html", f"{head}<p>{text}</p></html>".encode(encoding))

    assert (stored.encoding, attachments.text_of(stored)) == (encoding, text)


def test_large_files_wait_for_a_slot_and_are_refused_without_one(alice, conversation, monkeypatch):
    stored = attach(conversation, "report.txt")
    monkeypatch.setattr("chat.files.slots.LARGE_BYTES", stored.size)
    with monkeypatch.context() as patched:
        patched.setattr("chat.files.slots.SLOT_WAIT_S", 0.01)
        patched.setattr("chat.files.slots.large_files", BoundedSemaphore(0))
        returned = client_of(alice).get(f"{stored.get_absolute_url()}file/")
        refused = upload(client_of(alice), conversation, "copy.txt", REPORT.encode())

    assert (returned.status_code, refused.status_code) == (503, 400)
    assert "other files are being read" in refused.json()["error"]["message"]
    assert client_of(alice).get(f"{stored.get_absolute_url()}file/").content == REPORT.encode()
    assert upload(client_of(alice), conversation, "copy.txt", REPORT.encode()).status_code == 201


def test_owner_corrects_the_encoding_of_a_file(alice, bob, conversation):
    stored = attach(conversation, "old.txt", "Größe".encode("cp1252"))
    url = f"{stored.get_absolute_url()}encoding/"

    others = client_of(bob).post(url, {"encoding": "cp1251"})
    changed = client_of(alice).post(url, {"encoding": "cp1251"}, follow=True)
    unknown = client_of(alice).post(url, {"encoding": "rot13"}, follow=True)
    refused = client_of(alice).post(url, {"encoding": "utf_8"}, follow=True)

    assert others.status_code == 404
    assert "GrцЯe" in changed.content.decode()
    assert "encoding: choose one of the list." in unknown.content.decode()
    assert "old.txt has bytes that this encoding doesn’t have." in refused.content.decode()
    stored.refresh_from_db()
    assert (attachments.text_of(stored), stored.encoding) == ("GrцЯe", "cp1251")


def test_scanned_pages_among_others_are_named(conversation):
    writer = pypdf.PdfWriter(io.BytesIO(make_pdf("First page.", "", "Third page.")))
    scan = io.BytesIO()
    PICTURE.save(scan, "PDF")
    for at in (1, 1, 5):
        writer.insert_page(pypdf.PdfReader(scan).pages[0], at)
    out = io.BytesIO()
    writer.write(out)

    text = attachments.text_of(attach(conversation, "mixed.pdf", out.getvalue()))

    note = "[{} without a text layer, such as a scan: no text was read from it.]"
    assert text.split("\f") == [
        "First page.", note.format("Pages 2 to 3"), "", "", "Third page.", note.format("Page 6")
    ]  # fmt: skip


def test_values_of_a_pdf_form_are_read_with_the_names_of_their_fields(conversation):
    drawn = [
        {"/T": "Name", "/FT": "/Tx", "/V": "Ada Byron"},
        {"/T": "Key", "/FT": "/Tx", "/V": "hunter2", "/Ff": 1 << 13},
        {"/T": "Agreed", "/FT": "/Btn", "/AS": "/Yes"},
        {"/T": "Declined", "/FT": "/Btn", "/AS": "/Off"},
        {"/T": "f1", "/TU": "Country", "/FT": "/Ch", "/V": "no", "/Opt": [["no", "Norway"], ["se", "Sweden"]]},
    ]
    stored = attach(conversation, "form.pdf", make_form(drawn, [{"/T": "Place", "/FT": "/Tx", "/V": "Bergen"}]))
    hidden = attach(conversation, "old.pdf", make_form([], elsewhere=[{"/T": "Sum", "/FT": "/Tx", "/V": "12 kr"}]))

    [first, second] = attachments.text_of(stored).split("\f")
    assert first == "A form\n\nForm fields:\nName: Ada Byron\nAgreed: Yes\nCountry: Norway"
    assert second == "A form\n\nForm fields:\nPlace: Bergen"
    assert attachments.text_of(hidden) == "A form\n\nForm fields:\nSum: 12 kr"


def test_broken_field_of_a_pdf_form_does_not_cost_the_others(conversation):
    drawn = [
        {"/T": "First", "/FT": "/Tx", "/V": "one"},
        {"/T": "Broken", "/FT": "/Tx", "/V": "?", "/Ff": "no number"},
        {"/T": "Last", "/FT": "/Tx", "/V": "two"},
    ]

    stored = attach(conversation, "form.pdf", make_form(drawn))

    assert attachments.text_of(stored) == "A form\n\nForm fields:\nFirst: one\nLast: two"


def test_pdf_behind_other_bytes_and_rich_text_are_read(conversation):
    shifted = attach(conversation, "shifted.pdf", b"junk\x00" * 12 + make_pdf("Its text"))
    rich = attach(conversation, "note.rtf", rb"{\rtf1\ansi{\fonttbl\f0 Arial;}\f0 A {\b bold} word.\par}")

    assert attachments.text_of(shifted) == "Its text"
    assert attachments.text_of(rich) == "A bold word."


def test_metadata_of_any_kind_is_removed_and_lossless_pictures_stay_exact(conversation):
    text = PngInfo()
    text.add_text("Author", "Ada")
    jpeg, comment = saved(NOISE, "JPEG"), b"written by Ada"
    frames = {"save_all": True, "append_images": [PICTURE.resize(NOISE.size)]}
    contents = [
        saved(NOISE, "JPEG", comment=comment),
        jpeg[:2] + b"\xff\xec\x00\x05Ada" + jpeg[2:],
        jpeg + comment,
        saved(NOISE, "MPO", **frames) + comment,
        saved(NOISE, "GIF", comment=comment, **frames),
        saved(NOISE, "PNG", pnginfo=text, **frames),
        saved(NOISE, "WEBP", lossless=True, xmp=comment),
    ]

    for number, content in enumerate(contents):
        assert b"Ada" in content
        conversation.attachments.all().delete()
        stored = attachments.content_of(attach(conversation, f"{number}.bin", content))
        assert b"Ada" not in stored
        with Image.open(io.BytesIO(content)) as before, Image.open(io.BytesIO(stored)) as after:
            if before.format not in ("JPEG", "MPO"):
                assert before.convert("RGB").tobytes() == after.convert("RGB").tobytes()
                assert getattr(before, "n_frames", 1) == getattr(after, "n_frames", 1)


def test_user_whose_file_took_too_long_leaves_a_process_to_others(alice, bob, conversation, monkeypatch):
    monkeypatch.setattr(uploads, "TURN_WITHIN_S", 0.01)
    monkeypatch.setattr(uploads, "text_in", lambda *_args, **_options: FileText(problem="slow", is_costly=True))
    upload(client_of(alice), conversation, "slow.pdf", make_pdf("x"))
    monkeypatch.undo()
    monkeypatch.setattr(uploads, "TURN_WITHIN_S", 0.01)

    with uploads.slow_lane:
        refused = upload(client_of(alice), conversation, "fine.pdf", make_pdf("Fine")).json()
        plain = upload(client_of(alice), conversation, "plain.txt", b"Plain.")
        other = upload(client_of(bob), make_conversation(owner=bob), "fine.pdf", make_pdf("Fine"))

    assert refused["error"]["code"] == "too_many_uploads"
    assert (plain.status_code, other.status_code) == (201, 201)


def test_files_that_took_too_long_cost_their_owner_alone(alice, bob, conversation, monkeypatch):
    def too_slow(*_args: object, **_options: object) -> FileText:
        return FileText(problem="slow", is_costly=True)

    monkeypatch.setattr(uploads, "text_in", too_slow)
    answers = [upload(client_of(alice), conversation, "slow.pdf", make_pdf("x")).json() for _time in range(4)]
    monkeypatch.undo()

    assert [answer["error"]["code"] for answer in answers] == ["slow_file"] * 3 + ["too_many_uploads"]
    assert attach(make_conversation(owner=bob), "fine.pdf", make_pdf("Fine"))


def test_damaged_file_that_took_long_costs_as_much_as_a_slow_one(alice, conversation, monkeypatch):
    def read_here(work, *args, **_options):
        return work(*args)

    monkeypatch.setattr("chat.files.extraction.run_in_process", read_here)
    monkeypatch.setattr("chat.files.extraction.COSTLY_S", -1)

    names = ["fine.pdf", *["broken.pdf"] * 4]
    contents = [make_pdf("Fine"), *[b"%PDF-1.7 nothing else"] * 4]
    answers = [upload(client_of(alice), conversation, *file) for file in zip(names, contents, strict=True)]

    assert answers[0].status_code == 201
    codes = [answer.json()["error"]["code"] for answer in answers[1:]]
    assert codes == ["unreadable_file"] * 3 + ["too_many_uploads"]


def test_file_that_waited_for_those_of_others_is_not_called_slow(alice, conversation, monkeypatch):
    def no_process(*_args: object, **_options: object) -> None:
        raise NoProcessError

    monkeypatch.setattr("chat.files.extraction.run_in_process", no_process)

    error = upload(client_of(alice), conversation, "small.pdf", make_pdf("x")).json()["error"]

    assert error["message"] == "small.pdf was not added: other files are being read. Try again in a moment."


def test_files_of_a_question_can_be_left_out_when_it_is_edited(alice, conversation):
    first, second = attach(conversation, "one.txt"), attach(conversation, "two.txt")
    turn = open_turn(conversation.pk, text="Why?", attached=[first.pk, second.pk])
    end_turn(turn, [AssistantMessage(text="Because.")])
    url = f"/chats/{conversation.pk}/turns/{turn.pk}/edit/"

    form = client_of(alice).get(url).content.decode()
    for kept in ([second], []):
        sent = {"text": "Why?", "save": "only", "has_files": "1", "attachments": [one.pk.hex for one in kept]}
        client_of(alice).post(url, sent)
        newest = conversation.turns.get(is_active=True)
        assert [file.name for file in attachments.attached_to(newest)] == [one.name for one in kept]
        url = f"/chats/{conversation.pk}/turns/{newest.pk}/edit/"

    assert form.count('type="checkbox"') == 2


def test_number_of_files_and_length_of_their_text_are_limited(alice, conversation, settings):
    settings.ATTACHMENTS_PER_MESSAGE = 1
    settings.ATTACHMENT_TEXT_MAX_CHARS = 10

    stored = attach(conversation)
    refused = upload(client_of(alice), conversation, "more.txt", b"More.")

    assert attachments.text_of(stored) == REPORT[:10]
    assert "The first 10 characters are used." in client_of(alice).get(f"/chats/{conversation.pk}/").content.decode()
    assert refused.json()["error"]["code"] == "too_many"


@pytest.mark.spec("product 14")
def test_only_the_owner_gets_a_file_and_never_as_a_page_of_the_site(alice, bob, conversation):
    page, image = attach(conversation, "x.html", b"<html><script>1</script>hm"), attach(conversation, 'a"\n.png', PNG)
    other = make_conversation(owner=bob)
    owner = client_of(alice)
    paths = [f"{each.get_absolute_url()}{part}" for each in (page, image) for part in ("", "file/")]

    assert [owner.get(path).status_code for path in paths] == [200] * 4
    assert [client_of(bob).get(path).status_code for path in paths] == [404] * 4
    assert [Client().get(path).status_code for path in paths] == [302] * 4
    assert client_of(bob).get(paths[1].replace(str(conversation.pk), str(other.pk))).status_code == 404
    assert client_of(bob).post(f"{page.get_absolute_url()}remove/").status_code == 404
    download, drawn = owner.get(paths[1]), owner.get(paths[3])
    assert download["Content-Type"] == "application/octet-stream"
    assert download["Content-Disposition"].startswith("attachment")
    assert (drawn["Content-Type"], drawn["Content-Disposition"]) == ("image/png", 'inline; filename="a .png"')
    for response in (download, drawn):
        assert response["X-Content-Type-Options"] == "nosniff"
        assert response["Content-Security-Policy"] == "sandbox; default-src 'none'"
        assert response["Cache-Control"] == "private, no-cache"
    assert owner.get(paths[3], headers={"If-None-Match": drawn["ETag"]}).status_code == 304
    actions.delete(conversation)
    assert [owner.get(path).status_code for path in paths] == [404] * 4


def test_long_blank_run_ends_a_passage_and_not_the_server(alice, conversation):
    stored = attach(conversation, "gap.txt", b"alphafirst" + b"\n\n" + b" " * 4_000 + b"omegalast")

    page = client_of(alice).get(stored.get_absolute_url())

    assert (page.text.count("alphafirst"), page.text.count("omegalast")) == (1, 1)


def test_file_rests_encrypted_and_its_keys_rotate(alice, conversation, settings, capsys):
    stored = attach(conversation, "secret.txt", CANARY.encode())
    settings.CONTENT_KEYS = [Fernet.generate_key().decode(), *settings.CONTENT_KEYS]
    call_command("rotate_keys")
    settings.CONTENT_KEYS = settings.CONTENT_KEYS[:1]

    stored.refresh_from_db()
    assert (attachments.content_of(stored), attachments.text_of(stored)) == (CANARY.encode(), CANARY)
    if connection.vendor == "sqlite":
        folder = Path(connection.settings_dict["NAME"]).parent
        assert not [file for file in folder.iterdir() if CANARY.encode() in file.read_bytes()]
    call_command("audit_storage")

    Attachment.objects.update(sealed_content=b"plain", sealed_text=b"plain")
    with pytest.raises(SystemExit):
        call_command("audit_storage")
    assert capsys.readouterr().out.count(f"chat_attachment {stored.pk}") == 2


def test_file_is_deleted_with_its_conversation_or_when_it_is_never_sent(alice, conversation):
    other = make_conversation(owner=alice)
    sent, unsent, fresh = attach(conversation), attach(other), attach(other)
    attachments.claim(conversation, [sent.pk])
    Attachment.objects.exclude(pk=fresh.pk).update(created_at=timezone.now() - timedelta(days=2))

    actions.purge()
    assert set(Attachment.objects.values_list("pk", flat=True)) == {sent.pk, fresh.pk}

    Conversation.objects.filter(pk=conversation.pk).update(deleted_at=timezone.now() - timedelta(hours=1))
    actions.purge()
    assert not Attachment.objects.filter(pk=sent.pk).exists()
    assert unsent.pk != fresh.pk


def test_file_that_is_not_sent_can_be_removed_and_a_sent_one_cannot(alice, conversation):
    sent, unsent = attach(conversation), attach(conversation)
    attachments.claim(conversation, [sent.pk])

    for each in (sent, unsent):
        answer = client_of(alice).post(f"{each.get_absolute_url()}remove/")
        assert (answer.status_code, answer["Location"]) == (303, f"/chats/{conversation.pk}/")

    assert list(Attachment.objects.values_list("pk", flat=True)) == [sent.pk]


def test_files_of_a_queued_message_go_with_it_unless_another_message_has_them(alice, conversation):
    asked, queued = attach(conversation), attach(conversation)
    end_turn(open_turn(conversation.pk, text="Why?", attached=[asked.pk]), [AssistantMessage(text="So.")])
    files = [file.to_json() for file in attachments.claim(conversation, [asked.pk, queued.pk])]
    waiting = conversation.queue.create(text="Later?", attachments=files, priority=QueuedMessage.Priority.HELD)

    client_of(alice).post(f"/chats/{conversation.pk}/queue/{waiting.pk}/", {"do": "remove"})

    assert list(Attachment.objects.values_list("pk", flat=True)) == [asked.pk]


def test_files_that_come_at_once_are_all_counted(alice, conversation):
    clients = [client_of(alice) for _ in range(16)]

    def status_of_upload(client):
        try:
            return upload(client, conversation, "a.txt", b"a").status_code
        finally:
            connection.close()  # that of the thread

    with ThreadPoolExecutor(8) as threads:
        statuses = list(threads.map(status_of_upload, clients))

    assert sorted(statuses) == [201] * 5 + [400] * 11
    assert Attachment.objects.count() == 5


def test_files_of_one_user_are_read_one_at_a_time_and_limited(alice, bob, conversation, monkeypatch):
    monkeypatch.setattr(uploads, "TURN_WITHIN_S", 0.01)
    monkeypatch.setattr(uploads, "UPLOADS_ALLOWED", 2)
    with uploads.reading[alice.pk]:
        refused = upload(client_of(alice), conversation, "a.pdf", make_pdf("x"))
        attach(make_conversation(owner=bob))
    attach(conversation)
    too_many = upload(client_of(alice), conversation, "a.txt", b"a")

    assert [answer.json()["error"]["code"] for answer in (refused, too_many)] == ["too_many_uploads"] * 2


def test_form_without_script_keeps_accepted_files_where_another_is_refused(alice, conversation):
    files = [SimpleUploadedFile("good.txt", b"Good."), SimpleUploadedFile("bad.exe", b"MZ\x00")]

    answer = client_of(alice).post(f"/chats/{conversation.pk}/messages/", {"text": "Why?", "files": files})

    page = answer.content.decode()
    kept = Attachment.objects.get()
    assert answer.status_code == 400
    assert "bad.exe can’t be read" in page
    assert ">Why?</textarea>" in page
    assert f'name="attachments" value="{kept.pk.hex}"' in page
    assert not conversation.turns.exists()


@pytest.mark.parametrize("ids", [["nonsense"], "x", [["x"]], ["0" * 32] * 6])
def test_message_with_unknown_files_is_refused(alice, bob, conversation, ids):
    foreign = attach(make_conversation(owner=bob))
    for attached in (ids, [foreign.pk.hex]):
        form = {"text": "Why?", "attachments": attached}
        answer = client_of(alice).post(f"/chats/{conversation.pk}/messages/", form)
        assert answer.status_code == 400
        assert "attachments: " in answer.content.decode()
    open_turn(conversation.pk, text="No lock is left behind.")


def test_export_and_api_name_the_files_of_a_question_and_a_shared_page_does_not(alice, conversation):
    stored = attach(conversation)
    end_turn(open_turn(conversation.pk, text="Why?", attached=[stored.pk]), [AssistantMessage(text="So.")])
    link = create_link(alice, conversation, Choice(), days=7)
    owner, path = client_of(alice), f"/chats/{conversation.pk}/export/"

    files = [{"name": "report.txt", "url": stored.get_absolute_url()}]
    assert owner.get(f"/api/chats/{conversation.pk}/messages/").json()[0]["attachments"] == files
    assert owner.get(path, {"format": "json"}).json()["messages"][0]["attachments"] == files
    assert f"[report.txt](http://testserver{files[0]['url']})" in owner.get(path).content.decode()
    shared = Client().get(f"/s/{token_of(link)}/").content.decode()
    assert "Why?" in shared
    assert "report.txt" not in shared


LOG = "A log with a NUL, which is all the same a log of some length."
CHINESE = "你好，渡轮九点钟出发。\n这是一个普通的句子。"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"    def f():\n\n\n\n        pass  \n", "    def f():\n\n\n\n        pass"),
        (b"\n \n\tindented\n", "\tindented"),
        (b"One\rTwo\r\nThree", "One\nTwo\nThree"),
        (b"The end mark of DOS\r\n\x1a", "The end mark of DOS"),
        (b"A log with a NUL\x00, which is all the same a log of some length.", LOG),
        ("Grüße aus Köln".encode() + b" \xff", "Grüße aus Köln \ufffd"),  # one bad byte makes no other encoding
        ("Grüße aus Köln, ü".encode()[:-1], "Grüße aus Köln, \ufffd"),
        ("Grüße".encode("utf-32"), "Grüße"),
        (CHINESE.encode("utf-16-le"), CHINESE),
        ("안녕하세요. 배는 아홉 시에 출발합니다.\n".encode("utf-16-be"), "안녕하세요. 배는 아홉 시에 출발합니다."),
        (CHINESE.encode("gb18030"), CHINESE),
    ],
)
def test_plain_text_is_read_as_it_is(conversation, content, text):
    assert attachments.text_of(attach(conversation, "notes.txt", content)) == text


def test_code_and_lone_numbers_of_a_page_are_read(conversation):
    page = b"<!doctype html><ul><li>42</li></ul><pre>\ndef f():\n    return 1  # a   b\n</pre><p>x</p>"

    assert attachments.text_of(attach(conversation, "page.html", page)) == (
        "42\n\ndef f():\n    return 1  # a   b\n\nx"
    )


def test_emoji_of_rich_text_is_one_character(conversation):
    assert attachments.text_of(attach(conversation, "a.rtf", rb"{\rtf1\uc1 Go \u-10179?\u-8704?}")) == "Go 😀"


@pytest.mark.parametrize(
    ("fields", "body"),
    [
        ("Content-Type: text/plain", "Grüße 日本".encode()),
        ("Content-Type: text/plain; charset=us-ascii", "Grüße 日本".encode()),
        ("Content-Type: text/plain; charset=x-unknown", "Grüße 日本".encode()),
        (
            "MIME-Version: 1.0\nContent-Type: multipart/alternative; boundary=B",
            "--B\n\n\n--B\nContent-Type: text/html; charset=utf-8\n\n<p>日本 Grüße</p>\n--B--".encode(),
        ),
        (
            "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B",
            "--B\n\n日本\n--B\nContent-Type: image/png\n\nx\n--B\n\nGrüße\n--B--".encode(),
        ),
    ],
)
def test_mail_is_read_whatever_it_says_of_its_encoding_and_parts(conversation, fields, body):
    stored = attach(conversation, "a.eml", f"Subject: Hi\nFrom: ada@example.org\n{fields}\n\n".encode() + body)

    text = attachments.text_of(stored)
    assert "日本" in text
    assert "Grüße" in text
