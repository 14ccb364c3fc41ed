"""C10 to C12, K, D, E, F, H, X, V: what services want of the reasoning of earlier messages.

Kimi (K) and GLM (H) want it back, three generations of DeepSeek (D, E, F) want the opposite of one another, strict
services (X) refuse it, vLLM (V) loses it silently under another name.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from replay_contract_server.ledger import REASONING_KEYS, Step, calls_of, reasoning_texts
from replay_contract_server.rules.base import CheckedRequest, Refusal, Rule, own

# Their own rules say what an empty or null value means there.
OWN_EMPTY_RULE = frozenset({"kimi", "kimi-preserved", "deepseek-r1", "deepseek-v3.2", "deepseek-v4"})
ALWAYS_THINKING = "kimi-k2-thinking"
NOT_PRESERVED = "The reasoning of an assistant message is missing, altered or out of order."
INPUT_REFUSED = (
    "The reasoning_content is an intermediate result for display purposes only and will not be included in the context "
    "for inference. Please remove the reasoning_content from your message to reduce network traffic."
)
GUIDE = "https://api-docs.deepseek.com/guides/thinking_mode#tool-calls"
PASS_BACK = "The `reasoning_content` in the thinking mode must be passed back to the API."


def _usable_reasoning(request: CheckedRequest) -> Refusal | None:
    """C10."""
    has_own_rule = request.mode in OWN_EMPTY_RULE
    for i, message in request.assistants():
        for key in REASONING_KEYS:
            value = message.get(key)
            right_type = isinstance(value, list if key == "reasoning_details" else str)
            usable = has_own_rule if value is None else right_type and (bool(value) or has_own_rule)
            if key in message and not usable:
                return own("empty_reasoning", f"messages[{i}].{key} is empty or of the wrong type.", f"messages.[{i}]")
    return None


def _verbatim(request: CheckedRequest) -> Refusal | None:
    """C11: reasoning comes back as it was issued, with its own calls, and no more often."""
    seen: Counter[str] = Counter()
    for i, message in request.assistants():
        texts = list(reasoning_texts(message))
        seen.update(texts)
        wrong = next((found for text in texts if (found := _difference(request, message, text))), "")
        if any(0 < request.ledger.times_issued(text) < seen[text] for text in texts if text.strip()):
            wrong = wrong or "borrowed"
        if wrong:
            return own(f"reasoning_{wrong}", f"The reasoning of messages[{i}] is {wrong}.", f"messages.[{i}]")
    return None


def _difference(request: CheckedRequest, message: Mapping[str, Any], text: str) -> str:
    """Return what is wrong with a message's reasoning, according to the calls that it carries."""
    for call in calls_of(message):
        step = request.ledger.step_of_call(call["id"])
        if step is None or step.issued_as(text) or not (step.reasoning or text.strip()):
            continue
        if request.ledger.times_issued(text):
            return "borrowed"
        if step.reasoning:
            return "altered"
    return ""


def _same_arguments(request: CheckedRequest) -> Refusal | None:
    """C12."""
    for i, message in request.with_calls():
        for call in calls_of(message):
            issued = request.ledger.call(call["id"])
            if issued and issued.arguments != call["function"]["arguments"]:
                return own("arguments_altered", f"The arguments of call {issued.id} in messages[{i}] are altered.")
    return None


def _kimi_thinks(request: CheckedRequest) -> bool:
    return request.thinking_type() != "disabled"


def _may_be_disabled(request: CheckedRequest) -> Refusal | None:
    if _kimi_thinks(request) or not (request.model == ALWAYS_THINKING or request.mode == "kimi-preserved"):
        return None
    return own("thinking_always_on", "invalid thinking: this model does not support disabling it.", "thinking")


def _missing(index: int) -> Refusal:
    return Refusal(
        f"thinking is enabled but reasoning_content is missing in assistant tool call message at index {index}"
    )


def _calls_have_thinking(request: CheckedRequest) -> Refusal | None:
    without = (i for i, message in request.with_calls() if not message.get("reasoning_content"))
    index = next(without, None) if _kimi_thinks(request) else None
    return None if index is None else _missing(index)


def _tool_choice(request: CheckedRequest) -> Refusal | None:
    if not _kimi_thinks(request) or request.body.get("tool_choice") in (None, "auto", "none"):
        return None
    return own("tool_choice", "tool_choice must be auto or none while thinking is enabled.", "tool_choice")


def _issued_messages(request: CheckedRequest) -> Iterator[tuple[int, Mapping[str, Any], list[Step]]]:
    """Yield the assistant messages that this server issued with reasoning, and the steps they may have come from."""
    for i, message in request.assistants():
        steps = list(request.ledger.sources_of(message))
        if steps and all(step.reasoning for step in steps):
            yield i, message, steps


