"""Export a conversation for one viewer as Markdown or JSON, or all of them as a ZIP file. Product 12, 13, 15.

What the viewer may not see, or left out, is not in the ``Visibility`` that comes in; nothing is decided here. A running
turn is left out.
"""

from __future__ import annotations

import itertools
import json
import re
import unicodedata
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from html import unescape
from io import RawIOBase
from typing import Any
from urllib.parse import urlencode
from zipfile import ZIP_DEFLATED, ZipFile

from asgiref.sync import sync_to_async
from django.utils import timezone
from django.utils.text import get_valid_filename, slugify
from django.utils.translation import get_language, override
from django.utils.translation import gettext as _
from markdown_it import MarkdownIt

from accounts.access.visibility import reread
from accounts.models import User
from chat import eventlog
from chat.cards import build, labels
from chat.conversations.reasoning_settings import visibility_for
from chat.eventlog import attachments, documents
from chat.eventlog.attachments import content_of
from chat.html import arender, renumber_citations
from chat.models import Attachment, Conversation, Document, Prompt, Turn
from chat.texts.error_texts import error_text, turn_error_text
from chat.texts.stored_text import translate_stored
from reasoning.citations import blank_code, citation_numbers
from reasoning.envelope import AnswerRecord, envelope
from reasoning.redaction import redact_text
from reasoning.trace import ToolTraceStep
from reasoning.visibility import Visibility

