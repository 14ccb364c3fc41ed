"""Scripted output items of the Responses API, for replies whose order matters: reasoning, call, reasoning, call."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class _Item(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="type"):
    pass


class ReasoningScript(_Item, frozen=True, tag="reasoning"):
    """``summary`` is the provider's account of it, a text or a list of parts; ``text`` the raw thought, seldom sent.

    ``encrypted_content`` replaces the seal, for upstreams that send none, or an empty one.
    """

    summary: str | list[str] = []
    text: str = ""
    id: str | None = None
    encrypted_content: str | None = None


class MessageScript(_Item, frozen=True, tag="message"):
    text: str
    id: str | None = None


class CallScript(_Item, frozen=True, tag="function_call"):
    """``arguments`` as in a scripted tool call."""

    name: str
    arguments: str | dict[str, Any] = "{}"
    call_id: str | None = None
    id: str | None = None


class RawScript(_Item, frozen=True, tag="raw"):
    """Any other kind of item, sent as it stands, without deltas."""

    item: dict[str, Any]


class HoldScript(_Item, frozen=True, tag="hold"):
    """No item: the stream waits here for the release of ``name``."""

    name: str


ItemScript = ReasoningScript | MessageScript | CallScript | RawScript | HoldScript
