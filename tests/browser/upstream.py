"""A model to talk to: the contract server as a child process, and the words for what it is to say."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from replay_contract_server.fixture import ContractHandle
from tests.server import ROOT, stop

Delta = Mapping[str, Any]
POINTS = ("Searched the filings for the covenant.", "Quoted the passage that states it.")


@contextmanager
def contract_server(folder: Path) -> Iterator[ContractHandle]:
    """Run ``python -m replay_contract_server`` on a free port."""
    command = [sys.executable, "-m", "replay_contract_server", "--port", "0", "--port-file", str(folder / "port")]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own command
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Contract server")
        yield ContractHandle(int((folder / "port").read_text()))
    finally:
        stop(process)


def thinks(*pieces: str) -> list[Delta]:
    return [{"reasoning_content": piece} for piece in pieces]


def says(*pieces: str) -> list[Delta]:
    return [{"content": piece} for piece in pieces]


def waits(name: str) -> Delta:
    """Hold the stream here until the test releases ``name``."""
    return {"hold": name}


def calls(tool: str, *pieces: str, id_: str = "call_1") -> list[Delta]:
    """Call a tool, with its arguments in these pieces."""
    first = {"index": 0, "id": id_, "type": "function", "function": {"name": tool, "arguments": ""}}
    rest = [{"index": 0, "function": {"arguments": piece}} for piece in pieces]
    return [{"tool_calls": [delta]} for delta in (first, *rest)]


def opening(*points: str) -> str:
    """Return the text before the answer: the summary, as the instructions ask for it."""
    bullets = "\n".join(f"- {point}" for point in points or POINTS)
    return f"Reasoning Summary:\n{bullets}\n\nFinal Answer:\n"


def reply(*deltas: Delta | list[Delta], **settings: Any) -> dict[str, Any]:
    """Return one scripted reply out of deltas and lists of them."""
    flat: list[Delta] = []
    for one in deltas:
        flat += one if isinstance(one, list) else [one]
    return {"deltas": flat, **settings}


def plain(answer: str, **settings: Any) -> dict[str, Any]:
    """Return a reply that is a summary and this answer, and no thinking."""
    return reply(says(opening(), answer), **settings)
