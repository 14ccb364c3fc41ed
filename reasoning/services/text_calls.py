"""Tool calls that a model wrote as text, since its service has no parser for them. Product 39."""

from __future__ import annotations

import re

# What begins such a call at the beginning of a line, and the models that write it.
CALL_MARKS = {
    "<tool_call>": "Qwen, Hermes, GLM",
    "<function=": "Qwen3-Coder, Llama",
    "<function_call>": "Granite, Nemotron",
    "<function_calls>": "Claude, DeepSeek",
    "<tool_calls>": "Hunyuan, Jamba",
    "<TOOLCALL>": "Nemotron",
    "<tool_code>": "Gemma",
    "```tool_code": "Gemma, Gemini",
    "```tool_call": "Nemotron",
    "[TOOL_CALLS]": "Mistral",
    "<|python_tag|>": "Llama 3",
    "<|python_start|>": "Llama 4",
    "<|tool_call|>": "Granite, Phi",
    "<|tool_call_begin|>": "Kimi",
    "<|tool_call_start|>": "LFM",
    "<|tools_prefix|>": "Apertus",
    "<|tool_calls_section_begin|>": "Kimi-K2",
    "<|tool_call>": "Gemma 4",
    "<|action_start|>": "InternLM",
    "<|START_ACTION|>": "Command A",
    "<|channel|>commentary to=": "gpt-oss",
    "<|start|>assistant<|channel|>commentary to=": "gpt-oss with the beginning of its message",
    "commentary to=functions.": "gpt-oss without its special tokens",
    "<｜tool▁calls▁begin｜>": "DeepSeek V3",
    "<｜DSML｜": "DeepSeek V3.2, V4",
    "<｜｜DSML｜｜": "DeepSeek V4, with signs that gateways double or replace",
    "<‖DSML‖": "the same",
    "<|DSML|": "the same",
    "<||DSML||": "the same",
    "< | DSML |": "the same",
    "<｜tool_calls_begin｜>": "Step",
    "<minimax:tool_call>": "MiniMax-M2",
    "<seed:tool_call>": "Seed-OSS",
    "<longcat_tool_call>": "LongCat",
    "functools[": "Phi-4-mini",
    "<|tool_calls_begin|>": "DeepSeek in ASCII letters",
    "<|tool_calls|>": "Phi, Granite",
    "<tools>": "Hermes, Qwen",
    "<tool_use>": "prompts written for Claude",
    "<toolcall>": "Nemotron",
    "<xai:function_call": "Grok",
    "<steptml:toolcall>": "Step-3",
    "<invoke name=": "Claude, MiniMax and DeepSeek without the outer mark",
    "<arg_key>": "GLM without the outer mark",
    "<｜tool▁call▁begin｜>": "DeepSeek V3 without the outer mark",
    "<|tool▁calls▁begin|>": "DeepSeek with ASCII bars",
}
# A call without a mark is the whole answer: its pattern, and an example. No run of blanks can be divided in two ways,
# or a long one would take for ever: they are possessive, and never behind or before what takes them too.
MAX_BARE_CHARS = 64 * 1024  # that are looked at
_JSON_CALL = (
    r'\{\s*+(?:"(?:type|id|tool_call_id)"\s*+:\s*+"[^"\n]*"\s*+,\s*+)*"(?:name|tool|tool_name|function)"\s*+:\s*+'
    r'"[\w.:-]+"\s*+,'
    r'\s*+"(?:parameters|arguments|args|tool_input)"\s*+:\s*+"?\{.*\}"?\s*+\}'
)
BARE_CALLS = (
    (_JSON_CALL, '{"name": "search", "parameters": {"query": "debt"}}'),  # Llama 3, Granite
    (
        rf"```(?:json|tool|JSON)?\s*+\[?\s*+{_JSON_CALL}\s*+\]?\s*+```",
        '```json\n{"name": "search", "arguments": {"query": "debt"}}\n```',
    ),
    (rf"\[\s*+{_JSON_CALL}\s*+\]", '[{"name": "search", "arguments": "{\\"query\\": \\"debt\\"}"}]'),  # xLAM, Granite
    (r'\{\s*+"tool_calls"\s*+:\s*+\[\s*+\{.*\}\s*+\]\s*+\}', '{"tool_calls": [{"function": {"name": "search"}}]}'),
    (  # Command R
        rf"(?:Plan:.*)?Action:\s*+```(?:json)?\s*+\[?\s*+{_JSON_CALL}\s*+\]?\s*+```",
        'Action: ```json\n[{"tool_name": "search", "parameters": {"query": "debt"}}]\n```',
    ),
    # Kimi, Mistral and Gemma 4 without their special tokens.
    (r'(?:functions\.)?\w+(?::\d+)?\s*+\{\s*+"\w+"\s*+:.*\}', 'functions.search:0{"query": "debt"}'),
    (r"call:\w+\{.*\}", "call:search{query:debt}"),
    (  # prompts of the ReAct kind
        r"(?:Thought:.*\n[ \t]*+)?Action:[ \t]*+[`\w.-]+[ \t]*+\n\s*+Action Input:.*",
        'Action: search\nAction Input: {"query": "debt"}',
    ),
    (r"\[\w[\w.]*\(\w+=.*\)\]", '[search(query="debt")]'),  # Llama 4, OLMo
)
_BARE = tuple(re.compile(pattern, re.DOTALL) for pattern, _example in BARE_CALLS)
_MARK = re.compile(rf"[ \t]*(?:{'|'.join(map(re.escape, CALL_MARKS))})")
# Behind a sentence a mark counts only with what a call begins with: prose may name it.
_MARK_BEHIND = re.compile(rf"[.!?:…] (?:{'|'.join(map(re.escape, CALL_MARKS))})\s*(?:$|[{{\[<])")
_FENCE = re.compile(r"[ \t]*(?:`{3}|~{3})")


def has_text_call(answer: str) -> bool:
    """Say whether a line of the answer begins a tool call, outside code."""
    whole = answer.strip()
    if len(whole) <= MAX_BARE_CHARS and any(bare.fullmatch(whole) for bare in _BARE):
        return True
    if not any(mark in answer for mark in CALL_MARKS):
        return False
    in_fence = False
    for line in answer.splitlines():
        if not in_fence and (_MARK.match(line) or _MARK_BEHIND.search(line)):
            return True
        in_fence ^= _FENCE.match(line) is not None
    return False
