"""The event log: the only writer of ``Event`` rows, and the only package that decrypts their private payloads.

Every write is one transaction; ``seq`` is assigned inside it, so it rises without gaps in a conversation. What is
private (thinking, raw arguments, raw results) is encrypted. It is decrypted for the next request (``history``), for a
turn that is continued, and for a viewer whose ``Visibility`` allows it (``thinking_for``); ``audit_storage`` searches
it. All functions are synchronous.
Product 3, 7, 10; spec 001 BR-002; spec 002.
"""

from chat.eventlog.branches import TurnRunningError
from chat.eventlog.leases import LeaseLostError
from chat.eventlog.read import (
    as_it_was,
    history,
    question_of,
    sources_of,
    thinking_for,
    thinking_of,
    turn_record,
    turns,
)
from chat.eventlog.serialization import ThinkingText, TurnRecord, record_of
from chat.eventlog.write import (
    EndedTurn,
    InactiveBranchError,
    LogPosition,
    add_ended_turns,
    append,
    close_turn,
    lock_conversation,
    open_beside,
    open_turn,
    read_position,
    reopen_turn,
    save_unasked,
)

__all__ = [
    "EndedTurn",
    "InactiveBranchError",
    "LeaseLostError",
    "LogPosition",
    "ThinkingText",
    "TurnRecord",
    "TurnRunningError",
    "add_ended_turns",
    "append",
    "as_it_was",
    "close_turn",
    "history",
    "lock_conversation",
    "open_beside",
    "open_turn",
    "question_of",
    "read_position",
    "record_of",
    "reopen_turn",
    "save_unasked",
    "sources_of",
    "thinking_for",
    "thinking_of",
    "turn_record",
    "turns",
]
