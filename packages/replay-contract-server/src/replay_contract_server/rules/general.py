"""G1 to G5: what holds for every request, whatever the dialect."""

import json
from collections.abc import Mapping
from typing import Any

from replay_contract_server.rules.base import RESPONSES_PATH, CheckedRequest, Refusal, Rule, own

REASONING_CONTROLS = ("reasoning", "reasoning_effort", "thinking")
PAIR_MODES = ("deepseek-r1", "deepseek-v3.2", "deepseek-v4", "glm-preserved")
CHAT_PARAMS = (
    "frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens messages metadata "
    "modalities model n parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_retention "
    "reasoning reasoning_effort response_format safety_identifier seed service_tier stop store stream stream_options "
    "temperature thinking tool_choice tools top_logprobs top_p user verbosity web_search_options"
)
RESPONSES_PARAMS = (
    "background context_management conversation include input instructions max_output_tokens max_tool_calls metadata "
    "model parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_retention reasoning "
    "safety_identifier service_tier store stream stream_options temperature text tool_choice tools top_logprobs top_p "
    "truncation user"
)
MODE_PARAMS = {
    "vllm": "chat_template_kwargs include_reasoning min_p repetition_penalty stop_token_ids top_k enable_thinking",
    "details": "include_reasoning models provider route top_k transforms usage",
    "glm-preserved": "do_sample request_id tool_stream user_id",
}

G1 = Refusal("We could not parse the JSON body of your request.")
G2 = Refusal("Incorrect API key provided.", "invalid_api_key", status=401)


def read_object(raw: bytes) -> Mapping[str, Any] | None:
    """G1: return the body if it is a JSON object that names a model."""
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) and isinstance(body.get("model"), str) and body["model"] else None


def bearer_of(headers: Mapping[str, str]) -> str:
    """G2: return the bearer token; empty if there is none."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _fits_context(request: CheckedRequest) -> Refusal | None:
    limit = request.knobs.context_limit
    if limit is None or -(-len(json.dumps(request.messages or request.input).encode()) // 4) <= limit:
        return None
    if request.knobs.states_limit:
        return Refusal(f"the request exceeds the available context size ({limit} tokens), try increasing it")
    return Refusal("Your input exceeds the context window of this model.", "context_length_exceeded")


def _known_params(request: CheckedRequest) -> Refusal | None:
    common = RESPONSES_PARAMS if request.record.path == RESPONSES_PATH else CHAT_PARAMS
    known = {*common.split(), *MODE_PARAMS.get(request.mode, "").split()}
    unknown = next((name for name in request.body if name not in known), None)
    return Refusal(f"Unknown parameter: '{unknown}'.", "unknown_parameter", unknown) if unknown else None


def _one_reasoning_control(request: CheckedRequest) -> Refusal | None:
    given = {name for name in REASONING_CONTROLS if name in request.body}
    if len(given) < 2 or (request.mode in PAIR_MODES and given == {"thinking", "reasoning_effort"}):
        return None
    return own("conflicting_reasoning_controls", f"More than one reasoning control: {', '.join(sorted(given))}.")


GENERAL_RULES = (Rule("G3", _fits_context), Rule("G4", _known_params), Rule("G5", _one_reasoning_control))
