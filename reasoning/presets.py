"""Ready-made model profiles, dated 2026-11: where well-known services answer, and what their models need.

Staff add them in the admin and change what they like; people load the reasoning half by its name
(``/profile load kimi``). Replay decision D4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

_ROUND_TRIP = {"reasoning.includeInContext": True, "reasoning.stripFromContext": "none"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """One service's usual model. ``reasoning`` holds only what differs from the built-in settings."""

    name: str
    label: str
    base_url: str
    model: str
    dialect: str
    api: Literal["chat", "responses"] = "chat"
    api_key_env: str = ""
    context_limit: int | None = None
    reasoning: Mapping[str, Any] = field(default_factory=dict)
    starts_in_reasoning: bool = False


_ROWS = (
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
PRESETS: Mapping[str, Preset] = {row.name: row for row in _ROWS}
