"""Properties of the stream parsers: any cut gives the same channels, nothing is lost or leaked, the cost is linear.

Also over the recorded responses of real services in ``SHARED_DIR/streams`` (none is part of this project). They never
split a tag, so their native text is also sent as tagged text.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasoning.deltas import Channel, RawFields
from reasoning.events import AssistantMessage
from reasoning.stream.normalizer import Normalizer, normalize_stream
from reasoning.stream.sections import SectionParser
from reasoning_stream_cases import recut
from replay_contract_server.delimiters import has_delimiter
from tests.reasoning.streamed import PIECES, calls_made, channels, first_step, of_text, shown
from tests.recordings import CHAT, chat_deltas, exchanges

CANARY = "Zq7Zq7Zq7"
DELIMITER = re.compile(r"</?(?:think|thinking|reasoning|scratchpad)\s*/?>", re.IGNORECASE)
TOOL = {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{}"}}]}
HEADINGS = ("Reasoning Summary:", "\nFinal Answer:", "\n- a", "word", "word ", " \n", "\r\n")
PRIVATE = ("password:\n", "hunter2-Zx9\n", "key=\n", "sk-proj-a1B2c3D4e5F6g7H8i9J0", "Bearer\n", "eyJhbGciOi")

# Escaped tags, headings, and what decides in Markdown where code is.
HOSTILE = (
    *(
        "&lt;scratchpad&gt;",
        "&lt;/scratchpad&gt;",
        "&l",
        "Scratchpad:",
        "\n## Scratchpad\n",
        "Notizblock: ",
        "\nFinal Answer:\n",
    ),
    *("\\", "\\`", "\r\n", "    ", "\t", "\n- ", "\n1. ", "\n> ", "\n# ", "````", "~~~~\n", "#", "#", "#", "#"),
)

texts = st.lists(st.sampled_from(PIECES), max_size=24).map("".join)
sectioned = st.lists(st.sampled_from((*PIECES, *HEADINGS)), max_size=24).map("".join)
plain_texts = st.text(st.sampled_from("ab <>/`\n~thinksratchpad"), max_size=60)
natives = st.sampled_from(["", "", "n", "<think>n", "a</think>b"])
seeds = st.integers(0, 10**6)


# Any cut


@given(text=sectioned, seed=seeds)
def test_live_streaming_differs_in_blanks_at_line_ends_only(text, seed):
    def parse(pieces, *, live):
        normalizer, parser = Normalizer(live=live), SectionParser(live=live)
        visible = [delta for piece in pieces for delta in normalizer.feed({"content": piece})] + [*normalizer.finish()]
        shown = [parser.feed(str(delta.text)) for delta in visible if delta.channel is Channel.VISIBLE]
        answer = "".join(shown) + parser.finish()
        return parser.bullets, answer, normalizer.thinking

    pieces = [str(delta["content"]) for delta in recut([{"content": text}], seed)]
    whole, live, cut = parse([text], live=False), parse([text], live=True), parse(pieces, live=True)

    assert cut == live
    assert (live[0], live[2]) == (whole[0], whole[2])
    assert _without_line_ends(live[1]) == _without_line_ends(whole[1])


@given(pieces=st.lists(st.sampled_from((*PIECES, *HEADINGS, *PRIVATE)), max_size=16))
def test_any_cut_gives_the_same_stored_answer(pieces):
    assert _stored(pieces) == _stored(["".join(pieces)])


# Nothing lost, nothing leaked


@pytest.mark.spec("003 invariant 1")
@given(text=st.one_of(texts, plain_texts), native=natives, hint=st.booleans())
def test_answer_has_no_delimiter_and_is_stable(text, native, hint):
    visible = of_text(text, native=native, starts_in_reasoning=hint).visible

    assert not has_delimiter(visible)
    assert of_text(visible).visible == visible


@pytest.mark.spec("normaliser 3")
@pytest.mark.spec("003 invariant 3")
@given(
    parts=st.lists(
        st.tuples(
            st.sampled_from(["content", "content", "content", "reasoning", "tool_calls"]),
            st.lists(st.sampled_from((*PIECES, *HOSTILE)), max_size=12),
        ),
        max_size=5,
    ),
    hint=st.booleans(),
    open_scratchpads=st.sampled_from([(), (), ("content",), ("native",), ("content", "native")]),
    seed=seeds,
)
def test_hostile_stream_is_parsed_the_same_however_cut_and_loses_nothing(parts, hint, open_scratchpads, seed):
    """Each # becomes a character of its own, so that every one of them can be looked for.

    Fields that are null change nothing. Tagged thoughts are dropped where there is native text.
    """
    marks = iter(map(chr, range(0x4E00, 0x9FFF)))
    numbered = [(field, "".join(next(marks) if piece == "#" else piece for piece in pieces)) for field, pieces in parts]
    deltas = [TOOL if field == "tool_calls" else {field: text} for field, text in numbered]
    options = {"starts_in_reasoning": hint, "open_scratchpads": open_scratchpads}
    whole = channels(deltas, **options)
    cut = list(recut(deltas, seed))
    nulls = {"role": "assistant", "reasoning": None, "reasoning_details": None, "tool_calls": None}

    assert channels(cut, **options) == whole
    assert channels(({**nulls, **delta} for delta in cut), **options) == whole
    received = [
        char
        for char in whole.visible + (whole.stored or "") + "".join(whole.scratchpads)
        if "\u4e00" <= char < "\u9fff"
    ]
    sent = [char for field, text in numbered if field != "tool_calls" for char in text if "\u4e00" <= char < "\u9fff"]
    assert len(received) == len(set(received))
    assert set(received) <= set(sent)
    if not any(field == "reasoning" for field, _text in numbered):
        assert set(received) == set(sent)


@pytest.mark.spec("003 case 5")
@given(text=st.text())
def test_text_without_delimiters_is_unchanged(text):
    text = DELIMITER.sub("", text).encode("utf-8", "replace").decode()

    assert normalize_stream([{"content": text}]).visible == text.strip()


@pytest.mark.spec("normaliser 7")
@pytest.mark.parametrize("field", ["content", "thinking"])
@pytest.mark.parametrize(
    ("opener", "closer"), [("<scratchpad>", "</scratchpad>"), ("&lt;scratchpad&gt;", "&lt;/scratchpad>")]
)
@given(before=texts, after=texts, native=natives, hint=st.booleans(), seed=seeds)
def test_scratchpad_reaches_no_other_channel(field, opener, closer, before, after, native, hint, seed):
    deltas = [{"reasoning": native}, {field: f"{before}{opener}{CANARY}{closer}{after}"}, {"content": "x"}]
    result = channels(recut(deltas, seed), starts_in_reasoning=hint)

    assert CANARY not in result.visible + result.thinking + (result.stored or "")
    assert any(CANARY in text for text in result.scratchpads)


# Cost


_HARD: dict[str, Callable[[int], str]] = {
    "prose": lambda n: "Net sales rose. " * n,
    "openers": lambda n: "<think>" * n,
    "blocks": lambda n: "<REASONING>" * n,
    "wrong closers": lambda n: "<think>a</thinking>b" * n,
    "mixed openers": lambda n: "<think><REASONING><thinking>" * n,
    "mentions": lambda n: "`<think>` " * n,
    "open spans": lambda n: "a `<think>\n\n" * n,
    "open fences": lambda n: "```py\n<think></think>\n" * n,
    "unequal runs": lambda n: "".join("`" * (1 + at % 40) + "<think></think>x" for at in range(n)),
    "closers in code": lambda n: "<think>a `</think>` " * n,
    "closers in fences": lambda n: "<think>```\n</think>\n```\n" * n,
    "two closers": lambda n: "<think>a</thinking>`</think>` " * n,
    "openers at line starts": lambda n: "a `b\n<think>x</think>\n" * n,
    "fences in quotes": lambda n: "> ```\n> <think>\nx</think>\n" * n,
    "lone backticks": lambda n: "a ` <think></think> ``b` " * n,
    "escaped tags": lambda n: "&lt;scratchpad &amp;lt;" * n,
    "scratchpad headings": lambda n: "Scratchpad:\na\nFinal Answer:\nb\n" * n,
    "headings": lambda n: "Final Answer:\n" * n,
    "cut delimiters": lambda n: "<thi</think>nk>" * n,
    "scratchpads": lambda n: "<think><scratchpad>a</scratchpad>" * n,
    "marks of a template": lambda n: "<|im_end|>\n<|im_start|>assistant\n" * n,
    "half headings": lambda n: "Final Answe\n" * n,
    "summaries": lambda n: "Reasoning Summary:\n- a\n" * n,
    "bullets": lambda n: "Reasoning Summary:\n" + "- a b\n" * n,
}


@pytest.mark.slow
@pytest.mark.parametrize("text_of", _HARD.values(), ids=_HARD)
def test_cost_is_linear(text_of):
    def run(text):
        for native in ("", "n"):
            step = first_step()
            shown(step, "reasoning", native)
            for at in range(0, len(text), 7):
                shown(step, "content", text[at : at + 7])
            step.end()

    small, large = (calls_made(lambda n=n: run(text_of(n))) for n in (200, 800))

    assert large < 4.6 * small


def test_cost_of_a_delta_does_not_grow_with_the_turn():
    step = first_step()

    first, later = (calls_made(lambda: [shown(step, "content", "word ") for _ in range(500)]) for _half in range(2))

    assert later < 1.1 * first


_HOSTILE = {
    "angles": "<" * 1_000_000,
    "plain": "x" * 1_000_000,
    "openers": "<think>" * 20_000,
    "blanks": "<think" + " " * 100_000 + ">",
    "surrogates": "\ud800" * 100_000,
    "line breaks": "\n" * 200_000,
    "backticks": "`" * 1_000_000 + "<think>",
    "entities": "&lt;scratchpad" * 50_000,
    "backslashes": "\\" * 500_000 + "`<think>",
    "headings": "Scratchpad" * 50_000,
    "turns": "<|im_end|>\n<|im_start|>assistant\n" * 20_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("text", _HOSTILE.values(), ids=_HOSTILE)
def test_hostile_input_is_parsed_in_time(text):
    result = of_text(text)

    assert len(result.visible) + len(result.thinking) <= len(text)


# Recorded responses


Response = tuple[Mapping[str, Any], ...]


@pytest.fixture
def responses(shared_dir):
    return tuple(tuple(chat_deltas(each)) for each in exchanges(shared_dir / "streams") if each.kind == CHAT)


@pytest.mark.spec("003 invariant 1")
@pytest.mark.spec("003 invariant 2")
@pytest.mark.spec("003 invariant 3")
def test_recordings_give_their_own_text_however_cut(responses):
    assert len(responses) > 50

    for deltas in responses:
        whole = channels(deltas)
        native, content = "".join(map(_native, deltas)), "".join(map(_content, deltas))
        assert all(channels(recut(deltas, seed)) == whole for seed in (1, 2))
        assert not has_delimiter(whole.visible)
        assert whole.stored == native or not native
        assert whole.visible == content.strip() or "<" in content


@pytest.mark.spec("003 case 3")
@pytest.mark.parametrize("tag", ["think", "thinking", "REASONING"])
def test_native_text_of_recordings_is_found_as_tagged_text(responses, tag):
    for deltas in responses:
        native, content = "".join(map(_native, deltas)), "".join(map(_content, deltas))
        if native.strip() and "<" not in native + content:
            tagged = [{"content": f"<{tag}>\n{native}\n</{tag}>\n\n{content}"}]
            for result in (channels(tagged), channels(recut(tagged, 3))):
                assert (result.visible, result.thinking) == (content.strip(), native.strip())


def _native(delta: Mapping[str, Any]) -> str:
    details = delta.get("reasoning_details") or []
    text = "".join(element.get("text") or element.get("summary") or "" for element in details)
    return delta.get("reasoning_content") or delta.get("reasoning") or text


def _content(delta: Mapping[str, Any]) -> str:
    content = delta.get("content") or ""
    if isinstance(content, list):
        return "".join(part["text"] for part in content if part["type"] == "text")
    return str(content)


def _stored(pieces: list[str]) -> str:
    step = first_step()
    for piece in pieces:
        step.feed(RawFields({"content": piece}))
    return "".join(event.text for event in step.end().events if isinstance(event, AssistantMessage))


def _without_line_ends(text: str) -> str:
    return re.sub(r"[^\S\n]+(?=\n|\Z)", "", text).rstrip()
