"""The offline analyst's single replies: what it searches for, quotes, refuses, and how it words that."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.html.render import render_answer
from chat.providers.base import ProviderRequest
from chat.providers.offline import OfflineAnalyst
from chat.tools.search_filings import search_filings
from reasoning.citations import Source, check_citations
from reasoning.deltas import RawDelta, RawEnd, RawFields, RawUsage
from reasoning.prompt import instructions
from reasoning.stream.sections import parse_sections
from tests.chat.streams import text

TOOLS = (search_filings.schema,)
PROMPT = instructions(sections=True, scratchpad=False, tools=True)
HARBOUR = (
    "Harbour staff\n\nAt the end of fiscal 2024 Pellworm Ferries had 1,204 employees. The U.S. Coast Guard inspects "
    "our ferries each spring. A.M. Best Co. rates our insurer.\n\n2024 | 2023\nTicket revenue | $31,370 | $29,915\n"
    "Fuel and port dues | 12,001 | 11,870"
)
FLEET = "Fleet\n\nWe own nine ferries. Two of them were built in 2019 at a yard in Husum because older hulls leaked."
REFUSAL = "I couldn’t find an answer in these filings."


def passage(ref: int, text: str, **more: Any) -> dict[str, Any]:
    form = {"company": "Pellworm Ferries, Inc.", "filing": "10-K", "date": "2025-02-20", "period": "2024-12-31"}
    return {"ref": ref, **form, "section": "Item 1", "url": f"/filings/pellworm/#item-1-p{ref}", "text": text, **more}


def found(*texts: str, searched: dict[str, Any] | None = None, **more: Any) -> str:
    scope = {"query": "q", "filings": 3, "companies": ["Pellworm Ferries, Inc."], **(searched or {})}
    return json.dumps(
        {"passages": [passage(ref, text, **more) for ref, text in enumerate(texts, 1)], "searched": scope}
    )


async def respond(
    question: str, tool: str | None = None, *, prompt: str = PROMPT, tools: Any = TOOLS
) -> list[RawDelta]:
    """Ask; ``tool`` is what each search returns. Without it the first response is returned."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": question}]
    while True:
        if tool is not None:
            messages += [{"role": "assistant", "content": None}, {"role": "tool", "tool_call_id": "a", "content": tool}]
        request = ProviderRequest({"messages": messages}, prompt, tools, "")
        deltas = [delta async for delta in OfflineAnalyst(delay_ms=0).stream(request)]
        if tool is None or not arguments(deltas):
            return deltas


def arguments(deltas: list[RawDelta]) -> dict[str, Any]:
    calls = [call for delta in deltas if isinstance(delta, RawFields) for call in delta.fields.get("tool_calls", ())]
    called: dict[str, Any] = json.loads("".join(call["function"]["arguments"] for call in calls) or "{}")
    return called


async def answer(question: str, *texts: str, **more: Any) -> str:
    said = parse_sections(text(await respond(question, found(*texts, **more)))).answer
    sources = [
        Source(ref, "filing", "10-K", "P", None, None, "Item 1", f"#p{ref}", "/f", one, "")
        for ref, one in enumerate(texts, 1)
    ]
    assert all(citation.verified is not False for citation in check_citations(said, sources))
    assert bool(check_citations(said, sources)) != (REFUSAL in said)
    return said


async def test_question_thinks_then_calls_the_search():
    deltas = await respond("How many employees did Pellworm’s “north” & south harbour have in 2024?")

    assert text(deltas, "reasoning_content")
    assert text(deltas) == ""
    assert arguments(deltas)["limit"] == 8
    assert {"employees", "Pellworm’s", "2024"} <= set(arguments(deltas)["query"].split())
    assert set(arguments(deltas)) <= set(TOOLS[0]["function"]["parameters"]["properties"])
    assert [delta.finish_reason for delta in deltas if isinstance(delta, RawEnd)] == ["tool_calls"]
    [usage] = [delta for delta in deltas if isinstance(delta, RawUsage)]
    assert usage.input_tokens
    assert 0 < (usage.reasoning_tokens or 0) <= (usage.output_tokens or 0)


async def test_answer_quotes_word_for_word_and_cites():
    said = await answer("How many employees did Pellworm Ferries have at the end of fiscal 2024?", FLEET, HARBOUR)

    assert "“At the end of fiscal 2024 Pellworm Ferries had 1,204 employees.” [2]" in said
    assert "Pellworm Ferries, Inc., 10-K filed 2025-02-20, Item 1" in said


