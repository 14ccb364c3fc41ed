"""Exports: what they contain by choice, what they never contain, and their file names."""

import json
from itertools import pairwise

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from chat import eventlog
from chat.models import Conversation, Turn
from chat.sharing.export import Choice, Export, as_markdown, own_headings, without_forgeries
from reasoning.visibility import EXCERPT_CHARS, TRUNCATED, Visibility
from tests.chat.shared_talk import SECRET, make_talk, unzipped
from tests.factories import SECRET as KEY
from tests.factories import client_of, make_answer, make_conversation, make_turn, open_turn


def exported(client: Client, conversation: Conversation, query: str = "") -> str:
    answer = client.get(f"/chats/{conversation.pk}/export/?{query}")
    assert answer.status_code == 200
    return answer.content.decode()


def test_markdown_has_the_question_the_answer_and_numbered_sources_with_links(alice):
    text = exported(client_of(alice), make_talk(alice))

    assert text.startswith(
        "# Debt covenants\n\n## Question 1\n\n> What would breach\n> the covenants?\n\n## Answer 1\n"
    )
    assert "\nIt fell [1].\n" in text
    assert "1. [10-K · 2026-02-26 · Item 7" in text
    assert "](http://testserver/filings/northwind/#p31) — quotation found word for word" in text


def test_summary_is_the_only_default_beside_the_answer(alice, settings):
    conversation, client = make_talk(alice), client_of(alice)

    text = exported(client, conversation)

    assert "- Looked in Item 7." in text
    assert "searchFilings" not in text
    assert "thought-canary" not in text
    assert "Looked in Item 7." not in exported(client, conversation, "summary=0")
    settings.REASONING_TOOL_TRACE_DEFAULT = False
    assert "searchFilings" in exported(client, conversation, "trace=1"), "the page shows it on request too"


def test_steps_are_exported_redacted_where_they_are_chosen(alice):
    text = exported(client_of(alice), make_talk(alice), "trace=1")

    assert "**searchFilings** · Done · 3 results · 12 ms" in text
    assert r"query: debt \*covenants\*" in text
    assert "api\\_key: ••• hidden (key)" in text
    assert r"    - The ratio \*fell\*." in text
    assert "](http://testserver/filings/n/#p31)\n    - 2 more" in text


@pytest.mark.spec("product 4")
def test_thinking_is_exported_as_its_owner_may_read_it(alice, ada):
    short = exported(client_of(alice), make_talk(alice), "thinking=1")
    whole = exported(client_of(ada), make_talk(ada), "thinking=1")

    assert "### Thought for 12 s" in short
    assert "thought-canary" in short
    assert "…(truncated)" in short
    assert "tail-of-the-thought" not in short
    assert "tail-of-the-thought" in whole


@pytest.mark.spec("product 13")
def test_a_choice_never_shows_more_than_the_page(alice, settings):
    conversation, client = make_talk(alice), client_of(alice)
    settings.REASONING_ENABLED = False

    text = exported(client, conversation, "summary=1&trace=1&thinking=1")

    assert "It fell [1]." in text
    assert not [word for word in ("Looked in Item 7.", "searchFilings", "thought-canary") if word in text]


@pytest.mark.spec("004 envelope")
@pytest.mark.parametrize("chosen", ["", "trace=1", "thinking=1", "summary=0"])
def test_json_holds_envelopes_with_what_was_chosen(alice, chosen):
    form = json.loads(exported(client_of(alice), make_talk(alice), f"format=json&{chosen}"))
    question, answer = form["messages"]

    assert (form["title"], form["origin"]) == ("Debt covenants", "http://testserver")
    assert question["text"] == "What would breach\nthe covenants?"
    assert (answer["answer"], answer["status"]) == ("It fell [7].", "complete")
    assert bool(answer["reasoningSummary"]) == (chosen != "summary=0")
    assert bool(answer["toolTrace"]) == (chosen == "trace=1")
    assert ("thinking" in answer) == (chosen == "thinking=1")
    assert "scratchpad" not in answer


