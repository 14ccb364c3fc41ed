"""What each model service accepts of its own reasoning, and what it refuses; ready-made profiles. Data, dated.

The contracts drift from month to month, so they are a table and nowhere in code. ``checked`` says when a row was last
compared with the service's documentation or with reports of its refusals. Where services were lenient and strict again
within a year, the strict rule is used. Staff add presets in the admin and change what they like; people load their
reasoning half by name (``/profile load kimi``). Replay decision D4.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Needs = Literal["nothing", "running calls", "calls", "everything"]
Control = Literal["none", "effort", "openrouter", "thinking", "thinking and effort", "enable_thinking", "template"]
AS_RECEIVED = "as received"
BLANK = " "  # counts as reasoning where an empty string counts as missing


@dataclass(frozen=True, slots=True)
class IdRule:
    """Which ids of calls a service accepts: at most, or exactly, so many letters, digits and ``others``."""

    chars: int
    is_exact: bool = False
    others: str = "_-"

    def fits(self, call_id: str) -> bool:
        has_length = len(call_id) == self.chars if self.is_exact else 0 < len(call_id) <= self.chars
        return has_length and all(char in self.others or (char.isascii() and char.isalnum()) for char in call_id)


# Mistral's: an id that fits it is accepted everywhere.
STRICTEST_IDS = IdRule(9, is_exact=True, others="")
# These models read their own ids (functions.search:0), or the service has put a signature into them.
_ANY_ID = IdRule(10_000, others="".join(map(chr, range(32, 127))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One service's contract.

    ``text_field``: the name under which reasoning text is sent back; ``AS_RECEIVED``, or empty where it is refused.
    ``needs``: which assistant messages must carry it. ``placeholder``: what such a message carries where its response
    had none; empty where nothing is accepted instead, so that the step is omitted. ``unsigned_call``: what the first of
    its calls carries where none has a signature: another model made them, or this one without thinking. ``control``:
    how a request asks for effort. ``off``: what switches reasoning off, where the service reasons by default.
    ``models_differ``: some of its models refuse what asks for effort, so the request is made without it then (product
    24). ``output_limit``: its parameter for the length of an answer. ``takes_images``: all its present models do.
    ``takes_parallel_calls``: a message may have several calls. ``names_results``: results have the name of their tool.
    """

    name: str
    checked: str
    text_field: str = AS_RECEIVED
    needs: Needs = "nothing"
    placeholder: str = ""
    takes_details: bool | None = False  # None: by the endpoint that made them, like any opaque block
    takes_signatures: bool = False
    unsigned_call: Mapping[str, Any] = field(default_factory=dict)
    takes_tools: bool = True
    takes_system: bool = True
    takes_images: bool = False
    empty_content: str | None = None  # of a message that has only calls
    call_ids: IdRule | None = None  # None: by the API
    takes_parallel_calls: bool = True
    names_results: bool = False
    control: Control = "none"
    off: Mapping[str, Any] = field(default_factory=dict)
    models_differ: bool = False
    output_limit: str = "max_tokens"
    keeps_all: Mapping[str, Any] = field(default_factory=dict)  # sent where all its reasoning is sent back
    always: Mapping[str, Any] = field(default_factory=dict)  # sent with each request


_EFFORT_NONE: Mapping[str, Any] = {"reasoning_effort": "none"}
_DISABLED: Mapping[str, Any] = {"thinking": {"type": "disabled"}}
_TEMPLATE_OFF: Mapping[str, Any] = {"chat_template_kwargs": {"enable_thinking": False}}

