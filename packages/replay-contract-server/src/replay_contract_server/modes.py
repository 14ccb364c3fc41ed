"""The modes: which models have one, what its replies look like and which rules its requests must follow.

A new dialect adds a row here and its rules under ``rules``.
"""

from dataclasses import dataclass

from replay_contract_server.rules.abilities import ABILITY_RULES
from replay_contract_server.rules.base import CHAT_PATH, RESPONSES_PATH, Rule
from replay_contract_server.rules.chat import SHAPE_RULES
from replay_contract_server.rules.general import GENERAL_RULES
from replay_contract_server.rules.opaque import DETAILS_RULES, SIGNED_RULES
from replay_contract_server.rules.responses import RESPONSES_RULES
from replay_contract_server.rules.thinking import (
    GLM_RULES,
    KIMI_PRESERVED_RULES,
    KIMI_RULES,
    R1_RULES,
    STRICT_RULES,
    V4_RULES,
    V32_RULES,
    VERBATIM_RULES,
    VLLM_RULES,
)


@dataclass(frozen=True, slots=True)
class Mode:
    """One row: ``field`` is the key that its replies carry reasoning under; ``rules`` are checked in order."""

    models: tuple[str, ...]
    rules: tuple[Rule, ...]
    field: str = "reasoning_content"
    path: str = CHAT_PATH
    signs_calls: bool = False


BASE_RULES = (*GENERAL_RULES, *SHAPE_RULES, *ABILITY_RULES, *VERBATIM_RULES)
MODES: dict[str, Mode] = {
    "openai-chat": Mode(("plain-model", "generic-openai-compatible"), BASE_RULES),
    "strict-chat": Mode(("strict-model",), (*BASE_RULES, *STRICT_RULES)),
    "kimi": Mode(("kimi-k2-thinking", "kimi-k2.6"), (*BASE_RULES, *KIMI_RULES)),
    "kimi-preserved": Mode(("kimi-k2.7-code",), (*BASE_RULES, *KIMI_PRESERVED_RULES)),
    "deepseek-r1": Mode(("deepseek-r1",), (*BASE_RULES, *R1_RULES)),
    "deepseek-v3.2": Mode(("deepseek-v3.2",), (*BASE_RULES, *V32_RULES)),
    "deepseek-v4": Mode(("deepseek-v4-pro", "deepseek-v4-flash"), (*BASE_RULES, *V4_RULES)),
    "glm-preserved": Mode(("glm-4.7",), (*BASE_RULES, *GLM_RULES)),
    "vllm": Mode(("qwen3-local",), (*BASE_RULES, *VLLM_RULES), "reasoning"),
    "details": Mode(("vendor/model-a",), (*BASE_RULES, *DETAILS_RULES), "reasoning"),
    "signed-calls": Mode(("signed-model",), (*BASE_RULES, *SIGNED_RULES), signs_calls=True),
    "responses-strict": Mode(
        ("gpt-5-mini", "gpt-5.4"), (*GENERAL_RULES, *RESPONSES_RULES, *ABILITY_RULES), path=RESPONSES_PATH
    ),
}


def mode_of_model(model: str) -> str | None:
    """Return the mode of a model in the table."""
    return next((name for name, mode in MODES.items() if model in mode.models), None)
