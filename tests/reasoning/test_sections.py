"""Answer and Reasoning Summary, split from text as a model wrote it, whole and streamed."""

import random
import re
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasoning.stream.sections import MAX_BULLET_CHARS, SectionParser, Sections, parse_sections
from tests.reasoning.streamed import text_of

PIECES = (
    *("Reasoning Summary:", "Final Answer:", "reasoning", "Final", " Answer", "Summary", ":", "**", "##", "__"),
    *("- ", "* ", "•", "1. ", "2)", "-", "---", "\n", "\n\n", "\r\n", " ", "    ", " " * 70, "word", "```", "~~~"),
    *("<thi", "nk>", "> ", "+ ", "a) ", "\u2705", "\ufe0f", "1", ". ", "*w*", "`w`", "[w](u)", "word " * 150),
)
CODE = "Final Answer:\n    x = 1\n    y = 2"
texts = st.lists(st.sampled_from(PIECES), max_size=24).map("".join)


def stream(pieces: Iterable[str]) -> tuple[tuple[str, ...], str]:
    parser = SectionParser()
    answer = "".join(map(parser.feed, pieces)) + parser.finish()
    assert parser.finish() == ""
    return tuple(parser.bullets), answer


@pytest.mark.spec("004 summary")
def test_three_sections_are_split():
    sections = parse_sections(
        "Reasoning Summary:\n- Searched the filings\n- Quoted Item 1A\n\n"
        "Final Answer:\n- Risks rose [1].\n\n<scratchpad>\nprivate\n</scratchpad>\n"
    )

    assert sections.summary == ("Searched the filings", "Quoted Item 1A")
    assert sections.answer == "- Risks rose [1]."
    assert sections.scratchpad is not None
    assert text_of(sections.scratchpad) == "private"


@pytest.mark.spec("004 summary")
@pytest.mark.parametrize(
    "form", ["{}:", "**{}:**", "**{}**:", "## {}", "### {}:", "__{}__", "*{}:*", "## **{}**", "{} :", " {}:\r", "{}："]
)
@pytest.mark.parametrize("case", [str, str.upper, str.lower], ids=["title", "upper", "lower"])
def test_heading_variants_count(form, case):
    summary, answer = form.format(case("Reasoning Summary")), form.format(case("Final Answer"))

    assert stream([f"{summary}\n- a\n\n{answer}\nb"]) == (("a",), "b")


@pytest.mark.parametrize(
    "text",
    [
        "The Final Answer: is 42",
        "Final Answer is 42",
        "Final Answers:\n42",
        "- Final Answer: 42",
        "x\n\n    Final Answer: 42\nx",
        "so this is the\nfinal answer\nof all",
        "```\nFinal Answer:\n```\nx",
        "~~~\nReasoning Summary:\n- a\n~~~",
        "Reasoning  \nSummary:\n- a",
        "no sections\n\nat all",
    ],
)
def test_other_text_stays_in_the_answer(text):
    assert stream([text]) == ((), text)


@pytest.mark.parametrize("pieces", [[CODE], ["Final Answer:\n", "    ", CODE[18:]], CODE])
def test_indentation_behind_a_heading_stays(pieces):
    assert stream(pieces) == ((), "    x = 1\n    y = 2")


@pytest.mark.parametrize(
    ("text", "summary", "answer"),
    [
        ("Final Answer: 42 is it\nmore", (), "42 is it\nmore"),
        ("**Final Answer:** **42** is it", (), "**42** is it"),
        ("Reasoning Summary: Searched.\nFinal Answer: 42", ("Searched.",), "42"),
        ("Reasoning Summary: - Searched.\n- Quoted.", ("Searched.", "Quoted."), ""),
        ("Final Answer:\n42\n\nReasoning Summary:\n- a", ("a",), "42"),
        ("Reasoning Summary:\n- a\n\nThe answer.", ("a",), "The answer."),
        ("Intro\nReasoning Summary:\n- a\nFinal Answer:\nb", ("a",), "Intro\n\nb"),
        ("Reasoning Summary:\n\n- a\n\n- b\n\n---\n\nFinal Answer\nc", ("a", "b"), "c"),
        ("Reasoning Summary:\nI looked it up.\nFinal Answer: c", ("I looked it up.",), "c"),
        ("Reasoning Summary:\n- a\n```\ncode\n```", ("a",), "```\ncode\n```"),
        ("Reasoning Summary:\n- a\n", ("a",), ""),
        ("Reasoning Summary:\n\nFinal Answer:\n42", (), "42"),
        ("Final Answer:\n\nReasoning Summary:\n- a", ("a",), ""),
        ("Final Answer:\n\n \n    code\n\nx\n \n", (), "    code\n\nx"),
        ("", (), ""),
    ],
)
def test_sections_in_any_order_and_missing(text, summary, answer):
    assert stream([text]) == (summary, answer)


