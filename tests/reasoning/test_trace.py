"""Trace steps are redacted when they are created; there is no other way to create one."""

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasoning.citations import Source
from reasoning.delimiters.tags import Tag, TagScanner
from reasoning.redaction import mask_private, redact_trace
from reasoning.trace import (
    SENTENCES,
    ToolTraceStep,
    finish,
    start,
    step_from_json,
    step_to_json,
    summary_from_trace,
    translate_summary,
    within_room,
)


def source(ref: int = 1, **changes: Any) -> Source:
    made = Source(
        ref=ref,
        kind="filing",
        title="10-K",
        publisher="Northwind Tidal Power, Inc.",
        date="2024-11-01",
        period=None,
        section="Item 1A",
        anchor=f"#item-1a-p{ref}",
        url=f"/filings/x/#item-1a-p{ref}",
        text="The turbine failed.",
        snippet="The turbine failed.",
    )
    return dataclasses.replace(made, **changes)


def step(arguments: str = '{"query": "risk factors"}', **changes: Any) -> ToolTraceStep:
    tool = changes.pop("tool", "searchFilings")
    opened = start("call_1", tool, arguments, at_ms=1_000.0, shown=changes.pop("shown", None))
    return finish(opened, **{"at_ms": 1_412.0, "status": "ok", "results": 5, "sources": [source()], **changes})


@pytest.mark.spec("004 trace")
def test_step_has_duration_results_and_top_citations():
    made = step(sources=[source(ref) for ref in range(1, 8)])

    assert (made.tool, made.duration_ms, made.results, made.status) == ("searchFilings", 412.0, 5, "ok")
    assert made.args == {"query": "risk factors"}
    assert [citation.ref for citation in made.top_citations] == [1, 2, 3]
    assert made.top_citations[0].date == "2024-11-01"


@pytest.mark.spec("product 10")
def test_arguments_are_redacted():
    secret = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5"

    made = step(json.dumps({"query": f"mail bob@example.com key=sk-{secret}", "password": "hunter2"}))

    assert secret not in repr(made)
    assert "hunter2" not in repr(made)
    assert "bob@" not in repr(made)
    assert made.redactions == {"secret": 2, "email": 1}


def test_undeclared_arguments_show_type_and_size():
    made = step('{"query": "q", "note": "twelve chars"}', shown=frozenset({"query"}))

    assert made.args == {"query": "q", "note": "[text, 12 characters]"}


@pytest.mark.spec("product 10")
def test_note_shows_no_size_of_a_secret():
    made = step('{"query": "q", "nonce": "hunter2", "pin": 1234}', shown=frozenset({"query"}))

    assert made.args == {"query": "q", "nonce": "[redacted]", "pin": "[redacted]"}


@pytest.mark.spec("004 trace")
def test_tool_name_is_redacted_and_short():
    secret = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5"
    opened = start("c", f"mail bob@example.com sk-{secret} {'x' * 200}", "{}", at_ms=0, shown=None)
    made = finish(opened, at_ms=1, status="error")

    assert secret not in made.tool
    assert "bob@" not in made.tool
    assert len(made.tool) <= 80


@pytest.mark.parametrize("arguments", ["{", "nonsense password=hunter2", '{"a": ' * 5_000, "\x00", "[" * 100_000])
def test_unreadable_arguments_become_a_note(arguments):
    assert step(arguments).args == "[arguments that are no JSON]"


def test_open_step_never_prints_its_arguments():
    assert "hunter2" not in repr(start("c", "t", '{"password": "hunter2"}', at_ms=0, shown=None))


@pytest.mark.spec("product 12")
def test_snippet_masks_secrets_only():
    made = step(sources=[source(snippet="Call (415) 555-0132, password=hunter2.")])

    assert made.top_citations[0].snippet == "Call (415) 555-0132, password=[redacted]."


@pytest.mark.spec("004 redaction")
def test_error_is_redacted_and_short():
    made = step(status="error", error="401 for sk-a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5 " + "again " * 200)

    assert made.error is not None
    assert made.error.startswith("401 for [redacted] again")
    assert len(made.error) < 300


