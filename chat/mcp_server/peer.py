"""What a peer's person may search, read and ask: the same as on the pages, without a session."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest
from django.urls import Resolver404, resolve
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _
from mcp.server import ServerRequestContext

from accounts.models import User
from chat.api.endpoint import get_conversation
from chat.api.messages import TurnReader, refuse_command, submit
from chat.api.sse import release_connection
from chat.conversations import actions
from chat.conversations.access import find_conversation
from chat.documents import sources
from chat.documents.access import Reader, readable_collections
from chat.mcp_server import forms
from chat.models import Conversation, Turn
from chat.tools.base import SearchQuery
from chat.turns.manager import turn_manager
from chat.validation import InvalidInputError, clean_message
from reasoning.citations import Source

NO_CONVERSATION = uuid.UUID(int=0)
NEIGHBOURS = 1
LOOK_EVERY_S = 0.5  # at what a turn does
Context = ServerRequestContext[Any]
Report = Callable[[float, float | None, str | None], Awaitable[None]]  # progress, total, message


@dataclass(frozen=True, slots=True)
class Peer:
    """The sender of a request, and the person whose token it has."""

    request: HttpRequest
    person: User

    async def search_filings(self, wanted: forms.SearchFilingsArguments, _context: Context) -> forms.Passages:
        return await self.search(SearchQuery(wanted.query, wanted.form, wanted.company, wanted.limit))

    async def search_documents(self, wanted: forms.SearchDocumentsArguments, _context: Context) -> forms.Passages:
        return await self.search(SearchQuery(wanted.query, limit=wanted.limit, kinds=("document",)))

    async def read_passage(self, wanted: forms.ReadPassageArguments, _context: Context) -> forms.Passages:
        found = await self.read(wanted.url, NEIGHBOURS)
        if not found.passages:
            words = _("url: no passage has this address; use one that a search returned.")
            raise InvalidInputError("not_found", words, field="url")
        return found

    async def ask(self, wanted: forms.AskArguments, context: Context) -> forms.Answer:
        """Run a turn, in a temporary conversation where none is named. It is stopped if the peer leaves."""
        # The second part makes it new: a program that starts again counts its requests from 1.
        message = clean_message(wanted.question, f"{self.mark_of(context.request_id)}-{uuid.uuid4().hex}")
        if wanted.conversation:
            conversation = await get_conversation(self.person, wanted.conversation)
        else:
            conversation = await sync_to_async(actions.start)(self.person, temporary=True)
        try:
            refuse_command(message.text, conversation)
            reader = await TurnReader.of(self.request, self.person, conversation)
            turn_id, _is_repeat = await submit(conversation, message, None, "id")
        except Exception:
            if not wanted.conversation:  # nobody would find it again
                await Conversation.objects.filter(pk=conversation.pk, turns=None).adelete()
            raise
        await release_connection()
        try:
            await report_until_finished(conversation.pk, turn_id, context.session.report_progress)
        except asyncio.CancelledError:
            # In a task of its own: this one may not wait for anything any more.
            turn_manager.spawn(stop(conversation.pk, turn_id))
            raise
        form = await sync_to_async(reader.read_ended)(turn_id)
        return self.answer(conversation.pk, form)

    async def cancel(self, request_id: str | int) -> None:
        """Stop the turn of this peer's ``ask`` of this id, in whichever process it runs."""
        running = Turn.objects.filter(conversation__owner=self.person, status=Turn.Status.RUNNING)
        of_request = running.filter(client_id__startswith=self.mark_of(request_id))
        asked = [turn async for turn in of_request.values_list("conversation_id", flat=True)]
        # There are no sessions: the same program, twice with one token, may have two requests of one id.
        if len(asked) == 1:
            await turn_manager.stop(asked[0])

    def mark_of(self, request_id: str | int | None) -> str:
        """Return how the ids of messages begin that this peer sends in a request."""
        peer = [self.request.headers.get(name, "") for name in ("Authorization", "User-Agent")]
        return salted_hmac("chat.mcp_server", json.dumps([*peer, request_id])).hexdigest()[:24]

    @sync_to_async
    def search(self, query: SearchQuery) -> forms.Passages:
        found = sources.search(query, self.reader())
        return forms.Passages(passages=self.passages(found.passages), searched=found.documents)

    @sync_to_async
    def read(self, address: str, neighbours: int = 0) -> forms.Passages:
        """Return the passage at an address of this site, with as many neighbours; none where there is no such."""
        path = address.removeprefix(self.address("/").removesuffix("/"))
        found = sources.read(path, self.reader(path), neighbours) if path.startswith("/") else None
        return forms.Passages(passages=self.passages(found.passages if found else ()))

    def reader(self, path: str = "") -> Reader:
        """Return for whom is read: all of their collections, and files of the conversation of this path."""
        collections = tuple(readable_collections(self.person.pk).values_list("pk", flat=True))
        try:
            conversation_id = resolve(path.partition("#")[0]).kwargs.get("conversation_id")
        except Resolver404:
            conversation_id = None
        own = find_conversation(self.person, conversation_id) if conversation_id else None
        return Reader(own.pk if own else NO_CONVERSATION, self.person.pk, collections)

    def passages(self, found: Iterable[Source]) -> list[forms.FoundPassage]:
        return [
            forms.FoundPassage(
                number=number,
                kind=source.kind,
                title=source.title,
                publisher=source.publisher,
                date=source.date,
                period=source.period,
                section=source.section,
                page=source.page,
                url=self.address(source.url),
                text=source.text,
            )
            for number, source in enumerate(found, start=1)
        ]

    def answer(self, conversation_id: uuid.UUID, form: dict[str, Any]) -> forms.Answer:
        """Return what an envelope says: what its viewer may see, without thinking and steps."""
        return forms.Answer(
            conversation=str(conversation_id),
            message=form["id"],
            status=form["status"],
            finish_reason=form["finishReason"],
            answer=form["answer"],
            summary=form["reasoningSummary"],
            citations=[
                forms.CitedPassage(
                    number=cited["ref"],
                    publisher=cited["company"],
                    page=cited.get("page"),
                    url=self.address(cited["url"]),
                    quotation=cited.get("quote"),
                    **{name: cited[name] for name in _SAME_NAMES},
                )
                for cited in form["citations"]
            ],
            error=forms.Failure.model_validate(form["error"]) if "error" in form else None,
        )

    def address(self, url: str) -> str:
        return self.request.build_absolute_uri(url)


_SAME_NAMES = ("kind", "title", "date", "period", "section", "verified", "snippet")


async def report_until_finished(conversation_id: uuid.UUID, turn_id: uuid.UUID, report: Report) -> None:
    """Wait for the end of a turn, and say to its peer what it does whenever that changes."""
    said, count = "", 0
    while True:
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_EVERY_S):
                await turn_manager.wait_until_finished(conversation_id, turn_id)
                return
        live = turn_manager.live(conversation_id)
        if live and live.id == turn_id and live.status_text not in ("", said):
            said, count = live.status_text, count + 1
            await report(count, None, _(said))


async def stop(conversation_id: uuid.UUID, turn_id: uuid.UUID) -> None:
    """Stop this turn, unless it has ended."""
    live = turn_manager.live(conversation_id)
    if live and live.id == turn_id:
        await turn_manager.stop(conversation_id)
