"""``replay_stream``: a captured provider response through the real pipeline, as JSON.

The same decoders, normaliser and section parser that a turn uses. What a scratchpad held is never printed, only that
there was one.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from chat.providers.cassettes import MAX_BYTES, RecordingError
from chat.providers.recorded import Recording, read_recording
from reasoning.deltas import Channel, Delta, RawDelta, RawFields, RawItem, RawUsage
from reasoning.normalizer import Normalizer
from reasoning.scratchpad import Scratchpad
from reasoning.sections import SectionParser


class Replay:
    """The channels of one response, collected."""

    def __init__(self, *, starts_in_reasoning: bool = False) -> None:
        self._normalizer = Normalizer(starts_in_reasoning=starts_in_reasoning)
        self._sections = SectionParser()
        self._answer: list[str] = []
        self._summary: list[str] = []
        self._calls: dict[int, dict[str, str]] = {}
        self._items: list[RawItem] = []
        self._usage: RawUsage | None = None
        self._has_scratchpad = False

    def run(self, recording: Recording) -> dict[str, Any]:
        """Return the JSON form that the command prints."""
        for raw in recording.deltas:
            self._take(raw)
        self._channelled(self._normalizer.finish())
        self._sectioned(self._sections.finish())
        form = self._form()
        if self._has_scratchpad:
            form["scratchpad"] = True
        if recording.failure:
            form["error"] = {"code": recording.failure.code, "message": recording.failure.message}
        return form

    def _take(self, raw: RawDelta) -> None:
        match raw:
            case RawFields(fields):
                self._channelled(self._normalizer.feed(fields))
            case RawItem(_, item) if item.get("type") != "message":  # which is a mere mark of its place
                self._items.append(raw)
            case RawUsage():
                self._usage = raw

    def _channelled(self, deltas: Sequence[Delta]) -> None:
        for delta in deltas:
            if isinstance(delta.text, Scratchpad):
                self._has_scratchpad = True
            elif delta.channel is Channel.VISIBLE:
                self._sectioned(self._sections.feed(delta.text))
            elif delta.channel is Channel.TOOL:
                self._called(delta, delta.text)

    def _sectioned(self, deltas: Sequence[Delta]) -> None:
        for delta in deltas:
            if not isinstance(delta.text, Scratchpad):
                (self._summary if delta.channel is Channel.SUMMARY else self._answer).append(delta.text)

    def _called(self, delta: Delta, piece: str) -> None:
        call = self._calls.setdefault(delta.index or 0, {"name": "", "arguments": ""})
        call["name"] = call["name"] or delta.name or ""
        call["arguments"] += piece

    def _form(self) -> dict[str, Any]:
        counters = self._normalizer.counters
        return {
            "visible": "".join(self._answer),
            "thinking": self._normalizer.thinking,
            "summary": self._summary,
            "tool_calls": [call for _, call in sorted(self._calls.items())],
            "reasoning_items": [_item(raw.item) for raw in self._items if raw.item.get("type") == "reasoning"],
            "usage": asdict(self._usage) if self._usage else None,
            "counters": {
                "stripped_delimiters": counters.stripped_delimiters,
                "extracted_blocks": counters.extracted_blocks,
                "native_reasoning": counters.native_reasoning,
            },
        }


def _item(item: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": item.get("id"), "has_encrypted_content": bool(item.get("encrypted_content"))}


class Command(BaseCommand):
    """See the module."""

    help = "Run a captured provider response through the real pipeline and print its channels as JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="event stream, JSON body, JSON chunks one a line, or a cassette")
        parser.add_argument("--format", choices=["json"], default="json", help="JSON is the only one so far")
        parser.add_argument("--exchange", type=int, default=0, metavar="N", help="which exchange of a cassette, from 0")
        parser.add_argument("--starts-in-reasoning", action="store_true", help="the template wrote the opening tag")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        try:
            with path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
            recording = read_recording(data, exchange=options["exchange"])
        except OSError as error:
            raise CommandError(f"{path}: {error.strerror}") from error
        except RecordingError as error:
            raise CommandError(f"{path}: {error}") from error
        form = Replay(starts_in_reasoning=options["starts_in_reasoning"]).run(recording)
        self.stdout.write(json.dumps(form, ensure_ascii=False, indent=2))
