"""What tools take and return, as peers see it: JSON schemas, structured content, and the same as text."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.json_schema import GenerateJsonSchema

from chat.tools.arguments import Company, FormType, Limit, Query, none_if_blank
from chat.tools.base import ToolArguments

QUESTION_CHARS = 100_000  # more than any site allows by MESSAGE_MAX_CHARS, which is checked as everywhere


class Schema(GenerateJsonSchema):
    """Schemas without the titles that pydantic makes of names."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


# What tools take


class SearchDocumentsArguments(ToolArguments):
    """Search the documents that the user and this site have loaded. Returns passages with their texts and addresses."""

    query: Query
    limit: Limit = 5


class SearchFilingsArguments(SearchDocumentsArguments):
    """Search the SEC filings on this server. Returns passages with their texts and addresses."""

    form: FormType = None
    company: Company = None


class ReadPassageArguments(ToolArguments):
    """Read one passage with those before and after it, by the address that a search or an answer named."""

    url: Annotated[str, Field(min_length=1, max_length=500, description="The passage's url, with its fragment.")]


class AskArguments(ToolArguments):
    """Ask this server's assistant, which searches filings and documents and answers with citations.

    Each quotation of its answer was checked against the passage that it cites. This takes from seconds to minutes.
    """

    question: Annotated[str, Field(min_length=1, max_length=QUESTION_CHARS)]
    conversation: Annotated[
        uuid.UUID | None,
        BeforeValidator(none_if_blank),
        Field(description="The id of a conversation to go on in, such as that of an earlier answer."),
    ] = None


# What tools return


class Form(BaseModel):
    """A part of a result."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class Place(Form):
    """Where something is."""

    number: Annotated[int, Field(description="An answer cites it as [number].")]
    kind: str
    title: str
    publisher: str
    date: Annotated[str | None, Field(description="When it was filed or published.")]
    period: str | None
    section: str
    page: int | None
    url: str

    @property
    def line(self) -> str:
        """Return the place as one line of text."""
        page = f"page {self.page}" if self.page and not self.section.startswith("page ") else ""
        parts = (self.title, self.publisher, self.date or self.period, self.section, page)
        return f"[{self.number}] {' · '.join(part for part in parts if part)}\n{self.url}"


class FoundPassage(Place):
    """A passage of a document."""

    text: str


class Passages(Form):
    """Passages, best first, or in the order of their document."""

    passages: Sequence[FoundPassage]
    searched: Annotated[int | None, Field(description="How many documents were searched.")] = None

    def as_text(self) -> str:
        """Return what a model reads where its client shows it no structured content."""
        return "\n\n".join(f"{each.line}\n{each.text}" for each in self.passages) or "No passage was found."


class CitedPassage(Place):
    """A passage that an answer cites."""

    quotation: str | None
    verified: Annotated[
        bool | None, Field(description="Whether the quotation was found in the passage, word for word.")
    ]
    snippet: str

    @property
    def verdict(self) -> str:
        """Return the quotation, and whether it was found, as one line of text; empty where nothing is quoted."""
        is_found = "found" if self.verified else "not found"
        return f"“{self.quotation}” ({is_found} in the passage)" if self.quotation else ""


class Failure(Form):
    """Why a turn failed."""

    code: str
    message: str
    retryable: bool


class Answer(Form):
    """An answer with what it cites."""

    conversation: str
    message: str
    status: str
    finish_reason: str | None
    answer: Annotated[str, Field(description="Markdown; [n] cites the source with this number.")]
    summary: Annotated[Sequence[str], Field(description="How the answer was found, in a few sentences.")]
    citations: Sequence[CitedPassage]
    error: Failure | None = None

    def as_text(self) -> str:
        """Return what a model reads where its client shows it no structured content."""
        lines = [f"{each.line}\n{each.verdict}".strip() for each in self.citations]
        failure = f"{self.error.message} ({self.error.code})" if self.error else ""
        return "\n\n".join(part for part in (self.answer, failure, *lines) if part)
