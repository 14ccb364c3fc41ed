"""How services say that a request is too long: (text, code). Shortened; codes differ as much, and some have none."""

from __future__ import annotations

WORDINGS: tuple[tuple[str, str | int | None], ...] = (
    ("This model's maximum context length is 8192 tokens. Please reduce the length.", "context_length_exceeded"),
    ("Your input exceeds the context window of this model.", "context_length_exceeded"),
    ("prompt is too long: 210000 tokens > 200000 maximum", None),
    ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 400),
    ("the request exceeds the available context size, try increasing it", "exceed_context_size_error"),
    ("Input validation error: inputs tokens + max_new_tokens must be <= 4096", "validation"),
    ("Range of input length should be [1, 129024]", "invalid_parameter_error"),
    ("Your request exceeded model token limit: 262144 (requested: 300000)", "invalid_request_error"),
    ("This model's maximum prompt length is 131072 but the request contains 537812 tokens.", None),
    ("Please reduce the length of the messages or completion.", "context_length_exceeded"),
    ("This endpoint's maximum context length is 131072 tokens. However, you requested about 200000 tokens.", 400),
    ("prompt token count of 70000 exceeds the limit of 64000", "model_max_prompt_tokens_exceeded"),
    ("invalid params, context window exceeds limit", 2013),
)