def _equals(message: Mapping[str, Any], step: Step) -> bool:
    texts = list(reasoning_texts(message))
    return bool(texts) and all(step.issued_as(text) for text in texts)


def _all_have_thinking(request: CheckedRequest) -> Refusal | None:
    for i, message, steps in _issued_messages(request):
        if not message.get("reasoning_content"):
            return _missing(i)
        if not any(_equals(message, step) for step in steps):
            return own("reasoning_altered", f"The reasoning of messages[{i}] is altered.")
    return None


def _whole_sequence(request: CheckedRequest) -> Refusal | None:
    """H1: with ``clear_thinking: false`` all reasoning comes back, in the order of issue."""
    thinking = request.body.get("thinking")
    if not isinstance(thinking, Mapping) or thinking.get("clear_thinking") is not False:
        return None
    last = -1
    for _, message, steps in _issued_messages(request):
        matching = [step.serial for step in steps if _equals(message, step) and step.serial > last]
        if not matching:
            return own("reasoning_altered", NOT_PRESERVED)
        last = matching[0]
    return None


def _no_reasoning(request: CheckedRequest) -> Refusal | None:
    return Refusal(INPUT_REFUSED) if any("reasoning_content" in one for one in request.messages) else None


def _alternate(request: CheckedRequest) -> Refusal | None:
    for i, (one, other) in enumerate(pairwise(request.messages)):
        if one["role"] == other["role"] and one["role"] in ("user", "assistant"):
            text = (
                "deepseek-reasoner does not support successive user or assistant messages "
                f"(messages[{i}] and messages[{i + 1}] in your input). "
                "You should interleave the user/assistant messages in the message sequence."
            )
            return Refusal(text, "invalid_request_error")
    return None


def _last_role(request: CheckedRequest) -> Refusal | None:
    return None if request.messages[-1]["role"] == "user" else own("last_role", "The last message must be the user's.")


def _no_tools(request: CheckedRequest) -> Refusal | None:
    return own("no_tools", "This model does not support tools.", "tools") if "tools" in request.body else None


def _no_logprobs(request: CheckedRequest) -> Refusal | None:
    given = next((name for name in ("logprobs", "top_logprobs") if name in request.body), None)
    return own("no_logprobs", f"This model does not support {given}.", given) if given else None


def _running_turn_thinks(request: CheckedRequest) -> Refusal | None:
    if request.thinking_type() not in (None, "enabled"):
        return None
    start = max((i for i, one in enumerate(request.messages) if one["role"] == "user"), default=-1)
    for i, message in request.with_calls():
        if i > start and not isinstance(message.get("reasoning_content"), str):
            where = f"the assistant message at message index {i}"
            text = f"Missing `reasoning_content` field in {where}. For more information, please refer to {GUIDE}"
            return Refusal(text)
    return None


def _calls_think(request: CheckedRequest) -> Refusal | None:
    without = [i for i, message in request.with_calls() if not message.get("reasoning_content")]
    if without and request.body.get("tools") and request.thinking_type() in (None, "enabled"):
        return Refusal(PASS_BACK, "invalid_request_error")
    return None


def _no_reasoning_keys(request: CheckedRequest) -> Refusal | None:
    for i, message in request.assistants():
        if key := next((key for key in REASONING_KEYS if key in message), None):
            place = f"messages.{i}.assistant.{key}"
            return Refusal(f"{place}: property '{place}' is unsupported", "wrong_api_format", "validation_error")
    return None


def _note_lost_reasoning(request: CheckedRequest) -> None:
    """V1: vLLM reads ``reasoning`` alone."""
    others = [key for key in REASONING_KEYS if key != "reasoning"]
    sent = [(i, one) for i, one in request.assistants() if any(one.get(key) for key in others)]
    request.record.lost_reasoning = [i for i, one in sent if not one.get("reasoning")]


VERBATIM_RULES = (Rule("C10", _usable_reasoning), Rule("C11", _verbatim), Rule("C12", _same_arguments))
KIMI_RULES = (Rule("K0", _may_be_disabled), Rule("K1", _calls_have_thinking), Rule("K2", _tool_choice))
KIMI_PRESERVED_RULES = (*KIMI_RULES, Rule("K3", _all_have_thinking))
R1_RULES = (
    Rule("D1", _no_reasoning),
    Rule("D2", _alternate),
    Rule("D3", _last_role),
    Rule("D4", _no_tools),
    Rule("D5", _no_logprobs),
)
V32_RULES = (Rule("E1", _running_turn_thinks),)
V4_RULES = (Rule("F1", _calls_think),)
GLM_RULES = (Rule("H1", _whole_sequence),)
STRICT_RULES = (Rule("X1", _no_reasoning_keys),)
VLLM_RULES = (Rule("V1", _note_lost_reasoning),)
