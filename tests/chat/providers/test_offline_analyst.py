"""Conversations with the offline analyst over the bundled corpus and another filing, through the real tools."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async

from chat.filings.ingest import STARTERS, ingest, load_demo
from chat.filings.search import read_passages, search_passages
from chat.providers.base import ProviderRequest
from chat.providers.offline import OfflineAnalyst
from chat.tools.base import SearchResult, ToolContext
from chat.tools.passages import number_passages
from chat.tools.search_filings import search_filings
from reasoning.citations import Source, check_citations
from reasoning.deltas import RawFields
from reasoning.prompt import instructions
from reasoning.stream.sections import parse_sections

PROMPT = instructions(sections=True, scratchpad=False, tools=True)
TOOL = search_filings
MAX_STEPS = 5
NORTHWIND = "Northwind Tidal Power, Inc."
CALDER_RIDGE = "Calder Ridge Cold Chain, Inc."
BREACH = "A failure to meet the debt service coverage ratio, or a breach of another covenant"
REFUSAL = "I couldn’t find an answer in these filings."
PELLWORM = """<html><body><p>FORM 10-K</p><p>For the fiscal year ended December 31, 2024</p>
<p>Pellworm Ferries, Inc.</p><p>(Exact name of registrant as specified in its charter)</p>
<p><b>Item 1. Business</b></p><p>Pellworm Ferries runs nine ferries between the islands of the northern coast.</p>
<p>We had 1,204 employees at the end of fiscal 2024. Our gross margin was 31.0% of revenue.</p>
<p><b>Item 1A. Risk Factors</b></p><p>If our security is breached, or a system is breached by intruders, passengers may
sue us. A breach happened in 2022, and our insurer paid for most of it.</p>
<p><b>Item 7. Management’s Discussion</b></p><p>Our credit agreement requires a debt service coverage ratio of 1.05.</p>
<p>SIGNATURES</p></body></html>"""


@dataclass
class Talk:
    """A conversation. ``calls`` are the arguments of the last question's searches."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)

    def ask(self, question: str) -> str:
        """Ask, run the tool as often as it is called, check every quotation, and return the answer."""
        self.messages.append({"role": "user", "content": question})
        self.calls = []
        sources: list[Source] = []
        for _step in range(MAX_STEPS):
            text, arguments = async_to_sync(self._respond)()
            if not arguments:
                answer = parse_sections(text).answer
                self.messages.append({"role": "assistant", "content": answer})
                assert all(citation.verified is not False for citation in check_citations(answer, sources))
                return answer
            self.calls.append(json.loads(arguments))
            entries = sync_to_async(tuple)  # the analyst lists nothing
            context = ToolContext(
                sync_to_async(search_passages), sync_to_async(read_passages), entries, sync_to_async(SearchResult)
            )
            found = async_to_sync(TOOL.call)(arguments, context)
            output = number_passages(found, first_ref=len(sources) + 1)
            sources += output.sources
            self.messages += [{"role": "assistant"}, {"role": "tool", "content": output.content}]
        raise AssertionError("the analyst does not stop calling tools")

    async def _respond(self) -> tuple[str, str]:
        text = arguments = ""
        async for delta in OfflineAnalyst(delay_ms=0).stream(
            ProviderRequest({"messages": self.messages}, PROMPT, [TOOL.schema], "")
        ):
            if isinstance(delta, RawFields):
                text += delta.fields.get("content", "")
                arguments += "".join(call["function"]["arguments"] for call in delta.fields.get("tool_calls", ()))
        return text, arguments


@pytest.fixture
def talk(db):
    load_demo()
    ingest(PELLWORM.encode(), name="pellworm.html")
    return Talk()


@dataclass(frozen=True)
class FollowUp:
    """Questions, and what the last answer says and its first search looks for."""

    questions: tuple[str, ...]
    said: str = ""
    not_said: str = "\0"
    query: str | None = None
    company: str | None = None