@pytest.mark.spec("004 flags")
async def test_reply_has_the_sections_that_the_prompt_asks_for():
    with_notes = instructions(sections=True, scratchpad=True, tools=True)
    without = instructions(sections=False, scratchpad=False, tools=True)
    question = "How many employees did Pellworm have?"

    plain = parse_sections(text(await respond(question, found(HARBOUR))))
    noted = parse_sections(text(await respond(question, found(HARBOUR), prompt=with_notes)))

    assert 2 <= len(plain.summary) <= 4
    assert plain.scratchpad is None
    assert noted.scratchpad is not None
    assert "Threshold" not in noted.answer
    assert text(await respond(question, found(HARBOUR), prompt=without)).startswith("The filings say this")


@pytest.mark.parametrize(
    "question",
    [
        "How many lunar missions did Pellworm Ferries sponsor?",
        "What was Pellworm's ticket revenue in 2031?",
        "What is Pellworm's market share in Brazil?",
    ],
)
async def test_what_the_passages_do_not_hold_is_refused(question):
    said = await answer(question, HARBOUR, FLEET)

    assert said.startswith(REFUSAL)
    assert "Searched for: “q”, among 3 filings of Pellworm Ferries, Inc." in said
    assert ".." not in said


@pytest.mark.parametrize("question", ["What was Tesla's ticket revenue in 2024?", "what was tesla's ticket revenue?"])
async def test_text_of_another_company_is_no_answer(question):
    assert "No filing of" in await answer(question, HARBOUR)


@pytest.mark.parametrize("question", ["Hello!", "thanks", "Who are you?", "Tell me more", "are you a chatbot", "?"])
async def test_small_talk_is_answered_with_what_it_can_do_and_no_advice_on_settings(question):
    said = text(await respond(question))

    assert "offline analyst" in said
    assert not any(word in said for word in ("OPENAI", ".env", "restart"))


@pytest.mark.parametrize("message", ["", "Timed out.", "[]", "{}", '{"passages": 3}', "[" * 5000])
async def test_failed_search_is_reported_and_not_repeated(message):
    deltas = await respond("How many employees did Pellworm have?", message)

    assert "did not work" in text(deltas)
    assert arguments(deltas) == {}


@pytest.mark.parametrize(
    ("date", "shown"), [("2025-02-20", "filed 2025-02-20, period 2024-12-31 [1]"), (None, "filing date not known here")]
)
async def test_filing_date_comes_from_the_record_and_is_never_invented(date, shown):
    assert shown in await answer("When was Pellworm's 10-K filed?", FLEET, date=date)


async def test_comparison_quotes_each_company():
    other = passage(2, "Amrum Lines had 310 employees at the end of fiscal 2024.", company="Amrum Lines AG")
    message = json.dumps({"passages": [passage(1, HARBOUR), other], "searched": {"query": "q"}})

    said = text(await respond("Compare the employees of Pellworm and Amrum Lines", message))

    assert "1,204 employees" in said
    assert "310 employees" in said


@pytest.mark.parametrize("query", ["**bold** _it_", "[link](#x)", "`code` # | ~~", "a <b>x</b> &lt;"])
async def test_query_is_shown_as_it_was_typed(query):
    html = str(render_answer(await answer("How many moons?", "We own ferries.", searched={"query": query}), ()))

    assert not any(tag in html for tag in ("<strong", "<em", "<b>", "<a ", "<code", "<del"))


@pytest.mark.parametrize("question", ["Wie viele Mitarbeiter hat Amrum?", "従業員数は？"])
async def test_question_in_another_language_is_refused_with_the_reason(question):
    said = await answer(question, "We had 1,940 employees.")

    assert said.startswith("I read English questions")
    assert REFUSAL in said


@pytest.mark.parametrize(
    ("question", "body", "quoted"),
    [
        (
            "By how much did comparable sales fall?",
            "Comparable Sales. Comparable sales fell 2.0% in the quarter.",
            "“Comparable sales fell 2.0% in the quarter.”",
        ),
        (
            "Where was the ferries case?",
            "The ferries case was in the U.S. District Court in Husum. Then it ended.",
            "“The ferries case was in the U.S. District Court in Husum.”",
        ),
        (
            "Who rates the insurer?",
            "A.M. Best Co. rates our insurer. Moody's does too.",
            "“A.M. Best Co. rates our insurer.”",
        ),
        ("What is the trading symbol?", "Trading symbol | PLW\nExchange | NYSE", "“Trading symbol | PLW”"),
        ("When was it signed?", "Date signed | November 18, 2024", "“Date signed | November 18, 2024”"),
        (
            "How many seals did the crew count?",
            f"A {'filler words ' * 60}the crew counted 77 seals {'more filler ' * 60}.",
            "77 seals",
        ),
    ],
)
async def test_quotation_is_a_whole_sentence_or_row(question, body, quoted):
    said = await answer(question, body)

    assert quoted in said
    assert said.count("\n- ") == 1


