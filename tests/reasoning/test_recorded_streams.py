"""Recorded responses of real services, cut anew: the same channels, and no delimiter in the answer.

The recordings lie in ``SHARED_DIR/streams``; none is part of this project. Since they never split a tag, native text is
also told again as tagged text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from reasoning.tagscan import has_delimiter
from tests.reasoning.streamed import Channels, channels, recut, two_ways

Delta = Mapping[str, Any]
_DATA = re.compile(r"^data: ?(\{.*)$", re.MULTILINE)


class _Loader(yaml.CSafeLoader):
    """Reads unknown tags, such as binary ones, as what they wrap."""


_Loader.add_multi_constructor("!", lambda loader, _suffix, node: loader.construct_scalar(node))


@pytest.fixture
def responses(shared_dir: Path) -> tuple[tuple[Delta, ...], ...]:
    return _read_all(shared_dir / "streams")


@pytest.mark.spec("003 invariant 3")
def test_recordings_are_the_same_however_cut(responses: tuple[tuple[Delta, ...], ...]) -> None:
    assert len(responses) > 50

    for deltas in responses:
        whole = channels(deltas)
        assert all(channels(recut(deltas, seed)) == whole for seed in (1, 2))


@pytest.mark.spec("003 invariant 1")
def test_recordings_show_no_delimiter(responses: tuple[tuple[Delta, ...], ...]) -> None:
    assert [result for result in map(channels, responses) if has_delimiter(result.visible)] == []


@pytest.mark.spec("003 invariant 2")
def test_recordings_keep_their_native_text(responses: tuple[tuple[Delta, ...], ...]) -> None:
    checked = 0
    for deltas in responses:
        native = "".join(_native(delta) for delta in deltas)
        if native:
            checked += 1
            assert channels(deltas).kept == native

    assert checked > 20


def test_recordings_keep_their_answer(responses: tuple[tuple[Delta, ...], ...]) -> None:
    for deltas in responses:
        content = "".join(_content(delta) for delta in deltas)
        if "<" not in content:
            assert channels(deltas).visible == content.strip()


@pytest.mark.spec("003 case 3")
@pytest.mark.parametrize("tag", ["think", "thinking", "REASONING"])
def test_native_text_told_as_tagged_text_is_found_again(responses: tuple[tuple[Delta, ...], ...], tag: str) -> None:
    for deltas in responses:
        native, content = "".join(map(_native, deltas)), "".join(map(_content, deltas))
        if native.strip() and "<" not in native + content:
            told = [{"content": f"<{tag}>\n{native}\n</{tag}>\n\n{content}"}]
            results = [channels(told), channels(recut(told, 3))]
            assert {(result.visible, result.thinking) for result in results} == {(content.strip(), native.strip())}


def test_tagged_recording_is_the_same_for_every_cut_of_its_tags(responses: tuple[tuple[Delta, ...], ...]) -> None:
    tagged = [text for text in ("".join(map(_content, deltas)) for deltas in responses) if "<think>" in text]
    assert tagged

    for text in tagged:
        start, end = text.index("<think>"), text.find("</think>")
        short = text[start : start + 20] + (text[end - 10 : end + 30] if end > 0 else "")
        assert len({_told(pieces) for pieces in two_ways(short)}) == 1


def _told(pieces: tuple[str, str]) -> Channels:
    return channels({"content": piece} for piece in pieces)


@cache
def _read_all(folder: Path) -> tuple[tuple[Delta, ...], ...]:
    found = (tuple(deltas) for path in sorted(folder.rglob("*")) if path.is_file() for deltas in _read(path))
    return tuple(deltas for deltas in found if deltas)


def _read(path: Path) -> Iterator[list[Delta]]:
    """Yield the deltas of each chat-completions response in the file."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if "choices" not in text:
        return
    if path.name.endswith(".chunks.txt"):
        yield [delta for line in text.splitlines() if line.strip() for delta in _deltas(line)]
    elif path.suffix == ".json":
        yield list(_deltas(text))
    elif path.suffix in (".yaml", ".yml"):
        for exchange in _exchanges(yaml.load(text, Loader=_Loader)):  # noqa: S506
            yield list(_body(exchange.get("response", {})))


def _exchanges(cassette: Any) -> list[Any]:
    if not isinstance(cassette, dict):
        return []
    return cassette.get("interactions") or cassette.get("http_interactions") or []


def _body(response: Mapping[str, Any]) -> Iterator[Delta]:
    parsed, body = response.get("parsed_body"), response.get("body")
    text = body.get("string", "") if isinstance(body, dict) else body
    if isinstance(parsed, dict):
        yield from _deltas(json.dumps(parsed))
    elif isinstance(text, str) and text.lstrip().startswith("{"):
        yield from _deltas(text)
    elif isinstance(text, str):
        yield from (delta for payload in _DATA.findall(text) for delta in _deltas(payload))


def _deltas(payload: str) -> Iterator[Delta]:
    try:
        chunk = json.loads(payload)
    except ValueError:
        return
    choices = chunk.get("choices") if isinstance(chunk, dict) else None
    for choice in choices if isinstance(choices, list) else []:
        delta = (choice.get("delta") or choice.get("message")) if isinstance(choice, dict) else None
        if isinstance(delta, dict):
            yield delta


def _native(delta: Delta) -> str:
    details = delta.get("reasoning_details") or []
    told = "".join(element.get("text") or element.get("summary") or "" for element in details)
    return delta.get("reasoning_content") or delta.get("reasoning") or told


def _content(delta: Delta) -> str:
    content = delta.get("content") or ""
    if isinstance(content, list):
        return "".join(part["text"] for part in content if part["type"] == "text")
    return str(content)
