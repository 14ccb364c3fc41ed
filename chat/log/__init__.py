"""The event log: the only writer of ``Event`` rows, and the only reader of their sealed halves.

Every write is one transaction; ``seq`` is taken inside it, so that it rises without gaps in a conversation. What is
private (thinking, raw arguments, raw results) goes into the sealed half and comes out for two callers only: the next
request (``history``), and a viewer whose ``Visibility`` allows it (``thinking_for``). All functions are synchronous;
asynchronous callers wrap one call, not many. Product 3, 7, 10; spec 001 BR-002; spec 002.
"""

from chat.branches import TurnRunning
from chat.log.reading import (
    history,
    kept_answer,
    kept_thinking,
    last_number,
    open_calls,
    path_to,
    question_of,
    running_turn,
    thinking_for,
    turn_rows,
    turns,
)
from chat.log.rows import SEALED_FIELDS, ThinkingText, TurnRows
from chat.log.upkeep import opened_halves, purge_thinking, rotate_keys
from chat.log.writing import (
    NotSelected,
    append,
    append_missing,
    close_turn,
    end_open_calls,
    interrupt,
    keep_question,
    locked,
    open_turn_in,
    save_checkpoint,
    save_checkpoints,
)
from chat.payloads import SCHEMA

__all__ = [
    "SCHEMA",
    "SEALED_FIELDS",
    "NotSelected",
    "ThinkingText",
    "TurnRows",
    "TurnRunning",
    "append",
    "append_missing",
    "close_turn",
    "end_open_calls",
    "history",
    "interrupt",
    "keep_question",
    "kept_answer",
    "kept_thinking",
    "last_number",
    "locked",
    "open_calls",
    "open_turn_in",
    "opened_halves",
    "path_to",
    "purge_thinking",
    "question_of",
    "rotate_keys",
    "running_turn",
    "save_checkpoint",
    "save_checkpoints",
    "thinking_for",
    "turn_rows",
    "turns",
]