@pytest.mark.spec("003 case 2")
@pytest.mark.spec("product 16")
@pytest.mark.parametrize(
    "text",
    [
        *(
            "Final answer",
            "**Final Answer**",
            "## Final answer",
            "Reasoning Summary",
            "Reasoning Summary:",
            "- a\n\nFinal answer",
        ),
        *("Endgültige Antwort", "Intro.\n\n## Reasoning Summary\n\n## Final Answer"),
    ],
)
def test_heading_that_nothing_follows_is_text(text):
    assert stream([text, "\n \n"]) == stream(text) == ((), text)
    assert parse_sections(f"<think>x</think>{text}").answer == text


@pytest.mark.spec("product 16")
def test_heading_behind_a_summary_is_the_answer_if_nothing_follows():
    assert stream(["Reasoning Summary:\n- a\n\nFinal Answer:\n"]) == (("a",), "Final Answer:")
    assert stream(["Reasoning Summary:\n- a\nReasoning Summary:"]) == (("a",), "Reasoning Summary:")


@pytest.mark.spec("product 16")
@pytest.mark.parametrize("summary", ["Zusammenfassung der Begründung", "ZUSAMMENFASSUNG DER ÜBERLEGUNGEN"])
@pytest.mark.parametrize(
    "answer", ["Endgültige Antwort", "endgültige antwort", "Abschließende Antwort", "Finale Antwort"]
)
@pytest.mark.parametrize("form", ["{}:", "**{}:**", "## {}"])
def test_german_headings_count(form, summary, answer):
    assert stream(f"{form.format(summary)}\n- a\n\n{form.format(answer)}\nb") == (("a",), "b")


@pytest.mark.spec("product 16")
def test_heading_of_another_language_costs_nothing_else():
    text = "Resumen del razonamiento:\n- a\n\nFinal Answer:\nb"

    assert stream([text]) == ((), "Resumen del razonamiento:\n- a\n\nb")


@pytest.mark.parametrize("mark", ["-", "*", "•", "1.", "12)", "–"])
def test_bullets_and_their_continuation_lines(mark):
    text = f"Reasoning Summary:\n{mark} one\n  goes on\n{mark}  two\n\n{mark}\n{mark} three\n\nx"

    assert stream([text]) == (("one goes on", "two", "three"), "x")


@pytest.mark.spec("004 summary")
def test_at_most_five_bullets_are_shown():
    text = "Reasoning Summary:\n" + "".join(f"- b{at}\n" for at in range(8)) + "\nFinal Answer: x"

    assert stream([text]) == (("b0", "b1", "b2", "b3", "b4"), "x")


@pytest.mark.spec("004 summary")
@pytest.mark.parametrize(
    ("long", "short"),
    [
        ("sturdy " * 40, "sturdy " * 27 + "sturdy…"),
        ("w" * (MAX_BULLET_CHARS + 1), "w" * (MAX_BULLET_CHARS - 1) + "…"),
        ("word " * 39 + "w" * 20, "word " * 38 + "word…"),
        ("w" * MAX_BULLET_CHARS, "w" * MAX_BULLET_CHARS),
    ],
)
def test_long_bullet_is_cut_at_a_word(long, short):
    assert stream(["Reasoning Summary:\n- " + long])[0] == (short,)


def test_answer_streams_without_delay():
    parser = SectionParser()

    assert parser.feed("Net sales") == "Net sales"
    assert parser.feed(" rose") == " rose"
    assert parser.feed(" by 2%.\n\nF") == " by 2%."
    assert parser.feed("in") == ""
    assert parser.feed("d") == "\n\nFind"


def test_heading_is_never_shown():
    parser = SectionParser()
    shown = [parser.feed(char) for char in "**Final Answer**:\nyes\n## Reasoning Summary\n1. a\n"]

    assert list(filter(None, shown)) == ["y", "e", "s"]
    assert parser.finish() == ""
    assert parser.bullets == ["a"]


def test_bullet_is_added_when_it_has_ended():
    parser = SectionParser()
    pieces = {
        "Reasoning Summary:\n- one\n": [],
        "- two": ["one"],
        " b\n": ["one"],
        "\n": ["one", "two b"],
    }

    for piece, bullets in pieces.items():
        assert parser.feed(piece) == ""
        assert parser.bullets == bullets


