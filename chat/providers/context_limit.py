"""How long a request may be, as a service says it itself: in its list of models, or in a refusal (product 23)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MIN_LIMIT, MAX_LIMIT = 256, 100_000_000  # tokens; anything else is not a context limit
# Where /v1/models has it, by service: OpenRouter, vLLM, Groq, Mistral, LM Studio, llama.cpp (in "meta"), LiteLLM. What
# a model was trained with (n_ctx_train) may be far more than its server was started with.
_LISTED = (
    *("context_length", "max_model_len", "context_window", "max_context_length", "loaded_context_length", "n_ctx"),
    *("max_input_tokens", "inputTokenLimit", "input_token_limit"),
)
_NUMBER = r"(\d[\d,_]{2,11})"
# What a refusal says, the plainest first. Each has one number: the limit, not the size of the request.
_REFUSALS = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        rf"\bn_ctx[\\\"']*\s*[:=]\s*{_NUMBER}",
        rf"(?:maximum|max|model's|available) (?:model )?(?:context|prompt) (?:length|size|window)\b.{{0,24}}?{_NUMBER}",
        rf"context (?:length|size|window) (?:of|is|limit)(?: only)?\D{{0,24}}{_NUMBER}",
        rf"\d\s*(?:tokens? )?>\s*{_NUMBER}(?:\s*(?:tokens?|maximum))?",
        rf"max\w* (?:number of )?(?:input |prompt )?tokens?(?: allowed| count)?\W{{0,4}}(?:is |of )?{_NUMBER}",
        rf"exceed\w* (?:the )?(?:model )?(?:token )?limit(?: of|:| is)? ?\(?{_NUMBER}",
        rf"max_(?:new_)?tokens\W+must be\W+<=?\W*{_NUMBER}",
        rf"must have less than {_NUMBER} tokens",
        rf"input length should be \[\d+,\s*{_NUMBER}",
        rf"limit(?:ed)? (?:of|to|is) {_NUMBER} tokens",
    )
)


def listed_limit(row: Mapping[str, Any]) -> int | None:
    """Return the context limit in a row of ``/v1/models``, in tokens; None where there is none."""
    places = [row, *(row[name] for name in ("meta", "model_info", "limits", "top_provider") if name in row)]
    values = (place.get(name) for place in places if isinstance(place, Mapping) for name in _LISTED)
    return next((value for value in values if type(value) is int and MIN_LIMIT <= value <= MAX_LIMIT), None)


def stated_limit(refusal: str) -> int | None:
    """Return the context limit that the text of a refusal states, in tokens; None where it states none."""
    for pattern in _REFUSALS:
        for found in pattern.finditer(refusal[:20_000]):
            value = int(re.sub(r"\D", "", found[1]))
            if MIN_LIMIT <= value <= MAX_LIMIT:
                return value
    return None