# Whatever is behind an unknown address: most servers read an effort, or ignore it.
GENERIC = Dialect(name="openai-chat", checked="2026-11", takes_details=None, control="effort", models_differ=True)
_DIALECTS = (
    GENERIC,
    Dialect(
        name="openai",
        checked="2026-11",
        text_field="",
        call_ids=IdRule(40),
        takes_images=True,
        control="effort",
        output_limit="max_completion_tokens",
    ),
    Dialect(name="responses-strict", checked="2026-11", text_field=""),
    Dialect(name="strict-chat", checked="2026-11", text_field=""),
    Dialect(
        name="mistral",
        checked="2026-11",
        text_field="",
        empty_content="",
        call_ids=STRICTEST_IDS,
    ),
    Dialect(name="cerebras", checked="2026-09", text_field="reasoning", control="effort", models_differ=True),
    Dialect(
        name="groq",
        checked="2026-11",
        text_field="reasoning",
        control="effort",
        off=_EFFORT_NONE,
        models_differ=True,
    ),
    Dialect(
        name="kimi",
        checked="2026-10",
        call_ids=_ANY_ID,
        text_field="reasoning_content",
        needs="calls",
        placeholder=BLANK,
        control="thinking",
        off=_DISABLED,
    ),
    Dialect(
        name="kimi-preserved",
        checked="2026-10",
        text_field="reasoning_content",
        needs="everything",
        placeholder=BLANK,
        call_ids=_ANY_ID,
    ),
    # Refuses reasoning in history, and tools.
    Dialect(name="deepseek-r1", checked="2026-03", text_field="", takes_tools=False),
    Dialect(
        name="deepseek-v3.2",
        checked="2026-08",
        text_field="reasoning_content",
        needs="running calls",
        placeholder=BLANK,
        control="thinking and effort",
        off=_DISABLED,
    ),
    Dialect(
        name="deepseek-v4",
        checked="2026-09",
        text_field="reasoning_content",
        needs="calls",
        placeholder=BLANK,
        control="thinking and effort",
        off=_DISABLED,
    ),
    Dialect(
        name="glm", checked="2026-10", text_field="reasoning_content", control="thinking and effort", off=_DISABLED
    ),
    Dialect(
        name="glm-preserved",
        checked="2026-10",
        text_field="reasoning_content",
        control="thinking and effort",
        off=_DISABLED,
        keeps_all={"thinking": {"type": "enabled", "clear_thinking": False}},
    ),
    # Sends reasoning inside the content unless it is asked to split it off.
    Dialect(name="minimax", checked="2026-07", text_field="", takes_details=True, always={"reasoning_split": True}),
    # DashScope takes at the top what vLLM and others hand to the model's chat template.
    Dialect(
        name="qwen",
        checked="2026-11",
        text_field="reasoning_content",
        control="enable_thinking",
        off={"enable_thinking": False},
        models_differ=True,
    ),
    # It refuses them for models that have no template in its sense (Mistral).
    Dialect(
        name="vllm",
        checked="2026-11",
        text_field="reasoning",
        control="template",
        off=_TEMPLATE_OFF,
        models_differ=True,
    ),
    Dialect(
        name="ollama",
        checked="2026-11",
        text_field="reasoning",
        control="effort",
        off=_EFFORT_NONE,
        models_differ=True,
    ),
    Dialect(
        name="sglang",
        checked="2026-11",
        text_field="reasoning_content",
        control="template",
        off=_TEMPLATE_OFF,
        models_differ=True,
    ),
    Dialect(
        name="llama.cpp",
        checked="2026-11",
        text_field="reasoning_content",
        control="template",
        off=_TEMPLATE_OFF,
        models_differ=True,
    ),
    # OpenRouter: one of text and opaque details, depending on the model behind it.
    Dialect(
        name="details",
        checked="2026-10",
        text_field="reasoning",
        takes_details=True,
        control="openrouter",
        off={"reasoning": {"enabled": False}},
    ),
    # Gemini: thought signatures on the calls, which it demands back.
    Dialect(
        name="signed-calls",
        checked="2026-11",
        text_field="",
        takes_signatures=True,
        # Google documents this value for calls that were made elsewhere; without any it answers 400.
        unsigned_call={"extra_content": {"google": {"thought_signature": "skip_thought_signature_validator"}}},
        call_ids=_ANY_ID,
        takes_images=True,
        control="effort",
        off=_EFFORT_NONE,
        models_differ=True,
    ),
)
DIALECTS: Mapping[str, Dialect] = {row.name: row for row in _DIALECTS}
ALIASES = {"openrouter": "details", "gemini": "signed-calls", "gpt-oss": "groq", "generic": "openai-chat"}

# By address first, then by model: a host, or its end behind a dot, and a pattern of the model without its vendor.
_BY_HOST = (
    ("api.openai.com", r".", "openai"),
    ("openrouter.ai", r".", "details"),
    ("moonshot.ai", r"kimi-k2\.[7-9]|kimi-k[3-9]", "kimi-preserved"),
    ("moonshot.cn", r"kimi-k2\.[7-9]|kimi-k[3-9]", "kimi-preserved"),
    ("moonshot.ai", r".", "kimi"),
    ("moonshot.cn", r".", "kimi"),
    ("deepseek.com", r".", "deepseek-v4"),
    ("z.ai", r".", "glm"),
    ("bigmodel.cn", r".", "glm"),
    ("minimax.io", r".", "minimax"),
    ("minimaxi.com", r".", "minimax"),
    ("mistral.ai", r".", "mistral"),
    ("cerebras.ai", r".", "cerebras"),
    ("groq.com", r".", "groq"),
    ("googleapis.com", r".", "signed-calls"),
    ("aliyuncs.com", r".", "qwen"),
)
_BY_MODEL = (
    (r"kimi-k2\.[7-9]|kimi-k[3-9]", "kimi-preserved"),
    (r"kimi-k2(?:-thinking|\.[56])", "kimi"),
    (r"deepseek-v4", "deepseek-v4"),
    (r"deepseek-v3\.2", "deepseek-v3.2"),
    (r"deepseek-r1(?!-distill)\b", "deepseek-r1"),
    (r"gemini-[3-9]", "signed-calls"),
)