@pytest.mark.parametrize(
    "fragment",
    [
        "developed together with the crew, ferries are meant to please. Sales rose.",
        "Ferries meant to please | 2024 | 2023",
        "If one of our 12 ferries is meant to please (which happened in the\n\npast), we may have to pay. Sales rose.",
    ],
)
async def test_what_is_cut_off_and_what_names_columns_is_not_quoted(fragment):
    assert "meant to please" not in await answer("Which ferries do they mean to please?", fragment)


@given(st.text(alphabet="aB1 .|\n“”\"'[]$%<>*", max_size=300))
async def test_every_quotation_is_verbatim_in_its_passage(body):
    await answer("What is aB1?", f"{body} The aB1 is here. {body}")


@pytest.mark.parametrize(
    ("kind", "lead"),
    [("document", "The documents say this"), ("attachment", "The attached file says this")],
)
async def test_answer_names_what_it_quotes(kind, lead):
    of_nobody = {"company": "", "filing": "", "kind": kind, "title": "handbook.md"}

    said = await answer("How many ferries do we own?", "We own nine ferries, of which two are new.", **of_nobody)

    assert said.startswith(lead)
    assert "handbook.md" in said


@pytest.mark.parametrize(
    ("words", "is_quoted"),
    [("The firm had 77 employees.", False), ("Pellworm Ferries had 77 employees.", True)],
)
async def test_document_that_does_not_mention_the_company_is_no_answer_about_it(words, is_quoted):
    of_nobody = {"company": "", "filing": "", "kind": "document", "title": "handbook.md", "url": "/documents/1/#p1"}
    passages = [passage(1, "We paint our hulls each spring."), passage(2, words, **of_nobody)]
    tool = json.dumps({"passages": passages, "searched": {"query": "q", "filings": 1}})

    said = text(await respond("How many employees did Pellworm have?", tool))

    assert ("77 employees" in said) == is_quoted


@pytest.mark.parametrize(
    ("question", "is_answered"),
    [
        ("Who inspects the ferries of the mooring handbook?", True),
        ("Who audits the mooring handbook?", False),
        ("When was the mooring handbook acquired?", False),
        ("How many employees maintain the mooring handbook?", False),
        ("How much does the mooring handbook cost?", False),
    ],
)
async def test_naming_a_document_is_not_enough_to_quote_it(question, is_answered):
    of_nobody = {"company": "", "filing": "", "kind": "document", "title": "mooring-handbook.pdf"}
    body = (
        "Mooring\n\nThis mooring handbook was printed for the Husum Yard on 18 August 2022 in 300 copies. "
        "The Coast Guard inspects the ferries. A line is replaced after it has worn."
    )

    assert ("word for word" in text(await respond(question, found(body, FLEET, **of_nobody)))) == is_answered


async def test_text_of_a_company_is_no_answer_about_another_that_is_named_too():
    passages = [passage(1, "We had to pay 77 million."), passage(2, "Amrum is an island.", company="Amrum Lines, Inc.")]
    tool = json.dumps({"passages": passages, "searched": {"query": "q", "filings": 2}})

    assert "77 million" not in text(await respond("How much did Pellworm pay for Amrum?", tool))


@pytest.mark.parametrize(
    ("question", "table", "figure"),
    [
        (
            "What was ticket revenue in 2023?",
            "Results (in millions)\n\n| 2024 | 2023\nTicket revenue | 31 | 29",
            "2023: 29",
        ),
        ("What was ticket revenue in 2024?", "(in millions)\n\n2024 | 2023\nTicket revenue | 31 | 29", "2024: 31"),
        ("What is the rent of Bryce?", "Site | Pallets | Rent\nBryce | 412 | 9,200 \nHusum | 5 | 70", "Rent: 9,200"),
    ],
)
async def test_row_is_quoted_with_the_figure_of_the_column_that_is_asked_for(question, table, figure):
    of_nobody = {"company": "", "filing": "", "kind": "document", "title": "sites.xlsx", "page": 3}
    said = text(await respond(question, found(table, FLEET, **of_nobody)))

    assert f"” – {figure}{' (in millions)' if 'millions' in table else ''} [1]" in said
    assert "sites.xlsx, page 3, " in said
