"""Export a conversation for one viewer as Markdown or JSON, or all of them as a ZIP file. Product 12, 13, 15.

What the viewer may not see, or left out, is not in the ``Visibility`` that comes in; nothing is decided here. A running
turn is left out.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
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
from chat.error_texts import error_text, turn_error_text
from chat.eventlog.attachments import content_of
from chat.html import arender, renumber_citations
from chat.models import Attachment, Conversation, Prompt, Turn
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
_HTML_HEADING = re.compile(r"</?h[1-6]\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Choice:
    """What an export or a link contains beside the answers. A scratchpad can't be chosen."""

    summary: bool = True
    trace: bool = False
    thinking: bool = False

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> Choice:
        """Read ``summary=1&trace=0&thinking=0``; a name that is missing has its default."""

        def is_on(name: str, default: str) -> bool:
            return query.get(name, default).lower() in ("1", "true", "on")

        return cls(summary=is_on("summary", "1"), trace=is_on("trace", "0"), thinking=is_on("thinking", "0"))

    def fields(self) -> dict[str, int]:
        """Return the fields of a query that ``from_query`` reads."""
        return {"summary": int(self.summary), "trace": int(self.trace), "thinking": int(self.thinking)}

    def query(self) -> str:
        """Return what ``from_query`` reads."""
        return urlencode(self.fields())

    def within(self, sees: Visibility) -> Visibility:
        """Narrow a viewer's visibility to this choice."""
        return sees.only(summary=self.summary, trace=self.trace, thinking=self.thinking)


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
    """Return by turn the text of each answer with the numbers of its sources, fit to stand in a Markdown export.

    See ``renumber_citations`` and ``without_forged_headings``.
    """
    answers = {record.turn.pk: record.answer_record() for record in records}
    numbered = {pk: renumber_citations(one.answer, citation_numbers(one.citations)) for pk, one in answers.items()}
    return {pk: without_forged_headings(text) for pk, text in numbered.items()}


def without_forged_headings(text: str) -> str:
    """Return an answer in which no heading can be taken for one of the export's, and no code is left open.

    All other text is exactly as it is.
    """
    titles = [re.escape(_("Question %(number)s") % {"number": 0}), re.escape(_("Answer %(number)s") % {"number": 0})]
    own = re.compile(rf"\s*(?:{'|'.join(titles)})".replace("0", r"\d+"), re.IGNORECASE)
    if not (own.search(text) or "```" in text or "~~~" in text):
        return text
    lines = text.split("\n")
    unclosed = ""
    for token in _BLOCKS.parse(text) if len(lines) <= MAX_PARSED_LINES else ():
        if token.map is None or token.level:
            continue
        first, end = token.map
        if token.type == "fence":
            closer = re.compile(rf" {{0,3}}{re.escape(token.markup)}{re.escape(token.markup[0])}*\s*")
            is_closed = end - 1 > first and closer.fullmatch(lines[end - 1])
            unclosed = "" if is_closed else "\n" + token.markup
        elif token.type == "heading_open" and own.match(lines[first].lstrip("# \t")):
            at = first if token.markup.startswith("#") else end - 1
            lines[at] = "\\" + lines[at].lstrip()
        elif token.type == "paragraph_open":
            paragraph = "\n".join(lines[first:end])
            for match in reversed([*_HTML_HEADING.finditer(blank_code(paragraph))]):
                paragraph = f"{paragraph[: match.start()]}\\{paragraph[match.start() :]}"
            lines[first:end] = paragraph.split("\n")
    return "\n".join(lines) + unclosed


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
    """Yield a ZIP file of a user's account and conversations: Markdown and JSON, as the user sees them, and files.

    One conversation or file is in memory at a time. Temporary ones are in no list, so not in here. Where the session
    ends meanwhile the file is cut off, so that no program takes it for the whole.
    """
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
        # the response is read after its request, whose language has ended
        with override(language):
            archive.writestr(f"conversations/{name}.md", as_markdown(export))
            archive.writestr(f"conversations/{name}.json", as_json(export))
        return list(conversation.attachments.exclude(sent_at=None).values_list("pk", flat=True))

    @sync_to_async
    def write_file(pk: uuid.UUID) -> None:
        if file := Attachment.objects.filter(pk=pk).first():
            folder = f"attachments/{file.conversation_id.hex[:8]}"
            archive.writestr(f"{folder}/{get_valid_filename(f'{pk.hex[:8]}-{file.name}')}", content_of(file))

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
        for file_pk in await write_conversation(conversation, await with_numbered_answers(export, person)):
            if await has_session_ended():
                return
            await write_file(file_pk)
            yield buffer.take()
        yield buffer.take()
    archive.close()
    yield buffer.take()


class ZipBuffer(RawIOBase):
    """What ZipFile has written since the last ``take``. It can't seek, so that ZipFile never goes back."""

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
    yield f"*{join_parts(escape(answer.model), at, status)}*"
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
    lines = [f"{one.ref}. {link_to(one.label, origin, one.url)}{verdicts.get(one.ref, '')}" for one in sources]
    return section(_("Sources"), lines)


def step_lines(number: int, step: ToolTraceStep, origin: str) -> str:
    view = build.step_view(step)
    notes = []
    for arg in view.args:
        value = _("••• hidden (%(kind)s)") % {"kind": arg.mask} if arg.mask else escape(arg.value)
        notes.append(f"{escape(arg.name)}: {value}" if arg.name else value)
    notes += [link_to(citation.label, origin, citation.url) for citation in view.citations]
    if view.error:
        notes.append(escape(view.error))
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
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines() or [""])


def without_query(url: str) -> str:
    """Return the address of a passage without what is to be marked there."""
    return re.sub(r"\?[^#]*", "", url, count=1)


def link_to(label: str, origin: str, url: str) -> str:
    """Return a Markdown link; brackets in the URL would end it."""
    absolute = origin + without_query(url) if url.startswith("/") else url
    return f"[{escape(label)}]({absolute.replace(' ', '%20').replace('(', '%28').replace(')', '%29')})"


def escape(text: str) -> str:
    """Return text on one line that a Markdown viewer shows literally."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))