@given(text=texts, seed=st.integers(0, 10**6))
def test_any_cut_gives_the_same_sections(text, seed):
    chance = random.Random(seed)  # noqa: S311
    cuts = sorted(chance.choices(range(len(text) + 1), k=chance.randint(0, 12)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]

    assert stream(pieces) == stream([text])


@pytest.mark.spec("product 16")
@given(
    pieces=st.lists(st.sampled_from(("word", *PIECES, "Endgültige Antwort:\n", "## Final Answer")), max_size=20),
    seed=st.integers(0, 10**6),
)
def test_no_text_is_lost(pieces, seed):
    """Up to five words become characters of their own, so that each can be looked for."""
    marks = "一丁七万丈"
    places = [at for at, piece in enumerate(pieces) if piece == "word"][: len(marks)]
    text = "".join(
        marks[places.index(at)] if at in places else piece
        for at, piece in enumerate(pieces)
        if at in places or piece != "word"
    )
    summary, answer = stream(random.Random(seed).choice([[text], text]))  # noqa: S311

    assert sorted(char for char in "".join(summary) + answer if char in marks) == sorted(marks[: len(places)])


@given(text=texts)
def test_removed_heading_joins_no_delimiter(text):
    assert not re.search(r"<think\s*>", parse_sections(text).answer)
    assert parse_sections(f"<think\nFinal Answer:\n>{text}").answer.startswith("<think\n\n›")


@pytest.mark.slow
@pytest.mark.parametrize("line", ["-", " ", "#", "1", "Final ", "**", "`", "- "])
@pytest.mark.parametrize("start", ["", "Reasoning Summary:\n"])
def test_endless_line_is_not_held(start, line):
    parser = SectionParser()
    parser.feed(start)
    for _ in range(2_000):
        parser.feed(line * 50)
    held = len(parser.feed("x"))

    assert held <= 80 + 64
    parser.feed(line * 500_000 + "x")


@pytest.mark.spec("004 summary")
@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("**Search**: looked up `covenants`", "Search: looked up covenants"),
        ("*Read* __two__ _passages_ and ***one*** ~~more~~", "Read two passages and one more"),
        ("Opened [Item 7](https://example.com/a_(b)) and [it][1] [2]", "Opened Item 7 and it [2]"),
        ("**Ran `a*b`** on snake_case, 2*3*4 and *", "Ran a*b on snake_case, 2*3*4 and *"),
        ("[x] Checked <https://example.com>", "Checked https://example.com"),
    ],
)
def test_bullets_are_plain_text(written, plain):
    assert parse_sections(f"Reasoning Summary:\n- {written}\n\nFinal Answer:\nx").summary == (plain,)


@pytest.mark.spec("004 summary")
@pytest.mark.parametrize("marks", [("a)", "b)"), ("+", "+"), ("✅", "✅"), ("☑️", "🔎"), ("1️⃣", "2️⃣"), ("(1)", "(2)")])
@pytest.mark.parametrize("gap", ["\n", "\n\n"])
def test_other_marks_begin_bullets(marks, gap):
    first, second = marks
    text = f"Reasoning Summary:{gap}{first} Took one\n{second} Took two\n\nFinal Answer:\nEight."

    assert parse_sections(text) == Sections(("Took one", "Took two"), "Eight.")


@pytest.mark.spec("004 summary")
@pytest.mark.parametrize(
    ("summary", "answer"),
    [
        ("1. Reasoning Summary:", "2. Final Answer:"),
        ("1. **Reasoning Summary:**", "2. **Final Answer**"),
        ("**1. Reasoning Summary**", "**2. Final Answer**"),
        ("> Reasoning Summary:", "> **Final Answer:**"),
        ("> ## Reasoning Summary", "## Final Answer"),
    ],
)
def test_numbered_and_quoted_headings_count(summary, answer):
    quote = "> " if summary.startswith(">") else ""
    text = f"{summary}\n{quote}- Took one,\n{quote}and more\n{quote}- Took two\n{quote}\n{answer}\nEight."

    assert parse_sections(text) == Sections(("Took one, and more", "Took two"), "Eight.")


@pytest.mark.spec("004 summary")
@pytest.mark.parametrize(
    ("text", "summary", "answer"),
    [
        ("\n\nTook one.\n\nTook\ntwo.\n\nFinal Answer:\nEight.", ("Took one.", "Took two."), "Eight."),
        ("\nTook one.\n\nTook two.\n\n## Final Answer\nEight.", ("Took one.", "Took two."), "Eight."),
        ("\n- a\n\nMore:\n- b\n\nFinal Answer: Eight.", ("a", "More:", "b"), "Eight."),
        ("\n\nTook one.\n\nTook two.", (), "Took one.\n\nTook two."),
        ("\n- a\n\nTook one.\n\n- b", ("a",), "Took one.\n\n- b"),
        ("\n- a\n\nOne.\n```\nFinal Answer:\n```", ("a",), "One.\n```\nFinal Answer:\n```"),
        ("\n\nTook one.\n\nFinal Answer:\n", (), "Took one.\n\nFinal Answer:"),
        (f"\n\n{'long ' * 300}end.\n\nFinal Answer: x", (), f"{'long ' * 300}end.\n\nx"),
    ],
)
def test_paragraphs_are_bullets_where_an_answer_follows(text, summary, answer):
    assert parse_sections(f"Reasoning Summary:{text}") == Sections(summary, answer)


def test_paragraphs_without_an_answer_are_shown_after_a_while():
    parser = SectionParser(live=True)
    parser.feed("Reasoning Summary:\n- a\n\n")

    shown = "".join(parser.feed("word ") for _ in range(300))

    assert shown.startswith("word word ")
