"""Arguments that several tools take, those of this site's models and those of its MCP server."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field


def none_if_blank(value: object) -> object:
    """Return None for a blank text: models send one where they mean no filter."""
    return None if isinstance(value, str) and not value.strip() else value


Query = Annotated[str, Field(min_length=1, max_length=500, description="What to look for, in a few words.")]
Limit = Annotated[int, Field(ge=1, le=20, description="How many passages at most; 8 is plenty.")]
FormType = Annotated[
    Literal["10-K", "10-Q", "8-K"] | None,
    BeforeValidator(none_if_blank),
    Field(description="Only filings of this form type."),
]
Company = Annotated[
    Annotated[str, Field(max_length=200)] | None,
    BeforeValidator(none_if_blank),
    Field(description="Only filings of this company. Leave out to search all."),
]