def dialect_named(name: str | None) -> Dialect:
    """Return the dialect of that name; of none, or one that is not in the table, the generic one."""
    # An unknown name comes from an old profile; the generic dialect works nearly everywhere.
    wanted = name or ""
    return DIALECTS.get(ALIASES.get(wanted, wanted), GENERIC)


def find_dialect(host: str, model: str) -> str:
    """Return the name of the dialect that an address and a model speak, as far as the table knows; else the generic."""
    bare_host = host.partition(":")[0].lower()
    bare_model = model.rpartition("/")[2].lower()
    for known, pattern, name in _BY_HOST:
        if (bare_host == known or bare_host.endswith("." + known)) and re.match(pattern, bare_model):
            return name
    return next((name for pattern, name in _BY_MODEL if re.match(pattern, bare_model)), GENERIC.name)


# Models that think between calls answer worse without their earlier thinking.
_ROUND_TRIP = {"reasoning.includeInContext": True, "reasoning.stripFromContext": "none"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A profile of one service's usual model. ``reasoning`` has only what differs from the built-in settings."""

    name: str
    label: str
    base_url: str
    model: str
    dialect: str
    api: str = "chat"  # a name of ``wire.FORMATS``
    api_key_env: str = ""
    context_limit: int | None = None
    reasoning: Mapping[str, Any] = field(default_factory=dict)
    starts_in_reasoning: bool = False


_PRESETS = (
    Preset(
        name="openai",
        label="OpenAI",
        base_url="https://api.openai.com/v1",
        model="gpt-5-mini",
        dialect="responses-strict",
        api="responses",
        api_key_env="OPENAI_API_KEY",
        context_limit=272_000,
        reasoning={"reasoning.summary": "auto"},
    ),
    Preset(
        name="deepseek",
        label="DeepSeek",
        base_url="https://api.deepseek.com/v1",
        model="deepseek-v4-flash",
        dialect="deepseek-v4",
        api_key_env="DEEPSEEK_API_KEY",
        context_limit=128_000,
        reasoning=_ROUND_TRIP,
    ),
    Preset(
        name="kimi",
        label="Kimi",
        base_url="https://api.moonshot.ai/v1",
        model="kimi-k2.6",
        dialect="kimi",
        api_key_env="MOONSHOT_API_KEY",
        context_limit=256_000,
        reasoning=_ROUND_TRIP,
    ),
    Preset(
        name="glm",
        label="GLM",
        base_url="https://api.z.ai/api/paas/v4",
        model="glm-4.7",
        dialect="glm-preserved",
        api_key_env="ZAI_API_KEY",
        context_limit=200_000,
        reasoning=_ROUND_TRIP,
    ),
    Preset(
        name="qwen",
        label="Qwen",
        base_url="https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        model="qwen3.6-plus",
        dialect="qwen",
        api_key_env="DASHSCOPE_API_KEY",
        context_limit=128_000,
        reasoning=_ROUND_TRIP,
    ),
    Preset(
        name="openrouter",
        label="OpenRouter",
        base_url="https://openrouter.ai/api/v1",
        model="openrouter/auto",
        dialect="details",
        api_key_env="OPENROUTER_API_KEY",
        context_limit=128_000,
        reasoning=_ROUND_TRIP,
    ),
    Preset(
        name="vllm",
        label="vLLM",
        base_url="http://127.0.0.1:8001/v1",
        model="Qwen/Qwen3-8B",
        dialect="vllm",
        context_limit=32_000,
        reasoning=_ROUND_TRIP,
    ),
    Preset(
        name="ollama",
        label="Ollama",
        base_url="http://127.0.0.1:11434/v1",
        model="qwen3",
        dialect="ollama",
        context_limit=32_000,
    ),
    Preset(
        name="llama.cpp",
        label="llama.cpp",
        base_url="http://127.0.0.1:8080/v1",
        model="local",
        dialect="llama.cpp",
        context_limit=32_000,
        reasoning=_ROUND_TRIP,
    ),
)
PRESETS: Mapping[str, Preset] = {row.name: row for row in _PRESETS}
