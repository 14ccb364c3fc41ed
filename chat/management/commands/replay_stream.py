"""``replay_stream``: run a captured provider response through the real pipeline and print its channels as JSON.

It uses the decoders, normaliser and section parser of a turn. The text of a scratchpad is never printed.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from chat.management.recordings import MAX_BYTES, Recording, RecordingError, read_recording
from chat.texts.error_texts import failure_text
from reasoning.deltas import Channel, Delta, RawFields, RawItem, RawUsage
from reasoning.scratchpad import Scratchpad
from reasoning.stream.normalizer import Normalizer
from reasoning.stream.sections import SectionParser, Sections


def replay_recording(recording: Recording, *, starts_in_reasoning: bool = False) -> dict[str, Any]:
    """Return what the command prints: the channels of one response, without the text of a scratchpad."""
    normalizer = Normalizer(starts_in_reasoning=starts_in_reasoning)
    messages: list[Sections] = []
    visible: list[str] = []  # of the present message
    number = 0
    calls: dict[int, dict[str, str]] = {}
    has_scratchpad = False

    def read(deltas: Iterable[Delta]) -> None:
        nonlocal has_scratchpad
        for delta in deltas:
            if isinstance(delta.text, Scratchpad):
                has_scratchpad = True
            elif delta.channel is Channel.VISIBLE:
                visible.append(delta.text)
            elif delta.channel is Channel.TOOL:
                call = calls.setdefault(delta.index or 0, {"name": "", "arguments": ""})
                call["name"] = call["name"] or delta.name or ""
                call["arguments"] += delta.text

    for raw in recording.deltas:
        if isinstance(raw, RawFields):
            # Each message item has sections of its own.
            if raw.message != number and "content" in raw.fields:
                read(normalizer.end_message())
                messages.append(sections_of(visible))
                number, visible = raw.message, []
            read(normalizer.feed(raw.fields))
    read(normalizer.finish())
    messages.append(sections_of(visible))
    items = [raw.item for raw in recording.deltas if isinstance(raw, RawItem) and raw.item.get("type") == "reasoning"]
    usage = [raw for raw in recording.deltas if isinstance(raw, RawUsage)]
    counters = normalizer.counters
    form: dict[str, Any] = {
        "visible": "\n\n".join(message.answer for message in messages if message.answer),
        "thinking": normalizer.thinking,
        "summary": next((list(message.summary) for message in reversed(messages) if message.summary), []),
        "tool_calls": [call for _index, call in sorted(calls.items())],
        "reasoning_items": [
            {"id": item.get("id"), "has_encrypted_content": bool(item.get("encrypted_content"))} for item in items
        ],
        "usage": asdict(usage[-1]) if usage else None,
        "counters": {
            "stripped_delimiters": counters.stripped_delimiters,
            "extracted_blocks": counters.extracted_blocks,
            "native_reasoning": counters.native_reasoning,
        },
    }
    if has_scratchpad:
        form["scratchpad"] = True
    if recording.failure:
        form["error"] = {"code": recording.failure.code, "message": failure_text(recording.failure, for_staff=True)}
    return form


def sections_of(visible: Sequence[str]) -> Sections:
    """Return the sections of one message that went through the normaliser."""
    parser = SectionParser()
    answer = "".join(map(parser.feed, visible)) + parser.finish()
    return Sections(tuple(parser.bullets), answer)


class Command(BaseCommand):
    """Run recorded streams through the turn machine."""

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
        form = replay_recording(recording, starts_in_reasoning=options["starts_in_reasoning"])
        self.stdout.write(json.dumps(form, ensure_ascii=False, indent=2))