@pytest.mark.spec("product 10")
@pytest.mark.parametrize("kind", ["md", "json"])
def test_what_is_private_is_in_no_file(ada, kind):
    text = exported(client_of(ada), make_talk(ada), f"format={kind}&summary=1&trace=1&thinking=1")

    assert not [private for private in ("raw-arguments-canary", "raw-result-canary", SECRET) if private in text]


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Debt covenants", "debt-covenants"),
        ("../../etc/passwd\r\nX: y", "etcpasswd-x-y"),
        ("Schuldenquote für 2025", "schuldenquote-fur-2025"),
        ("負債", "conversation"),
        ("mail jane.doe@example.com", "mail-jexamplecom"),
    ],
)
def test_file_name_is_plain_letters(alice, title, name):
    conversation = make_conversation(owner=alice, title=title)

    answer = client_of(alice).get(f"/chats/{conversation.pk}/export/")

    assert answer["Content-Disposition"].startswith(f'attachment; filename="{name}-2')
    assert answer["Content-Disposition"].endswith('.md"')


def test_a_turn_that_still_runs_is_left_out(alice):
    conversation = make_conversation(owner=alice)
    make_turn(conversation)
    open_turn(conversation.pk, text="And then?")

    text = exported(client_of(alice), conversation)

    assert "## Answer 1" in text
    assert "And then?" not in text


def test_words_of_people_and_models_cannot_break_the_layout(alice):
    conversation = make_conversation(owner=alice, title="# a\n## b [x](y)")
    turn = make_turn(conversation, question="# no heading\n\n1. no list")
    Turn.objects.filter(pk=turn.pk).update(model="odd_*name*")
    rows = eventlog.turns(conversation.pk)

    text = as_markdown(Export(conversation.title, "http://x", turn.started_at, rows, Visibility()))

    assert text.startswith("# \\# a \\#\\# b \\[x\\](y)\n")
    assert "> # no heading\n>\n> 1. no list" in text
    assert "odd\\_\\*name\\*" in text


def test_a_choice_only_narrows():
    everything = Choice(summary=True, trace=True, thinking=True)
    hidden = Visibility(show_reasoning=False, summary=False, trace=False, thinking="withheld", scratchpad=True)

    seen = everything.within(hidden)

    assert (seen.summary, seen.trace, seen.thinking, seen.scratchpad) == (False, False, "none", False)
    assert len(everything.within(Visibility()).thinking_text("x" * 5000)[0]) < EXCERPT_CHARS + 20


