"""Load the documents of a folder and ask its questions through real turns, in whatever database is connected."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from channels.db import database_sync_to_async
from django.core.management import call_command
from django.db import connection, connections

from accounts.models import User
from chat.conversations import model_choice
from chat.documents import sources
from chat.documents.access import reader_of
from chat.evaluation.questions import ExpectedAnswer, documents_of, filings_of
from chat.filings.models import Filing
from chat.models import Conversation, Document, Event
from chat.providers.connections import close_clients
from chat.providers.offline import OfflineAnalyst
from chat.tools.base import SearchQuery
from chat.turns.manager import turn_manager
from chat.validation import Message
from reasoning.citations import Source, SourceKind, fold_text
from reasoning.events import AssistantMessage

COLLECTION = "Evaluation"
BEST = 5
KINDS: tuple[SourceKind, ...] = ("document", "filing")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one question. ``is_cited``: an answer cites a passage that holds the expected words."""

    expected: ExpectedAnswer
    answer: str
    search_ms: float
    is_found: bool
    is_quoted: bool
    is_cited: bool
    has_citations: bool
    not_verbatim: int

    @property
    def is_right(self) -> bool:
        return self.is_cited if self.expected.quotation else not self.has_citations


def load(folder: Path) -> User:
    """Load documents and filings of a folder; return who may read them. Raises SystemExit where one can't be read."""
    if files := documents_of(folder):
        call_command("load_documents", *map(str, files), collection=COLLECTION)
    if filings := filings_of(folder):
        call_command("load_filings", *map(str, filings))
    return User.objects.create(username="evaluation")


def ask_all(person: User, questions: Sequence[ExpectedAnswer]) -> list[Outcome]:
    """Ask every question in a conversation of its own, by the model that new conversations get."""

    async def ask() -> list[Outcome]:
        try:
            return [await outcome_of(person, one) for one in questions]
        finally:
            await close_clients()
            # PostgreSQL drops no database while another thread is connected to it.
            await database_sync_to_async(connections.close_all)()

    provider = model_choice.known_provider(model_choice.offered_models()[0])
    if isinstance(provider, OfflineAnalyst):
        provider.delay_s = 0  # nobody reads along
    return asyncio.run(ask())


async def outcome_of(person: User, expected: ExpectedAnswer) -> Outcome:
    conversation = await Conversation.objects.acreate(owner=person)
    passages, search_ms = await database_sync_to_async(search)(conversation, expected.question)
    accepted = await turn_manager.submit(conversation.pk, Message(expected.question))
    if accepted.turn_id:
        await turn_manager.wait_until_finished(conversation.pk, accepted.turn_id)
    answer, citations = await database_sync_to_async(answer_of)(conversation)
    return await database_sync_to_async(compare)(conversation, expected, passages, search_ms, answer, citations)


def search(conversation: Conversation, question: str) -> tuple[Sequence[Source], float]:
    """Search for the words of a question, as a tool does; return the best passages and the time in milliseconds."""
    reader = reader_of(conversation.pk)
    started = time.perf_counter()
    passages = sources.search(SearchQuery(question, limit=BEST, kinds=KINDS), reader).passages[:BEST]
    return passages, (time.perf_counter() - started) * 1000


def answer_of(conversation: Conversation) -> tuple[str, list[dict[str, Any]]]:
    """Return the text of an answer and what it cites; empty where the turn failed."""
    messages = [
        event.public
        for event in Event.objects.filter(conversation=conversation, type=AssistantMessage.type).order_by("pk")
        if not event.public.get("partial")
    ]
    text = "\n\n".join(message["text"] for message in messages)
    return text, [citation for message in messages for citation in message["citations"]]


def compare(
    conversation: Conversation,
    expected: ExpectedAnswer,
    passages: Sequence[Source],
    search_ms: float,
    answer: str,
    citations: Sequence[dict[str, Any]],
) -> Outcome:
    """Compare what was found and answered with what is expected."""
    reader = reader_of(conversation.pk)
    cited = [one for citation in citations for one in sources.read(citation["url"], reader).passages]
    return Outcome(
        expected=expected,
        answer=answer,
        search_ms=search_ms,
        is_found=any(answers(one, expected) for one in passages),
        is_quoted=holds(answer, expected),
        is_cited=any(answers(one, expected) for one in cited),
        has_citations=bool(citations),
        not_verbatim=sum(citation.get("verified") is False for citation in citations),
    )


def answers(passage: Source, expected: ExpectedAnswer) -> bool:
    """Say whether a passage is of the expected document and holds the expected words."""
    return holds(passage.text, expected) and expected.document in ("", file_of(passage))


def holds(text: str, expected: ExpectedAnswer) -> bool:
    # The Markdown of an answer escapes what would be read as a mark.
    said = fold_text(text.replace("\\", "")).casefold()
    return bool(expected.quotation) and fold_text(expected.quotation).casefold() in said


def file_of(passage: Source) -> str:
    """Return the name of the file that a passage is of."""
    address = passage.url.partition("#")[0].rstrip("/").rpartition("/")[2]
    if passage.kind == "filing":
        return Filing.objects.values_list("source_name", flat=True).get(slug=address)
    return Document.objects.values_list("name", flat=True).get(pk=address)


def figures_of(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the fields of an ``Evaluation``, all but its folder."""
    answerable = [one for one in outcomes if one.expected.quotation]
    others = [one for one in outcomes if not one.expected.quotation]
    times = [one.search_ms for one in outcomes]
    cuts = statistics.quantiles(times, n=20, method="inclusive") if len(times) > 1 else times * 20
    return {
        "database": connection.vendor,
        "model": model_choice.offered_models()[0].name,
        "answerable": len(answerable),
        "found": sum(one.is_found for one in answerable),
        "quoted": sum(one.is_quoted for one in answerable),
        "cited": sum(one.is_cited for one in answerable),
        "unanswerable": len(others),
        "refused": sum(not one.has_citations for one in others),
        "not_verbatim": sum(one.not_verbatim for one in outcomes),
        "p50_ms": round(statistics.median(times), 1),
        "p95_ms": round(cuts[18], 1),
    }
