"""How families of models mark their thoughts in the text of an answer. Product 33. Data, dated 2026-11.

The tags of ``THINK_TAGS`` and ``<REASONING>`` count for every model (``delimiters.tags``). The marks of a row count for
the models of a family alone: by the name of the model, or where the model's profile names the family. Elsewhere they
are text. A mark counts in exactly this spelling, outside code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

THINK_TAGS = ("thinking", "think")


class Example(NamedTuple):
    """A whole response, and the thought and the answer in it."""

    text: str
    thinking: str
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingFormat:
    """The marks of one family.

    ``about``: its models, for people. ``models``: the beginning of their names, without a vendor, as a pattern in lower
    case. ``opens`` and ``closes`` begin and end a thought; ``opens_message`` does so only where a message begins and
    only if an end follows, since these are ordinary words. ``removes`` are marks that say nothing about thoughts.
    ``wraps``: marks around the answer, the first of which counts where the answer begins. ``starts_in_thought``: the
    chat template wrote the opener.
    """

    name: str
    about: str
    models: str
    example: Example
    opens: tuple[str, ...] = ()
    opens_message: tuple[str, ...] = ()
    closes: tuple[str, ...] = ()
    removes: tuple[str, ...] = ()
    wraps: tuple[tuple[str, str], ...] = ()
    starts_in_thought: bool = False


_ROWS = (
    ThinkingFormat(
        name="mistral",
        about="Magistral, Ministral, Devstral, Mistral Medium 3.5",
        models=r"magistral|ministral|devstral|voxtral|mistral-(?:small|medium|large)",
        opens=("[THINK]",),
        closes=("[/THINK]",),
        example=Example("[THINK]Why?[/THINK]So.", "Why?", "So."),
    ),
    ThinkingFormat(
        name="seed",
        about="Seed-OSS, Doubao Seed",  # counts its budget inside the thought
        models=r"seed-?oss|seed-?\d|doubao-seed",
        opens=("<seed:think>",),
        closes=("</seed:think>",),
        removes=("<seed:cot_budget_reflect>", "</seed:cot_budget_reflect>"),
        example=Example(
            "<seed:think>Why?<seed:cot_budget_reflect> 9 left.</seed:cot_budget_reflect></seed:think>So.",
            "Why? 9 left.",
            "So.",
        ),
    ),
    ThinkingFormat(
        name="thought",
        about="Marco-o1, EXAONE Deep, Gemini, Gemma 3",  # of Gemini behind compatible addresses
        models=r"marco-?o1|exaone|gemini|gemma-?3",
        opens=("<thought>", "<Thought>"),
        closes=("</thought>", "</Thought>"),
        wraps=(("<Output>", "</Output>"),),
        example=Example("<Thought>Why?</Thought>\n<Output>So.</Output>", "Why?", "So."),
    ),
    ThinkingFormat(
        name="ant-thinking",
        about="prompts written for Claude",
        models=r"claude",
        opens=("<antThinking>", "<antthinking>"),
        closes=("</antThinking>", "</antthinking>"),
        example=Example("<antThinking>Why?</antThinking>So.", "Why?", "So."),
    ),
    ThinkingFormat(
        name="reflection",
        about="Reflection 70B",
        models=r"reflection",
        opens=("<reflection>",),
        closes=("</reflection>",),
        wraps=(("<output>", "</output>"),),
        example=Example("<thinking>Why?</thinking><output>So.</output>", "Why?", "So."),
    ),
    ThinkingFormat(
        name="kimi-vl",
        about="Kimi-VL",
        models=r"kimi-vl",
        opens=("◁think▷",),
        closes=("◁/think▷",),
        example=Example("◁think▷Why?◁/think▷So.", "Why?", "So."),
    ),
    ThinkingFormat(
        name="cohere",
        about="Command A, Command R, North",
        models=r"command-?[ar]|c4ai-command|north-",
        opens=("<|START_THINKING|>",),
        closes=("<|END_THINKING|>",),
        wraps=(("<|START_RESPONSE|>", "<|END_RESPONSE|>"), ("<|START_TEXT|>", "<|END_TEXT|>")),
        example=Example("<|START_THINKING|>Why?<|END_THINKING|><|START_RESPONSE|>So.<|END_RESPONSE|>", "Why?", "So."),
    ),
    ThinkingFormat(
        name="begin-of-thought",
        about="OpenThinker, Sky-T1",
        models=r"openthinker|sky-?t1",
        opens=("<|begin_of_thought|>",),
        closes=("<|end_of_thought|>",),
        wraps=(("<|begin_of_solution|>", "<|end_of_solution|>"),),
        example=Example(
            "<|begin_of_thought|>Why?<|end_of_thought|><|begin_of_solution|>So.<|end_of_solution|>", "Why?", "So."
        ),
    ),
    ThinkingFormat(
        name="harmony",
        about="gpt-oss",  # whose server parses nothing; also where the special tokens were dropped
        models=r"gpt-oss",
        opens=("<|channel|>analysis<|message|>", "<|channel|>commentary<|message|>"),
        opens_message=("analysis",),
        closes=(
            "<|end|>",
            "<|channel|>final<|message|>",
            "<|channel|>final <|constrain|>json<|message|>",
            "assistantfinal",
        ),
        removes=("<|start|>assistant", "<|return|>"),
        example=Example(
            "<|channel|>analysis<|message|>Why?<|end|><|start|>assistant<|channel|>final<|message|>So.<|return|>",
            "Why?",
            "So.",
        ),
    ),
    ThinkingFormat(
        name="gemma",
        about="Gemma 4",
        models=r"gemma-?(?:[4-9]|\d\d)",
        opens=("<|channel>thought",),
        closes=("<channel|>",),
        example=Example("<|channel>thought\nWhy?<channel|>So.", "Why?", "So."),
    ),
    ThinkingFormat(
        name="medgemma",
        about="MedGemma",
        models=r"medgemma",
        opens=("<unused94>thought",),
        closes=("<unused95>",),
        example=Example("<unused94>thought\nWhy?<unused95>So.", "Why?", "So."),
    ),
    ThinkingFormat(
        name="granite",
        about="Granite 3.2 to 4",  # 3.2 says it in words, 3.3 wraps its response
        models=r"granite-?[34]",
        opens_message=("Here is my thought process:", "Here's my thought process:"),
        closes=("Here is my response:", "Here's my response:"),
        wraps=(("<response>", "</response>"),),
        example=Example("Here is my thought process: Why? Here is my response: So.", "Why?", "So."),
    ),
    ThinkingFormat(
        name="answer-tags",
        about="Hunyuan-A13B, R1-Zero, Open-Reasoner, AM-Thinking",
        # And many others that were trained to write <think> and <answer>.
        models=r"hunyuan|hy-?\d|glm-?4\.1v|deepseek-r1-zero|open-reasoner|am-thinking|.*r1-zero",
        wraps=(("<answer>", "</answer>"),),
        example=Example("<think>Why?</think><answer>So.</answer>", "Why?", "So."),
    ),
    ThinkingFormat(
        name="glm-v",
        about="GLM-4.5V, GLM-4.6V",  # which put what they found into a box
        models=r"glm-?(?:4\.[5-9]|[5-9](?:\.\d+)?)v",
        wraps=(("<|begin_of_box|>", "<|end_of_box|>"),),
        example=Example("<think>Why?</think><|begin_of_box|>So.<|end_of_box|>", "Why?", "So."),
    ),
    ThinkingFormat(
        name="response-tags",
        about="ERNIE 4.5",
        models=r"ernie",
        wraps=(("<response>", "</response>"),),
        example=Example("<think>Why?</think>\n<response>So.</response>", "Why?", "So."),
    ),
    ThinkingFormat(
        name="apriel",
        about="Apriel",
        models=r"apriel",
        closes=("[BEGIN FINAL RESPONSE]",),
        removes=("[END FINAL RESPONSE]",),
        starts_in_thought=True,
        example=Example("Why?\n[BEGIN FINAL RESPONSE]\nSo.\n[END FINAL RESPONSE]", "Why?", "So."),
    ),
    ThinkingFormat(
        name="opened-think",
        about="DeepSeek R1, QwQ, Qwen3 Thinking",  # whose chat templates write <think>
        models=r"deepseek-r1|qwq|qwen3.*-thinking",
        starts_in_thought=True,
        example=Example("Why?\n</think>\n\nSo.", "Why?", "So."),
    ),
    ThinkingFormat(
        name="solar",
        about="Solar, Falcon-H1R",
        models=r"solar|falcon-h1r",
        opens=("<|think|>",),
        closes=("<|/think|>",),
        example=Example("<|think|>Why?<|/think|>So.", "Why?", "So."),
    ),
    ThinkingFormat(
        name="apertus",
        about="Apertus",
        models=r"apertus",
        opens=("<|inner_prefix|>",),
        closes=("<|inner_suffix|>",),
        example=Example("<|inner_prefix|>Why?<|inner_suffix|>So.", "Why?", "So."),
    ),
    ThinkingFormat(
        name="longcat",
        about="LongCat",
        models=r"longcat",
        opens=("<longcat_think>",),
        closes=("</longcat_think>",),
        example=Example("<longcat_think>Why?</longcat_think>So.", "Why?", "So."),
    ),
    ThinkingFormat(
        name="minimax",
        about="MiniMax",
        models=r"minimax",
        opens=("<mm:think>",),
        closes=("</mm:think>",),
        example=Example("<mm:think>Why?</mm:think>So.", "Why?", "So."),
    ),
)
THINKING_FORMATS: Mapping[str, ThinkingFormat] = {row.name: row for row in _ROWS}


@lru_cache(maxsize=256)
def find_thinking_format(model: str, chosen: str = "") -> ThinkingFormat | None:
    """Return the format that a model's profile has ``chosen``, else that of its family; None without either.

    An unknown name counts as not chosen: it comes from an old profile.
    """
    if chosen in THINKING_FORMATS:
        return THINKING_FORMATS[chosen]
    bare_model = model.rpartition("/")[2].lower()
    return next((row for row in _ROWS if re.match(row.models, bare_model)), None)


# For looking at a whole response: code, in which no mark counts, and the tags that count for every model.
_CODE = re.compile(
    r"^[ \t>]*(```|~~~).*?(?:^[ \t>]*\1|\Z)|(?<!`)(`{1,2})(?!`)[^\n]*?(?<!`)\2(?!`)", re.MULTILINE | re.DOTALL
)
_TAG = re.compile(rf"<(/?)(?:{'|'.join(THINK_TAGS)}|reasoning)\s{{0,8}}>", re.IGNORECASE)


def families_in(text: str) -> tuple[str, ...]:
    """Return the names of the families whose marks a whole response has outside code, the likeliest first.

    Marks around a thought decide; where there are none, marks around the answer, with which it must begin. The tags of
    every model say nothing of a family.
    """
    prose = _CODE.sub(" ", text)
    places = [(min(found), row.name) for row in _ROWS if (found := _thought_marks(row, prose))]
    if places:
        return tuple(name for _at, name in sorted(places, key=lambda place: place[0]))
    answer = prose[max((tag.end() for tag in _TAG.finditer(prose) if tag[1]), default=0) :].lstrip()
    wrapped = [row for row in _ROWS if answer.startswith(tuple(first for first, _last in row.wraps))]
    # A family that also marks thoughts would have done so.
    return tuple(row.name for row in sorted(wrapped, key=lambda row: bool(row.closes)))


def starts_inside_thought(text: str) -> bool:
    """Say whether a whole response ends a thought that it never began: its chat template wrote the opener.

    It is false for a family whose format says so anyway.
    """
    prose = _CODE.sub(" ", text)
    if first := _TAG.search(prose):
        return first[1] == "/"
    row = THINKING_FORMATS.get(next(iter(families_in(text)), ""))
    marks = _thought_marks(row, prose) if row else []
    if not (row and marks) or row.starts_in_thought or not prose.startswith(row.closes, min(marks)):
        return False
    before = prose[: min(marks)]
    for mark in row.removes:
        before = before.replace(mark, "")
    # What ends a thought may also head an answer that had none.
    return bool(before.strip())


def _thought_marks(row: ThinkingFormat, prose: str) -> list[int]:
    """Return where marks of a family begin or end a thought."""
    start = len(prose) - len(prose.lstrip())
    marks = list(row.opens)
    if row.opens or row.starts_in_thought:  # elsewhere a closer is ordinary words
        marks += [mark for mark in row.closes if mark not in LEFTOVERS]
    found = [at for mark in marks if (at := prose.find(mark)) >= 0]
    begins = prose.startswith(row.opens_message, start) and any(mark in prose for mark in row.closes)
    return [start, *found] if begins else found


# What chat templates put behind an answer, and a server should have removed, by the models that have it. Product 39.
TEMPLATE_MARKS: Mapping[str, tuple[str, ...]] = {
    "ChatML, Qwen, Yi, InternLM, SmolLM, Hermes": ("<|im_end|>", "<|im_start|>", "<|endoftext|>"),
    "Llama 2, Mistral": ("</s>", "<s>", "[INST]", "[/INST]"),
    "Llama 3": ("<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>"),
    "Llama 4": ("<|eot|>", "<|eom|>", "<|header_start|>", "<|header_end|>"),
    "Mistral": ("[SYSTEM_PROMPT]",),
    "Gemma": ("<end_of_turn>", "<start_of_turn>", "<eos>", "<turn|>", "<|turn>"),
    "Phi": ("<|end|>", "<|im_sep|>"),
    "Phi, GLM, OLMo, Zephyr, Falcon 3": ("<|user|>", "<|assistant|>", "<|system|>", "<|observation|>", "<eop>"),
    "gpt-oss": ("<|return|>", "<|call|>", "<|start|>assistant"),
    "DeepSeek": ("<｜end▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>", "<|EOT|>"),
    "Command R": (
        "<|END_OF_TURN_TOKEN|>",
        "<|START_OF_TURN_TOKEN|>",
        "<|CHATBOT_TOKEN|>",
        "<|USER_TOKEN|>",
        "<|SYSTEM_TOKEN|>",
        "<EOS_TOKEN>",
    ),
    "Granite": ("<|start_of_role|>", "<|end_of_role|>"),
    "Falcon": ("<|end_of_turn|>",),
    "InternLM": ("<eoa>", "<eoh>", "<|eoa|>", "<|User|>", "<|Bot|>"),
    "Baichuan": ("<reserved_106>", "<reserved_107>", "<reserved_195>", "<reserved_196>"),
    "MiniMax": ("[e~[", "]~b]", "<end_of_sentence>", "<beginning_of_sentence>"),
    "Kimi": ("[EOS]", "[EOT]", "<|im_user|>", "<|im_assistant|>", "<|im_system|>", "<|im_middle|>"),
    "EXAONE": ("[|endofturn|]", "<|endofturn|>", "[|user|]", "[|assistant|]"),
    "Apertus": ("<|assistant_end|>", "<|user_start|>", "<|assistant_start|>"),
    "Seed": ("<seed:eos>", "<seed:bos>"),
    "Hunyuan, Reka": ("<|eos|>",),
    "Nemotron": ("<SPECIAL_11>", "<SPECIAL_12>", "<extra_id_0>", "<extra_id_1>"),
    "Ling, Ring": ("<|role_end|>",),
    "Qwen, for what it should fill in": ("<|fim_pad|>",),
    "ERNIE": ("<|end_of_sentence|>",),
}
LEFTOVERS = tuple(dict.fromkeys(mark for marks in TEMPLATE_MARKS.values() for mark in marks))
# The mark that begins a turn is followed by a role, as a word.
TURN_MARKS = frozenset(
    """<|im_start|> <|start_header_id|> <|header_start|> <start_of_turn> <|turn> <|start_of_role|> <|im_user|>
    <|im_assistant|> <|im_system|> ]~b]""".split()
)
ROLES = ("assistant", "user", "system", "tool", "model", "ipython", "developer", "ai", "available_tools", "documents")