def test_step_is_created_by_finish_only():
    made = step()

    with pytest.raises(TypeError):
        ToolTraceStep("t", {"password": "hunter2"}, 1.0, None, (), "ok")  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        ToolTraceStep("t", {"password": "hunter2"}, 1.0, None, (), "ok", created_by=object())
    with pytest.raises((TypeError, ValueError)):
        dataclasses.replace(made, args={"password": "hunter2"})


@pytest.mark.spec("004 envelope")
def test_json_form_of_the_envelope():
    form = step_to_json(step())

    assert form["tool"] == "searchFilings"
    assert form["durationMs"] == 412.0
    assert {"args", "results", "topCitations", "status"} <= form.keys()
    assert {"filing", "date", "section", "anchor", "company", "url", "snippet"} <= form["topCitations"][0].keys()
    assert "error" not in form
    json.dumps(form, allow_nan=False)


def test_stored_step_reads_back_the_same():
    for made in (step(), step('{"password": "hunter2"}', status="error", error="no"), step("{")):
        assert step_from_json(json.loads(json.dumps(step_to_json(made)))) == made


def test_old_row_without_some_keys_is_readable():
    read = step_from_json({"tool": "t", "args": {"query": "covenants"}})

    assert (read.tool, read.args, read.error) == ("t", {"query": "covenants"}, None)
    assert (read.duration_ms, read.results, read.top_citations, read.status) == (0, None, (), "ok")


@pytest.mark.spec("004 summary")
def test_summary_has_two_to_five_bullets():
    assert summary_from_trace([]) == ()
    assert summary_from_trace([step()]) == (
        "Searched the filings for “risk factors” and got 5 results.",
        "Found 10-K · 2024-11-01 · Item 1A.",
    )
    many = [step(json.dumps({"query": f"question {number}"})) for number in range(9)]
    assert len(summary_from_trace(many)) == 5
    for alone in (step(status="error", sources=[]), step(results=0, sources=[]), step(status="denied", sources=[])):
        assert len(summary_from_trace([alone])) == 2


def test_summary_bullet_is_one_short_line():
    bullets = summary_from_trace([step(json.dumps({"query": "risk " * 100}))])

    assert all(len(bullet) <= 160 and "\n" not in bullet for bullet in bullets)


@pytest.mark.parametrize(
    ("tool", "beginning"),
    [
        ("searchFilings", "Searched the filings for “risk factors” and got 5 results."),
        ("searchDocuments", "Searched the documents for “risk factors” and got 5 results."),
        ("lookUp", "Used lookUp and got 5 results."),
    ],
)
def test_summary_names_what_was_searched(tool, beginning):
    assert summary_from_trace([step(tool=tool)])[0] == beginning


def test_summary_counts_one_result_as_one():
    assert summary_from_trace([step(results=1)])[0].endswith("and got 1 result.")


def test_summary_of_steps_is_put_into_other_words():
    steps = [step(results=1), step(results=4)]
    bullets = (*summary_from_trace(steps), "Somebody else’s words.")

    shown = translate_summary(bullets, steps, {**SENTENCES, "used": "{tool}: {results}", "results": "{count} Treffer"})

    assert len(shown) == len(bullets)
    assert any("4 Treffer" in bullet for bullet in shown)
    assert shown[-1] == "Somebody else’s words."


@pytest.mark.spec("product 25")
def test_trace_as_a_whole_has_100_kb():
    steps = [step(json.dumps({"query": "\u00fc" * 200})) for _number in range(300)]

    shown = within_room(steps)

    assert 80_000 < len(json.dumps([step_to_json(one) for one in shown], indent=4)) <= 102_400
    assert len(shown) - 1 + shown[-1].omitted == 300
    assert within_room(shown) == shown
    assert within_room(steps[:9]) == tuple(steps[:9])


CANARY = "canary0of0private0text"
TAGS = ("think", "thinking", "REASONING", "scratchpad", "SCRATCHPAD")
bits = st.sampled_from(("a", " ", "\n", "`", "```\n", "<", ">", "/", "\\", '"', "[redacted]", "Final Answer:", "&lt;"))
around = st.lists(bits, max_size=4).map("".join)


