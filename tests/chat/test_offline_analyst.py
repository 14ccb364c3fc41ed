"""Conversations with the offline analyst over the bundled corpus and another filing, through the real tools."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async

from chat.filings.ingest import ingest, load_demo
from chat.filings.search import read_passages, search_passages
from chat.providers.base import ProviderRequest
from chat.providers.offline import OfflineAnalyst
from chat.tools.base import ToolContext
from chat.tools.search_filings import SearchFilings
from reasoning.citations import Source, check_citations
from reasoning.deltas import RawFields
from reasoning.prompt import instructions
from reasoning.stream.sections import parse_sections

PROMPT = instructions(sections=True, scratchpad=False, tools=True)
TOOL = SearchFilings()
MAX_STEPS = 5
NORTHWIND = "Northwind Tidal Power, Inc."
BREACH = "A failure to meet the debt service coverage ratio, or a breach of another covenant"
REFUSAL = "These filings do not answer this."
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
            context = ToolContext(len(sources) + 1, sync_to_async(search_passages), sync_to_async(read_passages))
            output = async_to_sync(TOOL.run)(arguments, context)
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
def talk(db: None) -> Talk:
    load_demo()
    ingest(PELLWORM.encode(), name="pellworm.html")
    return Talk()


def test_pronoun_for_what_was_spoken_of_finds_the_passage(talk: Talk) -> None:
    talk.ask("What would breach Northwind's covenants?")

    said = talk.ask("And what happens if they are breached?")

    assert talk.calls[0]["company"] == NORTHWIND
    assert BREACH in said
    assert "Pellworm" not in said


def test_full_follow_up_carries_the_company_and_no_topic(talk: Talk) -> None:
    talk.ask("How does Calder Ridge explain the fall in its gross margin?")

    said = talk.ask("How many employees does it have?")

    assert talk.calls == [{"query": "employees", "limit": 8, "company": "Calder Ridge Cold Chain, Inc."}]
    assert "1,940 employees" in said
    assert "margin" not in said
    assert said.count("\n- ") == 1


def test_follow_up_that_the_company_does_not_answer_is_refused(talk: Talk) -> None:
    talk.ask("How does Calder Ridge explain the fall in its gross margin?")

    said = talk.ask("How many lunar missions does it sponsor?")

    assert said.startswith(REFUSAL)
    assert "gross margin" not in said


def test_named_company_with_its_own_topic_takes_nothing_over(talk: Talk) -> None:
    talk.ask("How does Calder Ridge explain the fall in its gross margin?")
    talk.ask("What would breach Northwind Tidal’s debt covenants?")

    talk.ask("What does Northwind Tidal say about its insurer?")

    assert talk.calls[0]["query"] == "Northwind Tidal insurer"


def test_company_of_the_last_answer_is_carried_without_a_pronoun(talk: Talk) -> None:
    talk.ask("What would breach Northwind Tidal’s debt covenants?")

    said = talk.ask("What is the debt service coverage ratio required?")

    assert '"The facility requires a debt service coverage ratio of at least 1.20 to 1.00' in said
    assert "Pellworm" not in said


def test_company_that_only_the_answer_named_is_carried(talk: Talk) -> None:
    talk.ask("How long was the Skerry Sound array shut down?")

    said = talk.ask("How many employees does the company have?")

    assert talk.calls[0]["company"] == NORTHWIND
    assert "212 full-time employees" in said


@pytest.mark.parametrize("follow_up", ["What about Calder Ridge?", "And Calder Ridge?", "And Calder Ridge’s?"])
def test_other_company_alone_is_asked_the_same(talk: Talk, follow_up: str) -> None:
    talk.ask("Who is Northwind's auditor?")

    said = talk.ask(follow_up)

    assert "We have served as the Company’s auditor since 2016." in said


def test_year_alone_asks_the_same_of_the_same_company(talk: Talk) -> None:
    talk.ask("What was Northwind's revenue in 2025?")

    talk.ask("and in 2024?")

    assert talk.calls == [{"query": "2024 revenue", "limit": 8, "company": NORTHWIND}]


def test_noun_that_is_left_out_comes_from_before(talk: Talk) -> None:
    talk.ask("How many warehouses does Calder Ridge have?")

    talk.ask("How many are leased?")

    assert talk.calls[0]["query"] == "leased warehouses"


def test_question_about_all_companies_carries_none(talk: Talk) -> None:
    talk.ask("How many employees does Northwind have?")

    said = talk.ask("Which company has the most employees?")

    assert "company" not in talk.calls[0]
    assert {"1,940 employees", "212 full-time employees", "1,204 employees"} == {
        words for words in ("1,940 employees", "212 full-time employees", "1,204 employees") if words in said
    }


def test_new_company_without_grammar_is_not_answered_from_the_old_one(talk: Talk) -> None:
    talk.ask("How many employees does Northwind have?")

    said = talk.ask("PELLWORM gross margin?")

    assert "31.0% of revenue" in said
    assert "Northwind" not in said


@pytest.mark.parametrize("chat", ["ok, thanks a lot!", "hi, who are you and what can you do?", "😀"])
def test_small_talk_in_mid_conversation_searches_nothing_and_is_passed_over(talk: Talk, chat: str) -> None:
    talk.ask("What was Northwind's revenue in 2025?")

    said = talk.ask(chat)
    assert talk.calls == []
    assert "offline analyst" in said

    talk.ask("and in 2024?")
    assert talk.calls[0]["query"] == "2024 revenue"


@pytest.mark.parametrize("polite", ["Thanks! How many employees does Northwind have?", "hi, northwind's employees?"])
def test_polite_opening_is_no_search_word(talk: Talk, polite: str) -> None:
    said = talk.ask(polite)

    assert "212 full-time employees" in said
    assert not {"thanks", "hi"} & set(talk.calls[0]["query"].lower().split())


@pytest.mark.parametrize(
    ("question", "opening"),
    [
        ("Tell me about Calder Ridge", "Calder Ridge Cold Chain, Inc. stores goods that must stay cold."),
        ("Calder Ridge", "Calder Ridge Cold Chain, Inc. stores goods that must stay cold."),
        ("northwind", "Northwind Tidal Power, Inc. generates electricity from tidal currents."),
        ("What does Pellworm do?", "Pellworm Ferries runs nine ferries"),
        ("What is Northwind's business?", "Northwind Tidal Power, Inc. generates electricity"),
    ],
)
def test_company_alone_is_answered_with_how_its_business_section_opens(talk: Talk, question: str, opening: str) -> None:
    said = talk.ask(question)

    assert f'Item 1: "{opening}' in said
    assert said.count("\n- ") == 1


def test_company_alone_in_mid_conversation_is_not_sought_in_the_old_one(talk: Talk) -> None:
    talk.ask("How many employees does Northwind have?")

    assert "Pellworm Ferries runs nine ferries" in talk.ask("Pellworm")


def test_company_that_is_not_here_is_said_to_be_missing_and_not_replaced(talk: Talk) -> None:
    assert "No filing of Tesla is here." in talk.ask("What was Tesla's revenue in 2024?")

    said = talk.ask("And its employees?")

    assert "No filing of Tesla is here." in said
    assert "among 0" not in said


def test_two_questions_in_one_get_a_quotation_each(talk: Talk) -> None:
    said = talk.ask("What did ammonia leaks cost Calder Ridge, and is any of it insured?")

    assert "We insure our property" in said
    assert "$6.8 million" in said


def test_row_of_a_table_answers_under_its_columns(talk: Talk) -> None:
    said = talk.ask("How many pallet positions does Millrace have?")

    assert 'under the columns "Warehouse | Lease ends | Pallet positions": "Millrace | May 31, 2027 | 22,000"' in said


def test_acronym_in_a_follow_up_does_not_leave_the_company(talk: Talk) -> None:
    talk.ask("How many employees does Northwind have?")

    talk.ask("Who is the CEO?")

    assert [call.get("company") for call in talk.calls] == [NORTHWIND]


def test_thing_that_a_pronoun_speaks_about_is_no_company(talk: Talk) -> None:
    talk.ask("How many employees does Northwind have?")

    said = talk.ask("What does it say about Cape Orrin?")

    assert talk.calls[0] == {"query": "Cape Orrin", "limit": 8, "company": NORTHWIND}
    assert "Cape Orrin" in said