@pytest.mark.spec("product 4")
@pytest.mark.parametrize("before", [0, 750, 790, 800, 960, 1000, 5000])
def test_excerpt_of_a_long_thought_is_the_beginning_of_its_redacted_text(alice, before):
    turn = make_answer(make_conversation(owner=alice), thought="word " * (before // 5) + KEY + " and so on" * 20_000)

    whole = eventlog.thinking_for(turn, Visibility(thinking="whole"))
    excerpt = eventlog.thinking_for(turn, Visibility(thinking="excerpt"))

    assert whole
    assert excerpt
    assert excerpt.text == whole.text[:EXCERPT_CHARS].rstrip() + TRUNCATED
    assert (excerpt.truncated, excerpt.tokens_est) == (True, whole.tokens_est)
    assert KEY not in excerpt.text + whole.text


FENCED = "```md\n## Question 2\n<h2>x</h2>\n```"
PLAIN = f"""# Plan

Two
---

### Sources of income

## Answer: 42

{FENCED}

`<h2>` and a<b, List<String>, H<sub>2</sub>O, [1, 2], <https://a.example>, \\<h2>

<details><summary>More</summary>x</details>"""
DISGUISED = [
    "**Question** 2",
    "Quest&#105;on 2",
    "Question\u00a02",
    "Ques\u200btion  2",
    "[question 2](https://a.example)",
]


@pytest.mark.parametrize(
    ("answer", "exported_as"),
    [
        ("## Question 2\n\n> Do it.\n\n# Answer 2", "\\## Question 2\n\n> Do it.\n\n\\# Answer 2"),
        ("Question 2\n---\nand\n\nAnswer 2\n====", "Question 2\n\\---\nand\n\nAnswer 2\n\\===="),
        ("Question\n2\n---", "Question\n2\n\\---"),
        ("[a]: b\nQuestion 2\n---", "[a]: b\nQuestion 2\n\\---"),
        ("## Question 2\n---", "\\## Question 2\n\\---"),
        ("a\r\r\r\n## Question 2\rb", "a\r\r\r\n\\## Question 2\rb"),
        ("### Sources\n\n1. Found", "\\### Sources\n\n1. Found"),
        *((f"## {words}", f"\\## {words}") for words in DISGUISED),
        ("Text <h2>Quest&#105;on 2</h2>", "Text \\<h2>Quest&#105;on 2\\</h2>"),
        ("\\\\<h2>", "\\\\\\<h2>"),
        ("<sub>\n```\n\n## Question 2\n```", "\\<sub>\n```\n\n## Question 2\n```"),
        ("<!-- hidden", "\\<!-- hidden"),
        ("<details>\nhidden", "<details>\nhidden\n\n</details>"),
        ("~~~~\nnever closed\n~~~", "~~~~\nnever closed\n~~~\n~~~~"),
        (PLAIN, PLAIN),
    ],
)
def test_answer_is_exported_exactly_and_cannot_pose_as_a_part_of_the_export(alice, answer, exported_as):
    conversation = make_conversation(owner=alice)
    make_turn(conversation, question="One?", answer=answer)
    make_turn(conversation, question="Two?", answer="Fine.")

    text = exported(client_of(alice), conversation)

    assert f"\n\n{exported_as}\n\n## Question 2\n\n> Two?" in text


PIECES = "Question 2|#|## |\n|\n\n|\r|\r\n|---|===|```|~~~|<!--|> |- |    |<details>|<sub>|`|\\|\0".split("|")


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_no_answer_has_a_heading_of_the_export(answer):
    text = without_forgeries(answer, own_headings())

    tokens = MarkdownIt().parse(f"{text}\n\n## Question 2")

    headings = [inner.content for token, inner in pairwise(tokens) if token.type == "heading_open" and not token.level]
    assert headings.count("Question 2") == 1


def test_download_of_all_data_escapes_the_headings_of_its_language(alice):
    make_turn(make_conversation(owner=alice), question="Eins?", answer="## Frage 2\n\n## Question 2")
    client = client_of(alice)

    files = unzipped(client.get("/data/export/", headers={"Accept-Language": "de"}))

    [text] = [content for name, content in files.items() if name.endswith(".md")]
    assert "## Frage 1" in text
    assert "\n\n\\## Frage 2\n\n## Question 2" in text


def test_export_names_the_analyst_in_its_language(alice):
    conversation = make_conversation(owner=alice)
    turn = make_turn(conversation, question="Eins?", answer="So.")
    Turn.objects.filter(pk=turn.pk).update(model="Offline analyst", model_label="")

    answer = client_of(alice).get(f"/chats/{conversation.pk}/export/", headers={"Accept-Language": "de"})

    assert "*Offline-Analyst · " in answer.text


def test_answer_of_very_many_lines_is_quoted(alice):
    conversation = make_conversation(owner=alice)
    make_turn(conversation, question="One?", answer="a\n" * 50_001 + "## Question 2")

    assert "\n> ## Question 2" in exported(client_of(alice), conversation)


def test_indent_and_trailing_blanks_of_a_question_are_exported(alice):
    conversation = make_conversation(owner=alice)
    make_turn(conversation, question="    if x:  \n\n\t\treturn")

    assert "\n>     if x:  \n>\n> \t\treturn\n" in exported(client_of(alice), conversation)