FALL = "How does Calder Ridge explain the fall in its gross margin?"
COVENANTS = "What would breach Northwind Tidal’s debt covenants?"
EMPLOYEES = "How many employees does Northwind have?"
REVENUE = "What was Northwind's revenue in 2025?"
FOLLOW_UPS = {
    "pronoun": FollowUp((COVENANTS, "And what happens if they are breached?"), BREACH, "Pellworm", None, NORTHWIND),
    "own topic": FollowUp(
        (FALL, "How many employees does it have?"), "1,940 employees", "margin", "employees", CALDER_RIDGE
    ),
    "not answered": FollowUp((FALL, "How many lunar missions does it sponsor?"), REFUSAL, "gross margin"),
    "named again": FollowUp(
        (FALL, COVENANTS, "What does Northwind Tidal say about its insurer?"), query="Northwind Tidal insurer"
    ),
    "no pronoun": FollowUp(
        (COVENANTS, "What is the debt service coverage ratio required?"),
        "“The facility requires a debt service coverage ratio of at least 1.20 to 1.00",
        "Pellworm",
    ),
    "named by the answer": FollowUp(
        ("How long was the Skerry Sound array shut down?", "How many employees does the company have?"),
        "212 full-time employees",
        company=NORTHWIND,
    ),
    "same of another": FollowUp(
        ("Who is Northwind's auditor?", "And Calder Ridge’s?"), "We have served as the Company’s auditor since 2016."
    ),
    "year alone": FollowUp((REVENUE, "and in 2024?"), query="2024 revenue", company=NORTHWIND),
    "after small talk": FollowUp((REVENUE, "ok, thanks a lot!", "and in 2024?"), query="2024 revenue"),
    "noun left out": FollowUp(
        ("How many warehouses does Calder Ridge have?", "How many are leased?"), query="leased warehouses"
    ),
    "all companies": FollowUp((EMPLOYEES, "Which company has the most employees?"), "1,204 employees"),
    "no grammar": FollowUp((EMPLOYEES, "PELLWORM gross margin?"), "31.0% of revenue", "Northwind"),
    "company as object": FollowUp((EMPLOYEES, "Who audits Calder Ridge?"), "auditor since 2016"),
    "company in lower case": FollowUp((EMPLOYEES, "who audits calder ridge?"), "auditor since 2016"),
    "company by its short name": FollowUp((EMPLOYEES, "what is the auditor of calder?"), "auditor since 2016"),
    "same of another, in lower case": FollowUp((EMPLOYEES, "and calder ridge?"), "1,940 employees"),
    "complete after no answer": FollowUp(
        ("What is the weather in Norway?", "Compare the employees of both companies"), "1,940 employees", "Norway"
    ),
    "after nonsense": FollowUp(("blorp fnord quux", "height of the moon"), REFUSAL, "blorp"),
    "year before": FollowUp((REVENUE, "and the year before?"), "$91.7 million in 2024", "Amounts received"),
    "year before, none named": FollowUp(
        ("What was Northwind's revenue?", "and the previous year?"), "$91.7 million in 2024", query="revenue 2024"
    ),
    "reason": FollowUp((REVENUE, "why?"), "Lower generation at Skerry Sound"),
    "acronym": FollowUp((EMPLOYEES, "Who is the CEO?"), company=NORTHWIND),
    "thing, not company": FollowUp(
        (EMPLOYEES, "What does it say about Cape Orrin?"), "Cape Orrin", query="Cape Orrin", company=NORTHWIND
    ),
    "company alone": FollowUp((EMPLOYEES, "Pellworm"), "Pellworm Ferries runs nine ferries"),
    "unknown company": FollowUp(
        ("What was Tesla's revenue in 2024?", "And its employees?"), "No filing of Tesla is here.", "among 0"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", FOLLOW_UPS.values(), ids=FOLLOW_UPS)
def test_follow_up_is_completed_from_the_questions_before(talk, case):
    for question in case.questions:
        said = talk.ask(question)

    assert case.said in said
    assert case.not_said not in said
    assert case.query in (None, talk.calls[0]["query"])
    assert case.company in (None, talk.calls[-1].get("company"))


@pytest.mark.parametrize("question", ["list all filings", "Which filings are there?", "What companies do you have?"])
def test_filings_are_listed_also_behind_another_question(talk, question):
    talk.ask(EMPLOYEES)

    said = talk.ask(question)

    assert said.startswith("4 filings are here:")
    assert f"{CALDER_RIDGE}, 10-Q, filed 2025-11-05" in said
    assert "212" not in said


def test_both_halves_of_a_question_are_answered(talk):
    said = talk.ask("How many employees does Calder Ridge have, and who audits it?")

    assert "1,940 employees" in said
    assert "auditor since 2016" in said


def test_half_without_an_answer_is_named(talk):
    said = talk.ask("Who audits Calder Ridge and how many moons does it own?")

    assert "auditor since 2016" in said
    assert f"How many moons does it own?\n\n{REFUSAL}" in said


@pytest.mark.parametrize("chat", ["tell me more", "ok, thanks a lot!", "hi, who are you and what can you do?", "😀"])
def test_small_talk_in_mid_conversation_searches_nothing(talk, chat):
    talk.ask(REVENUE)

    said = talk.ask(chat)

    assert talk.calls == []
    assert "offline analyst" in said


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Thanks! How many employees does Northwind have?", "212 full-time employees"),
        ("Tell me about Calder Ridge", "Calder Ridge Cold Chain, Inc. stores goods that must stay cold."),
        ("northwind", "Northwind Tidal Power, Inc. generates electricity from tidal currents."),
        ("What does Pellworm do?", "Pellworm Ferries runs nine ferries"),
        ("Who audits Calder Ridge?", "We have served as the Company’s auditor since 2016."),
        ("How many people work at Northwind Tidal?", "212 full-time employees"),
        ("Why did Northwind Tidal’s revenue fall in 2025?", "a decrease of 5.9%. Lower generation at Skerry Sound"),
        ("What are the main risks that Calder Ridge faces?", "A leak can injure people"),
        ("Is Calder Ridge facing any lawsuits?", "claims"),  # which passage depends on the search engine
        ("How much does Northwind Tidal owe?", "term facility had $212.4 million outstanding"),
        ("Who is the CEO of Calder Ridge?", REFUSAL),
        (
            "How many pallet positions does Millrace have?",
            "under the columns “Warehouse | Lease ends | Pallet positions”: “Millrace | May 31, 2027 | 22,000”",
        ),
    ],
)
def test_single_question_is_answered_from_the_corpus(talk, question, said):
    assert said in talk.ask(question)


def test_starter_is_answered(talk):
    facts = (
        ("$212.4 million outstanding",),
        ("A further outage",),
        ("electricity prices rose faster",),
        ("we recorded $6.8 million of costs", "We insure our property"),
    )
    for question, wanted in zip(STARTERS, facts, strict=True):
        said = Talk().ask(question)
        assert all(fact in said for fact in wanted)


def test_beginnings_of_starters_differ_as_titles():
    assert len({starter[:12] for starter in STARTERS}) == len(STARTERS)
