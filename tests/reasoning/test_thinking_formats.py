"""How families of models mark their thoughts. Product 33, 39."""

import pytest

from reasoning.deltas import Channel
from reasoning.services.thinking_formats import (
    LEFTOVERS,
    THINKING_FORMATS,
    ThinkingFormat,
    families_in,
    find_thinking_format,
    starts_inside_thought,
)
from reasoning.stream.normalizer import Normalizer


def parsed(text: str, size: int, family: ThinkingFormat | None = None) -> tuple[str, str]:
    """Return answer and thinking of a text that comes in pieces of ``size`` characters."""
    normalizer = Normalizer(family=family)
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    deltas = [delta for piece in pieces for delta in normalizer.feed({"content": piece})]
    deltas += normalizer.finish()
    answer = "".join(str(delta.text) for delta in deltas if delta.channel is Channel.VISIBLE)
    return answer, normalizer.thinking or ""


@pytest.mark.spec("product 33")
@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 11, 1_000])
@pytest.mark.parametrize("family", THINKING_FORMATS.values(), ids=THINKING_FORMATS)
def test_example_of_each_family(family, size):
    answer, thinking = parsed(family.example.text, size, family)

    assert (answer.strip(), thinking.strip()) == (family.example.answer, family.example.thinking)


@pytest.mark.spec("product 33")
@pytest.mark.parametrize("size", [1, 5, 1_000])
def test_final_channel_of_harmony_may_name_a_format(size):
    text = "<|channel|>analysis<|message|>Why?<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>{}"

    assert parsed(text, size, THINKING_FORMATS["harmony"]) == ("{}", "Why?")


@pytest.mark.spec("product 33")
@pytest.mark.parametrize("family", THINKING_FORMATS.values(), ids=THINKING_FORMATS)
def test_marks_of_a_family_are_text_in_code_and_for_other_models(family):
    before = "So." + (family.closes or ("</think>",))[0] if family.starts_in_thought else ""
    for mark in (*family.opens, *family.closes, *(first for first, _last in family.wraps)):
        text = f"Write `{mark}` here"
        assert parsed(before + text, 3, family) == (text, "So." if before else "")
        assert parsed(f"A {mark} B", 3)[0] == f"A {mark} B"


@pytest.mark.spec("product 33")
@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("openai/gpt-oss-120b", "harmony"),
        ("google/gemma-4-27b-it", "gemma"),
        ("gemma-3-27b-it", "thought"),
        ("mistralai/Magistral-Small-2509", "mistral"),
        ("ByteDance-Seed/Seed-OSS-36B-Instruct", "seed"),
        ("ibm-granite/granite-3.2-8b-instruct", "granite"),
        ("granite3.2:8b", "granite"),
        ("gemma4:12b", "gemma"),
        ("gemma3:4b", "thought"),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", "opened-think"),
        ("unsloth/Qwen3-30B-A3B-Thinking-2507-GGUF", "opened-think"),
        ("qwen3-next:80b-a3b-thinking", "opened-think"),
        ("Qwen/QwQ-32B", "opened-think"),
    ],
)
def test_family_is_found_by_the_name_of_the_model(model, name):
    family = find_thinking_format(model)

    assert family is not None
    assert family.name == name


@pytest.mark.spec("product 33")
@pytest.mark.parametrize("model", ["Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3:8b", "deepseek-reasoner"])
def test_other_models_of_a_vendor_have_no_family(model):
    assert find_thinking_format(model) is None


@pytest.mark.spec("product 33")
def test_family_that_the_profile_names_wins():
    assert find_thinking_format("gpt-oss-120b", "cohere") is THINKING_FORMATS["cohere"]
    assert find_thinking_format("my-model", "a-name-of-old") is None


@pytest.mark.spec("product 39")
@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize("leftover", LEFTOVERS)
def test_leftover_is_removed_at_the_end_alone(leftover, size):
    assert parsed(f"So.{leftover}\n", size)[0] == "So."
    assert parsed(f"So.{leftover}{leftover}", size)[0] == "So."
    assert parsed(f"So {leftover} on", size)[0] == f"So {leftover} on"
    assert parsed(f"It is `{leftover}`", size)[0] == f"It is `{leftover}`"
    assert parsed(f"```\n{leftover}\n```", size)[0] == f"```\n{leftover}\n```"


@pytest.mark.spec("product 39")
@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize(
    "turn",
    [
        "<|im_end|>\n<|im_start|>assistant\n",
        "<|im_start|>user<|im_sep|>",
        "</s><s>[INST]",
        "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
        "<|eot|><|header_start|>user<|header_end|>\n\n",
        "<end_of_turn>\n<start_of_turn>model\n",
        "<|end|>\n<|assistant|>\n",
        "<｜end▁of▁sentence｜><｜User｜>",
        "<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
        "<|end_of_text|>\n<|start_of_role|>user<|end_of_role|>",
        "[e~[\n]~b]ai\n",
        "<|im_end|><|im_user|>user<|im_middle|>",
    ],
)
def test_next_turn_is_removed_where_nothing_is_said_in_it(turn, size):
    assert parsed(f"So.{turn}", size)[0] == "So."
    assert parsed(f"So.{turn}And", size)[0] == f"So.{turn}And"


@pytest.mark.spec("product 39")
@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize("end", ["<|im_start|>assist", "<|im_start|>assistants", "<|im_end|>assistant"])
def test_word_behind_a_mark_that_is_no_role_stays(end, size):
    assert parsed(f"So.{end}", size)[0] == f"So.{end}"


@pytest.mark.spec("product 33")
@pytest.mark.parametrize("name", [name for name in THINKING_FORMATS if name != "opened-think"])
def test_family_is_found_by_its_marks(name):
    family = THINKING_FORMATS[name]

    assert families_in(family.example.text)[0] == family.name
    assert families_in(f"\n{family.example.text}\n")[0] == family.name
    assert not starts_inside_thought(family.example.text)


@pytest.mark.spec("product 33")
@pytest.mark.parametrize(
    ("text", "names", "is_inside"),
    [
        ("", (), False),
        ("2 + 3 = 5", (), False),
        ("<think>Why?</think>So.", (), False),
        ("Why?</THINK>So.", (), True),
        ("</think>So.", (), True),
        ("Write `</think>` or\n```\n</think>\n```\nhere", (), False),
        ("[THINK]Why?", ("mistral",), False),
        ("Why?[/THINK]So.", ("mistral",), True),
        ("Why?</thought>So. <thought>", ("thought",), True),
        ("Write `[THINK]` or ``a ` [THINK]``", (), False),
        ("```\n[THINK]Why?[/THINK]\n```\nSo.", (), False),
        ("~~~\n[THINK]", (), False),
        ("analysisWhy?assistantfinalSo.", ("harmony",), False),
        ("analysis of the text", (), False),
        ("Why?<|end|><|start|>assistant<|channel|>final<|message|>So.", ("harmony",), True),
        ("<|start|>assistant<|channel|>final<|message|>So.", ("harmony",), False),
        ("So.<|end|>", (), False),
        ("Here is my response: So.", (), False),
        ("Why?</think>\n<answer>So.</answer>", ("answer-tags",), True),
        ("<response>So.</response>", ("response-tags", "granite"), False),
        ("So <answer>", (), False),
        ("◁think▷Why?◁/think▷ [THINK] is another mark", ("kimi-vl", "mistral"), False),
    ],
)
def test_marks_say_the_family_and_where_the_response_begins(text, names, is_inside):
    assert (families_in(text), starts_inside_thought(text)) == (names, is_inside)
