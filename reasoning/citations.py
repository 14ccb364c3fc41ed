"""What a citation is, and whether a quotation stands in the passage that it cites.

A citation points at a stored passage of a filing, never at an address that a model wrote. The check is verbatim after
folding white space, quotation marks and case of no letter; see ``check_citations``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """A passage that a tool returned in this turn, under the number by which the model may cite it: ``[ref]``."""

    ref: int
    filing: str  # form type, "10-K"
    company: str
    date: str | None  # filing date, ISO; None where the document did not say. Never invented.
    period: str | None  # period or event date, ISO; shown, labelled, where the filing date is unknown
    section: str
    anchor: str  # "#item-1a-p12"
    url: str  # reader page with the fragment
    text: str  # the passage, whole
    snippet: str  # short extract for the trace


@dataclass(frozen=True, slots=True)
class Citation:
    """One pointer as an answer, an envelope or a trace shows it. Spec 004 envelope."""

    ref: int
    filing: str
    company: str
    date: str | None
    period: str | None
    section: str
    anchor: str
    url: str
    snippet: str
    quote: str | None = None
    verified: bool | None = None  # None: there is no quotation