# For rows of earlier versions, see error_form.
RETRYABLE_CODES = frozenset({"disconnected", "rate_limited", "server_error", "timeout", "unreachable"})
MAX_NAME_CHARS = 60
_MARKUP = re.compile(r"([\\`*_\[\]<>#|])")
# An answer's Markdown as the page reads it, where HTML is text: its blocks alone, which are parsed in linear time.
_BLOCKS = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).disable("reference")
_BLOCKS.core.ruler.disable(["inline", "text_join"])
MAX_PARSED_LINES = 50_000
_MAY_STAND_OUT = re.compile(r"(?:^|[\r\n]) {0,3}[#=-]|<|```|~~~")
_LINE_END = re.compile(r"(\r\n?|\n)")
_TAG = re.compile(r"<[^<>]*>")
_MARKS = frozenset("*_`~[]!#\\")
# HTML that a viewer could read as a heading, or that could hide what follows; the page shows it as text.
_NAMES = "h[1-6]|pre|script|style|textarea|title|template|table|div|section|iframe"
_HTML = re.compile(rf"(?<!\\)(?:\\\\)*+(?=<(?:[!?]|/?(?:{_NAMES})\b))", re.IGNORECASE)
# At the beginning of a line it ends a paragraph, and so a code span.
_HTML_LINE = re.compile(rf"^[ \t>*+\-\d.)]*+(?=<(?:[!?]|/?(?:{_NAMES})\b))", re.IGNORECASE | re.MULTILINE)
# Such a line begins a block of HTML, which would take the fence of the code below, up to an empty line.
_BEFORE_CODE = re.compile(
    r"^[ \t>*+\-\d.)]*+(?=</?(?:details|summary)\b|</?[a-z][^<\n]*>[ \t]*$)", re.IGNORECASE | re.MULTILINE
)
_DETAILS = re.compile(r"(?<!\\)(?:\\\\)*+<(?P<closes>/?)details\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Choice:
    """What an export or a link contains beside the answers. A scratchpad can't be chosen."""

    summary: bool = True
    trace: bool = False
    thinking: bool = False

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> Choice:
        """Read ``summary=1&trace=0&thinking=0``; a name that is missing has its default."""
        names = [option.name for option in fields(cls) if option.name in query]
        return cls(**{name: query[name].lower() in ("1", "true", "on") for name in names})

    @classmethod
    def from_form(cls, form: Mapping[str, str]) -> Choice:
        """Read check boxes, of which a form has those that are checked."""
        return cls(**{option.name: option.name in form for option in fields(cls)})

    def params(self) -> dict[str, int]:
        """Return the parameters of a query that ``from_query`` reads."""
        return {name: int(is_on) for name, is_on in asdict(self).items()}

    def query(self) -> str:
        """Return what ``from_query`` reads."""
        return urlencode(self.params())

    def within(self, sees: Visibility) -> Visibility:
        """Narrow a viewer's visibility to this choice."""
        return sees.only(**asdict(self))


@dataclass(frozen=True, slots=True)
class Export:
    """What is exported for whom. ``origin`` prefixes the URLs of sources, such as ``https://example.org``.

    ``answers``: what ``numbered_answers`` returns, where that was called before.
    """

    title: str
    origin: str
    at: datetime
    records: Sequence[eventlog.TurnRecord]
    sees: Visibility
    answers: Mapping[uuid.UUID, str] | None = None

    @property
    def ended(self) -> tuple[eventlog.TurnRecord, ...]:
        return tuple(record for record in self.records if record.turn.status != Turn.Status.RUNNING)


def envelope_of(record: eventlog.TurnRecord, sees: Visibility, *, scratchpad: str | None = None) -> dict[str, Any]:
    """Return the envelope of an ended turn for one viewer. Reads the database where they may read thinking."""
    return _envelope(record, sees, eventlog.thinking_for(record.turn, sees), scratchpad)


def envelopes_of(records: Sequence[eventlog.TurnRecord], sees: Visibility) -> list[dict[str, Any]]:
    """Return the envelopes of ended turns for one viewer. Reads the thinking of all of them in one statement."""
    thinking = eventlog.thinking_of([record.turn for record in records], sees)
    return [_envelope(record, sees, thinking.get(record.turn.pk)) for record in records]


def _envelope(
    record: eventlog.TurnRecord, sees: Visibility, text: eventlog.ThinkingText | None, scratchpad: str | None = None
) -> dict[str, Any]:
    form = envelope(record.answer_record(), sees, thinking=thinking_form(text), scratchpad=scratchpad)
    if record.turn.status == Turn.Status.ERRORED:
        form["error"] = error_form(record.turn, sees)
    return form


def thinking_form(text: eventlog.ThinkingText | None) -> dict[str, Any] | None:
    """Return thinking as the envelope has it."""
    return {"text": text.text, "tokensEst": text.tokens_est, "truncated": text.truncated} if text else None


def error_form(turn: Turn, sees: Visibility) -> dict[str, Any]:
    """Return why a turn failed, worded for the viewer. ``retryAfter``: seconds, if the model service said so."""
    # rows of earlier versions don't say whether another try may help
    retryable = turn.error_code in RETRYABLE_CODES if turn.is_retryable is None else turn.is_retryable
    message = turn_error_text(turn, for_staff=sees.names_settings)
    form: dict[str, Any] = {"code": turn.error_code, "message": message, "retryable": retryable}
    return form if turn.retry_after_s is None else {**form, "retryAfter": turn.retry_after_s}


def question_form(record: eventlog.TurnRecord) -> dict[str, Any]:
    """Return a question as export and API have it, with the names of its files."""
    card = build.question_card(record)
    form = {"role": "user", "text": card.text}
    files = [{"name": file.name, "url": file.url} for file in card.attachments]
    return {**form, "attachments": files} if files else form


def as_json(export: Export) -> str:
    """Return the questions, and the envelopes of the API, oldest first."""
    messages: list[dict[str, Any]] = []
    for record, form in zip(export.ended, envelopes_of(export.ended, export.sees), strict=True):
        messages.append({**question_form(record), "at": record.turn.started_at.isoformat()})
        messages.append({"role": "assistant", **form})
    exported = {
        "title": title_of(export),
        "origin": export.origin,
        "exportedAt": export.at.astimezone(UTC).isoformat(timespec="seconds"),
        "messages": messages,
    }
    return json.dumps(exported, ensure_ascii=False, indent=2) + "\n"


def numbered_answers(records: Sequence[eventlog.TurnRecord]) -> dict[uuid.UUID, str]:
    """Return by turn the text of each answer with the numbers of its sources, fit for a Markdown export.

    See ``renumber_citations`` and ``without_forgeries``.
    """
    answers = {record.turn.pk: record.answer_record() for record in records}
    numbered = {pk: renumber_citations(one.answer, citation_numbers(one.citations)) for pk, one in answers.items()}
    own = own_headings()
    return {pk: without_forgeries(text, own) for pk, text in numbered.items()}


def own_headings() -> re.Pattern[str]:
    """Return what matches the level and the words of the export's headings, in the language of the export."""
    numbered = (_("Question %(number)s"), _("Answer %(number)s"))
    titles = (_("Sources"), _("Steps"), _("Reasoning summary"), _("Attached files"))
    turns = "|".join(re.escape(words_seen(title % {"number": "9"})).replace("9", r"\d") for title in numbered)
    sections = "|".join(re.escape(words_seen(title)) for title in titles)
    return re.compile(rf"h\d (?:{turns})|h3 (?:(?:{sections})$|.*· ?\d+$)")


def words_seen(heading: str) -> str:
    """Return the words of a heading as a reader sees them: without markup, capitals and invisible characters."""
    text = unicodedata.normalize("NFKC", unescape(_TAG.sub("", heading)))
    seen = (char for char in text if char not in _MARKS and unicodedata.category(char) not in ("Cf", "Mn"))
    return " ".join("".join(seen).split()).casefold()


def without_forgeries(text: str, own: re.Pattern[str]) -> str:
    """Return an answer that can't be mistaken for the export around it; all other text is exactly as it is.

    A heading that reads like one of the export's is escaped, as is HTML that could hide what follows, and code that is
    not closed is closed. A text of very many lines, or one that turns into another such heading with each escape, is
    quoted, as questions are.
    """
    for _attempt in range(4):
        if not _MAY_STAND_OUT.search(text):
            return text
        if text.count("\n") + text.count("\r") > MAX_PARSED_LINES:
            break
        before, text = text, escape_forgeries(text, own)
        if text == before:
            return text
    return block_quote(text)


def escape_forgeries(text: str, own: re.Pattern[str]) -> str:
    """Do ``without_forgeries`` once. What follows an escaped heading may read in another way."""
    divided = _LINE_END.split(text)
    lines, ends = divided[::2], [*divided[1::2], ""]
    unclosed, open_details = "", 0
    tokens = _BLOCKS.parse(text)
    before_code: set[int] = set()  # lines without an empty one between them and code
    for token in tokens:
        at = token.map[0] if token.type == "fence" and token.map else 0
        while at and at not in before_code and lines[at - 1].strip():
            before_code.add(at)
            at -= 1
    for token, inner in zip(tokens, [*tokens[1:], None], strict=True):
        if token.map is None:
            continue
        first, end = token.map
        if token.type == "fence" and not token.level:
            closer = re.compile(rf" {{0,3}}{re.escape(token.markup)}{re.escape(token.markup[0])}*\s*")
            is_closed = end - 1 > first and closer.fullmatch(lines[end - 1])
            unclosed = "" if is_closed else "\n" + token.markup
        elif token.type == "heading_open" and not token.level and inner:
            # from each of its lines on: the first ones may define links, which are not seen
            said = inner.content.split("\n")
            starts = [words_seen(" ".join(said[at : at + 3])) for at in range(len(said))]
            if any(own.match(f"{token.tag} {words}") for words in starts):
                at = first if token.markup.startswith("#") else end - 1
                lines[at] = "\\" + lines[at].lstrip()
        elif token.type == "inline":
            source = "\n".join(lines[first:end])
            prose = blank_code(source)
            for tag in _DETAILS.finditer(prose):
                open_details = max(0, open_details + (-1 if tag["closes"] else 1))
            # an escaped backtick begins no code span, but may end one
            places = {found.end() for found in _HTML.finditer(prose)}
            places |= {found.end() for found in _HTML.finditer(blank_code(source.replace("\\`", "\\ ")))}
            places |= {found.end() for found in _HTML_LINE.finditer(source)}
            if end in before_code:
                places |= {found.end() for found in _BEFORE_CODE.finditer(source)}
            bounds = [0, *sorted(places), len(source)]
            lines[first:end] = "\\".join(source[at:to] for at, to in itertools.pairwise(bounds)).split("\n")
    closers = unclosed or "\n\n</details>" * max(0, open_details)
    return "".join(map("".join, zip(lines, ends, strict=True))) + closers


async def with_numbered_answers(export: Export, person: User) -> Export:
    """Return the export with its answers numbered, off the database's thread: they may be many, or hostile."""
    texts = [record.answer_record().answer for record in export.ended]
    return replace(export, answers=await arender(person.pk, texts, numbered_answers, export.ended))


def as_markdown(export: Export) -> str:
    """Return text that reads well with and without a Markdown viewer."""
    parts = [f"# {escape(title_of(export))}"]
    thinking = eventlog.thinking_of([record.turn for record in export.ended], export.sees)
    answers = numbered_answers(export.ended) if export.answers is None else export.answers
    for record in export.ended:
        pk = record.turn.pk
        parts += [part for part in turn_parts(record, export, answers[pk], thinking.get(pk)) if part]
    return "\n\n".join(parts) + "\n"


async def zip_of_all(person: User, session_key: str | None, origin: str) -> AsyncIterator[bytes]:
    """Yield a ZIP file of a user's account, conversations, as Markdown and JSON and as the user sees them, and files.

    One conversation or file is in memory at a time. Temporary ones are in no list, so not in here. Where the session
    ends meanwhile the file is cut off, so that no program takes it for the whole.
    """
    # the response is read after its request, whose language has ended
    buffer, language = ZipBuffer(), get_language()
    archive = ZipFile(buffer, "w", ZIP_DEFLATED)

    @sync_to_async
    def has_session_ended() -> bool:
        return reread(person, session_key) is None

    @sync_to_async
    def read_conversation(pk: uuid.UUID) -> tuple[Conversation, Export] | None:
        """Return None where it was deleted meanwhile or the session has ended."""
        current = reread(person, session_key)
        conversation = person.conversations.select_related("profile").filter(pk=pk).first()
        if current is None or conversation is None:
            return None
        sees = Choice(summary=True, trace=True, thinking=True).within(visibility_for(*current, conversation))
        return conversation, Export(conversation.title, origin, timezone.now(), eventlog.turns(pk), sees)

    @sync_to_async
    def write_conversation(conversation: Conversation, export: Export) -> list[uuid.UUID]:
        """Return the ids of its attached files."""
        pk = conversation.pk
        name = f"{conversation.created_at:%Y-%m-%d}-{file_stem(conversation.title)}-{pk.hex[:8]}"
        with override(language):
            archive.writestr(f"conversations/{name}.md", as_markdown(export))
            archive.writestr(f"conversations/{name}.json", as_json(export))
        return list(attachments.attachments_of(conversation).exclude(sent_at=None).values_list("pk", flat=True))

    # First: it needs no other rows, and a download that is cut off has it.
    archive.writestr("account.json", await sync_to_async(account_json)(person))
    yield buffer.take()
    listed = person.conversations.filter(expires_at=None, turns__isnull=False).distinct().order_by("-created_at")
    for pk in [pk async for pk in listed.values_list("pk", flat=True)]:
        found = await read_conversation(pk)
        if found is None:
            if await has_session_ended():
                return
            continue
        conversation, export = found
        with override(language):
            export = await with_numbered_answers(export, person)
        for file_pk in await write_conversation(conversation, export):
            if await has_session_ended():
                return
            await sync_to_async(write_file)(archive, file_pk)
            yield buffer.take()
        yield buffer.take()
    owned = Document.objects.filter(collection__owner=person).order_by("collection", "name")
    for pk in [pk async for pk in owned.values_list("pk", flat=True)]:
        if await has_session_ended():
            return
        await sync_to_async(write_document)(archive, pk)
        yield buffer.take()
    archive.close()
    yield buffer.take()


def write_file(archive: ZipFile, pk: uuid.UUID) -> None:
    """Write an attached file, unless it was deleted meanwhile."""
    if file := Attachment.objects.filter(pk=pk).first():
        folder = f"attachments/{file.conversation_id.hex[:8]}"
        archive.writestr(f"{folder}/{get_valid_filename(f'{pk.hex[:8]}-{file.name}')}", content_of(file))


def write_document(archive: ZipFile, pk: uuid.UUID) -> None:
    """Write a document, unless it was deleted meanwhile."""
    if file := Document.objects.select_related("collection").filter(pk=pk).first():
        folder = f"documents/{file_stem(file.collection.name)}-{file.collection_id.hex[:8]}"
        archive.writestr(f"{folder}/{get_valid_filename(f'{pk.hex[:8]}-{file.name}')}", documents.content_of(file))


class ZipBuffer(RawIOBase):
    """What ZipFile has written since the last ``take``. It can't seek, so that ZipFile never seeks back."""

    def __init__(self) -> None:
        self._written = bytearray()

    def write(self, data: Any) -> int:
        self._written += data
        return len(data)

    def take(self) -> bytes:
        taken = bytes(self._written)
        self._written.clear()
        return taken


def account_json(person: User) -> str:
    """Return what a user has set."""
    form = {
        "username": person.username,
        "joined": person.date_joined.astimezone(UTC).isoformat(timespec="seconds"),
        "theme": person.theme,
        "language": person.language,
        "showReasoning": person.show_reasoning,
        "reasoning": person.reasoning,
        "profiles": {profile.name: profile.values for profile in person.reasoning_profiles.all()},
        "prompts": dict(Prompt.objects.filter(owner=person).values_list("name", "text")),
        "projects": [
            {
                "name": project.name,
                "systemPrompt": project.system_prompt,
                "conversations": list(project.conversations.filter(expires_at=None).values_list("title", flat=True)),
            }
            for project in person.projects.all()
        ],
        # Here alone: the export of a conversation, which its user may pass on, has none.
        "systemPrompts": [
            {"conversation": title, "systemPrompt": text}
            for title, text in person.conversations.filter(expires_at=None)
            .exclude(system_prompt="")
            .values_list("title", "system_prompt")
        ],
        "collections": [
            {"name": collection.name, "documents": list(collection.documents.values_list("name", flat=True))}
            for collection in person.collections.all()
        ],
        "tokens": list(person.access_tokens.values_list("name", flat=True)),
    }
    return json.dumps(form, ensure_ascii=False, indent=2) + "\n"


def file_stem(title: str) -> str:
    """Return the beginning of a file name. File names get into mails and logs, so the title is redacted."""
    return slugify(redact_text(title))[:MAX_NAME_CHARS].strip("-") or "conversation"


def turn_parts(
    record: eventlog.TurnRecord, export: Export, text: str, thinking: eventlog.ThinkingText | None
) -> Iterator[str]:
    turn, answer = record.turn, record.answer_record()
    yield "## " + _("Question %(number)s") % {"number": turn.number}
    question = build.question_card(record)
    yield block_quote(question.text)
    yield section(
        _("Attached files"), [f"- {link_to(one.name, export.origin, one.url)}" for one in question.attachments]
    )
    yield "## " + _("Answer %(number)s") % {"number": turn.number}
    # a file has no viewer whose time zone is known
    at = turn.started_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    status = "" if turn.status == Turn.Status.COMPLETED else str(turn.get_status_display())
    # the model of a profile is named by staff
    yield f"*{join_parts(escape(translate_stored(turn.model_label or answer.model)), at, status)}*"
    yield text or _("There is no answer.")
    # how any other answer ended is in the line above it
    yield error_text(answer.finish_reason or "", for_staff=False)
    yield source_lines(answer, export.origin)
    if export.sees.summary:
        yield section(_("Reasoning summary"), [f"- {escape(point)}" for point in answer.summary])
    if export.sees.trace:
        steps = [step_lines(number, step, export.origin) for number, step in enumerate(answer.trace, start=1)]
        yield section(_("Steps"), steps)
    if thinking:
        label = labels.thinking_label(turn.thinking_ms)
        yield f"### {label} · ~{thinking.tokens_est}\n\n{block_quote(thinking.text)}"


def source_lines(answer: AnswerRecord, origin: str) -> str:
    numbers = citation_numbers(answer.citations)
    verdicts: dict[int, str] = {}
    for citation in answer.citations:
        number = numbers[citation.ref]
        # one quotation that was not found outweighs others of the same source
        if citation.verified is False:
            verdicts[number] = " — " + _("unverified: the quotation was not found in the passage")
        elif citation.verified is True:
            verdicts.setdefault(number, " — " + _("quotation found word for word"))
    sources = build.source_views(answer.citations)
    lines = [f"{one.ref}. {link_to(one.label, origin, one.address)}{verdicts.get(one.ref, '')}" for one in sources]
    return section(_("Sources"), lines)


def step_lines(number: int, step: ToolTraceStep, origin: str) -> str:
    view = build.step_view(step)
    notes = []
    for arg in view.args:
        value = _("••• hidden (%(kind)s)") % {"kind": arg.mask} if arg.mask else escape(arg.value)
        notes.append(f"{escape(arg.name)}: {value}" if arg.name else value)
    notes += [escape(view.output)] if view.output else []
    notes += [link_to(citation.label, origin, citation.address) for citation in view.citations]
    notes += [escape(line) for line in (view.more_label, view.error) if line]
    tool = f"**{escape(view.tool)}**" if view.tool else ""
    head = join_parts(tool, view.state_label, view.results_label, view.duration_label)
    return "\n".join([f"{number}. {head}", *(f"    - {note}" for note in notes)])


def title_of(export: Export) -> str:
    return redact_text(export.title) or _("Conversation")


def join_parts(*parts: str) -> str:
    return " · ".join(part for part in parts if part)


def section(heading: str, lines: Sequence[str]) -> str:
    return "\n".join([f"### {heading}", "", *lines]) if lines else ""


def block_quote(text: str) -> str:
    return "\n".join(f"> {line}" if line.strip() else ">" for line in text.splitlines() or [""])


def link_to(label: str, origin: str, url: str) -> str:
    """Return a Markdown link; brackets in the URL would end it."""
    absolute = origin + url if url.startswith("/") else url
    return f"[{escape(label)}]({absolute.replace(' ', '%20').replace('(', '%28').replace(')', '%29')})"


def escape(text: str) -> str:
    """Return text on one line that a Markdown viewer shows literally."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))
