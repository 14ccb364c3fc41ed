"""What services say of their models: names and context limits in a listing, the limit in a refusal (product 23)."""

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
_SIZE = r"(?:context|prompt|sequence|input) (?:length|size|window)"
# What a refusal says, the plainest first. Each has one number: the limit, not the size of the request.
_REFUSALS = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        rf"\bn_ctx[\\\"']*\s*[:=]?\s*{_NUMBER}",
        rf"\bmax_(?:seq_len|model_len|num_tokens|prompt_tokens|input_tokens|input_length|total_tokens|position_embeddings)\b"
        rf"\W{{0,4}}(?:is |of )?{_NUMBER}",
        rf"model context \({_NUMBER}\)",
        rf"must not exceed {_NUMBER}",
        rf"(?:max(?:imum)?|model(?:'s)?|available) (?:model |allowed )?{_SIZE}\b(?:(?! by\b).){{0,24}}?{_NUMBER}",
        rf"{_SIZE} (?:of|is|limit)(?: only)?(?! \()\D{{0,24}}{_NUMBER}",
        rf"exceed\w* (?:the )?max\w* (?:allowed )?(?:context|(?:\w+ )?length)\W+(?:of )?{_NUMBER}",
        rf"\d\s*(?:tokens? )?>\s*{_NUMBER}(?:\s*(?:tokens?|maximum))?",
        rf"max\w* (?:number of )?(?:input |prompt |message )?tokens?(?: allowed| count)?\W{{0,4}}(?:is |of )?{_NUMBER}",
        rf"(?:exceed\w*|over) (?:the )?(?:model )?(?:token )?limit(?: of |: | is | )?{_NUMBER}",
        # A number in brackets may be a code instead, where the size of the request isn't said.
        rf"\d{{3}}\D{{1,60}}exceed\w* (?:\w+ ){{0,2}}?(?:token |context |window )*limit ?\({_NUMBER}",
        rf"exceed\w* (?:the )?model'?s? limit(?: of|:| is)? ?\(?{_NUMBER}",
        rf"max_(?:new_)?tokens\W+must be\W+<=?\W*{_NUMBER}",
        rf"must have less than {_NUMBER} tokens",
        rf"input length should be \[\d+,\s*{_NUMBER}",
        rf"limit(?:ed)?(?: for this model)? (?:of|to|is) {_NUMBER} tokens",
        rf"while (?:the )?limit is {_NUMBER}",
        rf"supports? (?:(?:only|at most|up to|a maximum of) )+{_NUMBER}(?! (?:completion|output))",
        rf"\bmax size: {_NUMBER} tokens",
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


def listed_models(listing: Any) -> list[str]:
    """Return the names in a listing of models, in its order."""
    names = [name_in(row) for row in listed_rows(listing)]
    return [name for name in names if isinstance(name, str) and name]


def limit_of(model: str, listing: Any) -> int | None:
    """Return the context limit of a model in a listing, in tokens."""
    rows = [row for row in listed_rows(listing) if isinstance(row, dict)]
    return next((listed_limit(row) for row in rows if name_in(row) == model), None)


def listed_rows(listing: Any) -> list[Any]:
    """Return the rows of a listing: OpenAI's form, a bare list, Ollama's ``models``."""
    if isinstance(listing, dict):
        listing = listing.get("data") or listing.get("models")
    return listing if isinstance(listing, list) else []


def name_in(row: Any) -> Any:
    return row.get("id") or row.get("name") or row.get("model") if isinstance(row, dict) else row
