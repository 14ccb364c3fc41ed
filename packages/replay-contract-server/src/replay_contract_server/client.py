"""A raw client for tests: it sends a request over one socket and stores every byte of the answer."""

import json
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from replay_contract_server.fixture import ContractHandle
from replay_contract_server.rules.base import CHAT_PATH, RESPONSES_PATH

STATELESS = {"store": False, "include": ["reasoning.encrypted_content"]}
KEY = {"Authorization": "Bearer test"}
TIMEOUT_S = 30


@dataclass(frozen=True, slots=True)
class RawResponse:
    """An answer as received; ``writes`` are its transfer chunks, or its one body."""

    raw: bytes

    @property
    def status(self) -> int:
        return int(self.raw.split(b" ", 2)[1])

    @property
    def headers(self) -> dict[str, str]:
        lines = self.raw.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
        return {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}

    @property
    def writes(self) -> list[bytes]:
        rest, parts = self.raw.partition(b"\r\n\r\n")[2], []
        if "transfer-encoding" not in self.headers:
            return [rest]
        while rest and (size := int(rest.partition(b"\r\n")[0], 16)):
            start = rest.index(b"\r\n") + 2
            parts.append(rest[start : start + size])
            rest = rest[start + size + 2 :]
        return parts

    @property
    def has_ended(self) -> bool:
        """Return whether the chunked body has its proper end."""
        return self.raw.endswith(b"0\r\n\r\n")

    @property
    def body(self) -> bytes:
        return b"".join(self.writes)

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def rule(self) -> str | None:
        return self.headers.get("x-contract-rule")

    @property
    def payloads(self) -> list[Any]:
        """Return the JSON of all events but ``[DONE]``."""
        lines = [line for line in self.body.decode().splitlines() if line.startswith("data: {")]
        return [json.loads(line.removeprefix("data: ")) for line in lines]

    def text(self, field: str = "content") -> str:
        """Return what the deltas of a chat stream add up to in one field."""
        choices = [choice for one in self.payloads for choice in one["choices"]]
        return "".join(choice["delta"].get(field) or "" for choice in choices)

    @property
    def items(self) -> list[Any]:
        """Return the finished items of a response's stream."""
        return [one["item"] for one in self.payloads if one["type"] == "response.output_item.done"]


def send(
    upstream: ContractHandle, raw: bytes, path: str = CHAT_PATH, headers: Mapping[str, str] = KEY
) -> socket.socket:
    """Send a request and return the socket, with the answer still to be read."""
    lines = {"Host": "x", "Connection": "close", "Content-Length": str(len(raw)), **headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    connected = socket.create_connection(("127.0.0.1", upstream.port), timeout=TIMEOUT_S)
    connected.sendall(f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + raw)
    return connected


def receive(connected: socket.socket) -> RawResponse:
    """Read until the server closes or resets the connection."""
    raw = b""
    with connected, suppress(ConnectionResetError):
        while part := connected.recv(65536):
            raw += part
    return RawResponse(raw)


def ask(upstream: ContractHandle, messages: Any, *, headers: Mapping[str, str] = KEY, **body: Any) -> RawResponse:
    """Send a chat request and return the answer; streamed unless ``stream`` says otherwise."""
    return receive(send(upstream, chat_request(messages, **body), headers=headers))


def chat_request(messages: Any, *, model: str = "plain-model", **body: Any) -> bytes:
    return json.dumps({"model": model, "messages": messages, "stream": True, **body}).encode()


def respond(upstream: ContractHandle, items: Any, *, headers: Mapping[str, str] = KEY, **body: Any) -> RawResponse:
    """Send a request over Responses, stateless unless the body says otherwise, and return the answer."""
    return receive(send(upstream, response_request(items, **body), RESPONSES_PATH, headers))


def response_request(items: Any, *, model: str = "gpt-5-mini", **body: Any) -> bytes:
    return json.dumps({"model": model, "input": items, "stream": True, **STATELESS, **body}).encode()


def user(text: str = "What were net sales?") -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(content: str | None = None, *calls: dict[str, Any], **extra: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **extra} | ({"tool_calls": list(calls)} if calls else {})


def call(id_: str = "a", arguments: Any = "{}", **extra: Any) -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": "look", "arguments": arguments}, **extra}


def result(id_: str = "a", content: str = "ok") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": content}


def called(id_: str = "a", arguments: str = "{}", **extra: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": id_, "name": "look", "arguments": arguments, **extra}


def output(id_: str = "a", text: str = "ok") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": id_, "output": text}


def said(text: str, **extra: Any) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}], **extra}