@st.composite
def private_texts(draw):
    """Return a text with the canary in a tag or below a heading, which may be nested, escaped or left open."""
    text = f"{draw(around)}{CANARY}{draw(around)}"
    for _ in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from(TAGS))
        closer = draw(st.sampled_from((f"</{name}>", "")))
        opener = draw(st.sampled_from((f"<{name}>", f"<{name} >", f"<{name[0]}\u200b{name[1:]}>")))
        if name.lower() == "scratchpad":
            opener = draw(st.sampled_from((opener, "&lt;scratchpad&gt;", "\\<scratchpad\\>", "\nScratchpad: \n ")))
            text = text.replace("Final Answer:", "")
        text = f"{opener}{text}{closer}"
    return f"{draw(around)}{text}{draw(around)}"


values = st.recursive(
    private_texts(),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=2),
        st.dictionaries(st.one_of(st.just("query"), private_texts()), inner, min_size=1, max_size=2),
        inner.map(json.dumps),
    ),
    max_leaves=4,
)


@pytest.mark.spec("product 36")
@given(value=values, escapes=st.booleans(), hides=st.booleans(), error=private_texts())
def test_private_text_in_arguments_is_masked_at_any_depth(value, escapes, hides, error):
    arguments = json.dumps(value)
    arguments = arguments.replace("<", "\\u003c") if escapes else arguments
    shown = frozenset({"query"}) if hides else None

    made = finish(start("c", error, arguments, at_ms=0, shown=shown), at_ms=1, status="error", error=error)
    form = json.dumps(step_to_json(made))

    assert CANARY not in form
    assert not any(isinstance(token, Tag) for token in TagScanner().feed(form))
    assert redact_trace([step_to_json(made)]) == [step_to_json(made)]


@pytest.mark.spec("product 36")
@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("<scratchpad>why</scratchpad> covenants", "covenants"),
        ("covenants <scratchpad>why", "covenants"),
        ("Scratchpad: why\n\nFinal Answer: covenants", "Final Answer: covenants"),
        ("&lt;scratchpad&gt;why&lt;/scratchpad&gt; covenants", "covenants"),
        ('<scratchpad lang="en">why</scratchpad> covenants', "covenants"),
        ("%3Cscratchpad%3Ewhy%3C/scratchpad%3E covenants", "covenants"),
        ("%253Cscratchpad%253Ewhy%253C%252Fscratchpad%253E covenants", "covenants"),
        (r"\x3cscratchpad\x3ewhy\x3c/scratchpad\x3e covenants", "covenants"),
        ("&amp;lt;scratchpad&amp;gt;why&amp;lt;/scratchpad&amp;gt; covenants", "covenants"),
        ("debt %3Cthink%3Ewhy%3C%2Fthink%3E covenants", "debt [redacted] covenants"),
        ("a%3Cb%3E &amp;lt; covenants", "a%3Cb%3E &amp;lt; covenants"),
        ("debt <think>why</think> covenants", "debt [redacted] covenants"),
        ("debt <think>a<scratchpad>b</think>c</scratchpad> covenants", "debt [redacted] covenants"),
        ("`<REASONING>why</REASONING>` covenants", "`[redacted]` covenants"),
        ("<think></think>covenants", "covenants"),
        ("<think>", "<think›"),
        ("what is <think> for", "what is <think› [redacted]"),
        ("a </think> b <think/>", "a </think› b <think/›"),
        ("<thi<scratchpad>why</scratchpad>nk>", "<think›"),
        ("a < b & c > d", "a < b & c > d"),
    ],
)
def test_private_text_in_a_query(query, shown):
    assert step(json.dumps({"query": query})).args == {"query": shown}


@pytest.mark.spec("product 36")
@pytest.mark.parametrize("run", ["\\", "\\\\u", "%25", "&amp;", "%3C", "\\x3c"])
def test_long_run_of_escapes_takes_no_time_to_search_for_private_text(run):
    assert "PRIVATE" not in mask_private("<scratchpad>PRIVATE" + run * 100_000)


@pytest.mark.spec("product 36")
def test_summary_quotes_no_private_text():
    made = step(json.dumps({"query": "<scratchpad>why</scratchpad> covenants"}))

    assert summary_from_trace([made])[0] == "Searched the filings for “covenants” and got 5 results."
