"""The offline analyst: it searches, quotes, and says when the filings do not answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chat.providers.base import ProviderRequest
from chat.providers.offline import OfflineAnalyst
from chat.tools.search_filings import SearchFilings
from reasoning.citations import Source, check_citations
from reasoning.deltas import RawDelta, RawEnd, RawFields, RawUsage
from reasoning.prompt import instructions
from reasoning.sections import parse_sections

TOOLS = (SearchFilings().schema,)
PROMPT = instructions(sections=True, scratchpad=False, tools=True)
HARBOUR = (
    "Harbour staff\n\nAt the end of fiscal 2024 Pellworm Ferries had 1,204 employees. The U.S. Coast Guard inspects "
    "our ferries each spring. A.M. Best Co. rates our insurer.\n\n2024 | 2023\nTicket revenue | $31,370 | $29,915\n"
    "Fuel and port dues | 12,001 | 11,870"
)
FLEET = "Fleet\n\nWe own nine ferries. Two of them were built in 2019 at a yard in Husum because older hulls leaked."


def passage(ref: int, text: str, **more: Any) -> dict[str, Any]:
    form = {"company": "Pellworm Ferries, Inc.", "filing": "10-K", "date": "2025-02-20", "period": "2024-12-31"}
    return {"ref": ref, **form, "section": "Item 1", "url": f"/filings/pellworm/#item-1-p{ref}", "text": text, **more}


def found(*texts: str, company: str | None = None, **more: Any) -> str:
    searched = {"query": "q", "filings": 3, "companies": ["Pellworm Ferries, Inc."]} | (
        {"company": company} if company else {}
    )
    passages = [passage(ref, text, **more) for ref, text in enumerate(texts, start=1)]
    return json.dumps({"passages": passages, "searched": searched})


async def respond(
    *questions: str, tool: str | None = None, prompt: str = PROMPT, tools: tuple[dict[str, Any], ...] = TOOLS
) -> list[RawDelta]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": question} for question in questions]
    if tool is not None:
        messages += [{"role": "assistant", "content": None}, {"role": "tool", "tool_call_id": "a", "content": tool}]
    asked = ProviderRequest({"messages": messages}, prompt, tools, "")
    return [delta async for delta in OfflineAnalyst(delay_ms=0).stream(asked)]


def text(deltas: list[RawDelta], field: str = "content") -> str:
    return "".join(delta.fields.get(field, "") for delta in deltas if isinstance(delta, RawFields))


def arguments(deltas: list[RawDelta]) -> dict[str, Any]:
    pieces = [call for delta in deltas if isinstance(delta, RawFields) for call in delta.fields.get("tool_calls", ())]
    called: dict[str, Any] = json.loads("".join(piece["function"]["arguments"] for piece in pieces) or "{}")
    return called


async def answer(question: str, *texts: str, **more: Any) -> str:
    return parse_sections(text(await respond(question, tool=found(*texts, **more)))).answer


def sources(*texts: str) -> list[Source]:
    return [
        Source(ref, "10-K", "Pellworm Ferries, Inc.", None, None, "Item 1", f"#p{ref}", "/f", one, "")
        for ref, one in enumerate(texts, start=1)
    ]


async def test_question_thinks_then_calls_the_search() -> None:
    deltas = await respond("How many employees did Pellworm Ferries have in 2024?")

    assert text(deltas, "reasoning_content")
    assert text(deltas) == ""
    called = arguments(deltas)
    assert called["company"] == "Pellworm Ferries"
    assert called["limit"] == 8
    assert {"employees", "Pellworm", "2024"} <= set(called["query"].split())
    assert [delta.finish_reason for delta in deltas if isinstance(delta, RawEnd)] == ["tool_calls"]


async def test_arguments_come_in_pieces_that_the_tool_takes() -> None:
    deltas = await respond("What does Pellworm’s 10-K say about “fuel” & port dues?")

    pieces = [delta for delta in deltas if isinstance(delta, RawFields) and "tool_calls" in delta.fields]
    assert len(pieces) > 3
    assert set(arguments(deltas)) <= set(TOOLS[0]["function"]["parameters"]["properties"])


async def test_answer_quotes_word_for_word_and_cites() -> None:
    said = await answer("How many employees did Pellworm Ferries have at the end of fiscal 2024?", FLEET, HARBOUR)

    assert '"At the end of fiscal 2024 Pellworm Ferries had 1,204 employees." [2]' in said
    assert "Pellworm Ferries, Inc., 10-K filed 2025-02-20, Item 1" in said
    assert all(citation.verified for citation in check_citations(said, sources(FLEET, HARBOUR)))


async def test_table_row_is_quoted_with_its_columns() -> None:
    said = await answer("What was Pellworm's ticket revenue in 2023?", HARBOUR)

    assert '"2024 | 2023"' in said
    assert '"Ticket revenue | $31,370 | $29,915" [1]' in said
    assert [citation.verified for citation in check_citations(said, sources(HARBOUR))] == [True, True]


async def test_reply_has_the_sections_that_were_asked_for() -> None:
    parsed = parse_sections(text(await respond("How many employees did Pellworm have?", tool=found(HARBOUR))))

    assert 2 <= len(parsed.summary) <= 4
    assert parsed.answer.startswith("The filings say this")
    assert parsed.scratchpad is None


async def test_scratchpad_is_written_only_where_it_is_asked_for() -> None:
    prompt = instructions(sections=True, scratchpad=True, tools=True)

    with_notes = parse_sections(text(await respond("How many employees?", tool=found(HARBOUR), prompt=prompt)))

    assert with_notes.scratchpad is not None
    assert "Threshold" not in with_notes.answer


@pytest.mark.spec("004 flags")
async def test_no_sections_where_none_are_asked_for() -> None:
    prompt = instructions(sections=False, scratchpad=False, tools=True)

    assert text(await respond("How many employees?", tool=found(HARBOUR), prompt=prompt)).startswith("The filings say")


@pytest.mark.parametrize(
    "question",
    [
        "How many lunar missions did Pellworm Ferries sponsor?",
        "What was Pellworm's ticket revenue in 2031?",
        "Which airline does Pellworm own?",
        "What is Pellworm's market share in Brazil?",
    ],
)
async def test_what_the_passages_do_not_hold_is_refused_and_cites_nothing(question: str) -> None:
    said = await answer(question, HARBOUR, FLEET)

    assert said.startswith("These filings do not answer this.")
    assert 'Searched for: "q", among 3 filings of Pellworm Ferries, Inc.' in said
    assert check_citations(said, sources(HARBOUR, FLEET)) == ()


@pytest.mark.parametrize(
    "question", ["What was Tesla's ticket revenue in 2024?", "what was tesla's ticket revenue in 2024"]
)
async def test_another_companys_text_is_no_answer(question: str) -> None:
    said = await answer(question, HARBOUR)

    assert "No filing of" in said
    assert check_citations(said, sources(HARBOUR)) == ()


async def test_place_with_a_possessive_is_no_company() -> None:
    assert "built in 2019" in await answer("When were Husum's ferries built?", FLEET)


async def test_empty_search_for_a_name_looks_in_all_filings_once() -> None:
    first = await respond("How many ferries does Husum have?", tool=found(company="Husum"))
    then = await respond("How many ferries does Husum have?", tool=found())

    assert "company" not in arguments(first)
    assert arguments(first)["query"]
    assert arguments(then) == {}
    assert "These filings do not answer this." in text(then)


@pytest.mark.parametrize("question", ["Hello!", "thanks", "Who are you?", "What can you do?", "are you a chatbot", "?"])
async def test_small_talk_says_what_it_is_and_how_to_connect_a_model(question: str) -> None:
    said = text(await respond(question))

    assert "OPENAI_BASE_URL=http://127.0.0.1:11434/v1" in said
    assert "only" in said or "offline analyst" in said


async def test_without_a_search_tool_it_says_that_it_cannot_search() -> None:
    said = text(await respond("How many employees did Pellworm have?", tools=()))

    assert "cannot search" in said


@pytest.mark.parametrize("message", ["", "Timed out.", "[]", "{}", '{"passages": 3}', "[" * 5000])
async def test_search_that_failed_is_told_and_not_repeated(message: str) -> None:
    deltas = await respond("How many employees did Pellworm have?", tool=message)

    assert "did not work" in text(deltas)
    assert arguments(deltas) == {}


@pytest.mark.parametrize(
    "entry",
    [None, 3, {}, {"ref": "1", "text": "x"}, {"ref": 1, "text": ""}, {"ref": 1, "text": 5}, {"ref": 1, "text": "x y"}],
)
async def test_odd_passages_are_passed_over(entry: Any) -> None:
    said = text(await respond("How many employees?", tool=json.dumps({"passages": [entry], "searched": None})))

    assert "These filings do not answer this." in said


async def test_follow_up_takes_company_and_topic_from_before() -> None:
    called = arguments(await respond("What was Pellworm's ticket revenue in 2024?", "And in 2023?"))

    assert called["company"] == "Pellworm"
    assert {"ticket", "revenue", "2023"} <= set(called["query"].split())
    assert "2024" not in called["query"]


async def test_follow_up_with_a_topic_of_its_own_keeps_only_the_company() -> None:
    called = arguments(
        await respond("What was Pellworm's ticket revenue in 2024?", "How many employees do they employ ashore?")
    )

    assert called["company"] == "Pellworm"
    assert "ticket" not in called["query"]


async def test_follow_up_about_another_company_keeps_the_topic() -> None:
    called = arguments(await respond("What was Pellworm's ticket revenue in 2024?", "What about Amrum Lines?"))

    assert called["company"] == "Amrum Lines"
    assert {"ticket", "revenue"} <= set(called["query"].split())


async def test_full_question_owes_nothing_to_the_one_before() -> None:
    called = arguments(
        await respond("What was Pellworm's ticket revenue?", "How many employees did Amrum Lines have in 2024?")
    )

    assert called["company"] == "Amrum Lines"
    assert "ticket" not in called["query"]


async def test_filing_date_is_answered_from_the_record() -> None:
    assert "filed 2025-02-20, period 2024-12-31 [1]" in await answer("When was Pellworm's 10-K filed?", FLEET)


async def test_unknown_filing_date_is_never_invented() -> None:
    assert "filing date not known" in await answer("When was Pellworm's 10-K filed?", FLEET, date=None)


async def test_comparison_quotes_each_company() -> None:
    other = passage(2, "Amrum Lines had 310 employees at the end of fiscal 2024.", company="Amrum Lines AG")
    message = json.dumps({"passages": [passage(1, HARBOUR), other], "searched": {"query": "q"}})

    said = text(await respond("Compare the employees of Pellworm and Amrum Lines", tool=message))

    assert "1,204 employees" in said
    assert "310 employees" in said


async def test_usage_counts_thinking_inside_the_output() -> None:
    deltas = await respond("How many employees did Pellworm have?")

    [usage] = [delta for delta in deltas if isinstance(delta, RawUsage)]
    assert usage.input_tokens
    assert usage.output_tokens
    assert 0 < (usage.reasoning_tokens or 0) <= usage.output_tokens


async def test_answer_streams_in_small_pieces() -> None:
    deltas = await respond("How many employees did Pellworm have?", tool=found(HARBOUR))

    pieces = [delta.fields["content"] for delta in deltas if isinstance(delta, RawFields) and "content" in delta.fields]
    assert len(pieces) > 20
    assert max(map(len, pieces)) < 40
