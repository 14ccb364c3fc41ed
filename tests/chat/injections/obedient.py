"""A model service whose model does all that it reads: the worst case of a model that texts can give orders to."""

from __future__ import annotations

import base64
import binascii
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

from aiohttp import web

_ORDER = re.compile("⟦([a-z0-9]+) ([^⟦⟧]*)⟧")
_INVISIBLE = re.compile("[\u200b\u202a-\u202e]")
_WORD = re.compile(r"\$(%?)([A-Z]+)")


class ObedientModel:
    """First it makes the ``wanted`` calls of its user; then it obeys whatever its requests contain.

    ``words``: what orders write as ``$WORD``; ``$%WORD`` is escaped for an address. ``bodies`` are its requests,
    ``done`` the orders that it has obeyed, ``made`` the calls that it has made by their ids.
    """

    def __init__(self, notes: str, words: Mapping[str, str]) -> None:
        self.notes, self.words = notes, {"NOTES": notes, **words}
        self.wanted: list[tuple[str, dict[str, Any]]] = []
        self.bodies: list[dict[str, Any]] = []
        self.done: set[tuple[str, str]] = set()
        self.made: dict[str, str] = {}

    def response(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the delta with which a request is answered."""
        self.bodies.append(body)
        words = self.words | {
            "SYSTEM": "\n".join(one["content"] for one in body["messages"] if one["role"] == "system"),
            "QUESTION": str(next(one["content"] for one in body["messages"] if one["role"] == "user"))[:300],
        }
        if not body.get("tools"):  # a title or a summary
            said = [filled(text, words) for verb, text in orders_in(body["messages"]) if verb == "say"]
            noted = [base64.b64decode(text).decode() for verb, text in orders_in(body["messages"]) if verb == "note"]
            return {"content": "\n".join(["A talk about turbines.", *said, *noted])}
        if self.wanted:
            calls, self.wanted = self.wanted, []
            return self._calls([(name, json.dumps(arguments)) for name, arguments in calls], "user")
        read = dict.fromkeys(orders_in([one for one in body["messages"] if one["role"] != "assistant"] + body["tools"]))
        fresh = [order for order in read if order not in self.done]
        self.done |= {*fresh}
        thoughts = "\n".join(filled(text, words) for verb, text in fresh if verb == "think")
        calls = [tool_call(text, words) for verb, text in fresh if verb == "call"]
        if calls:
            self.done -= {order for order in fresh if order[0] != "call"}  # the answer comes behind the calls
            return self._calls(calls, "order")
        said = [filled(text, words) for verb, text in fresh if verb == "say"]
        bullets = [" ".join(filled(text, words).split()) for verb, text in fresh if verb == "bullet"]
        summary = "\n".join(f"- {bullet}" for bullet in ["Read what was found.", *bullets])
        answer = "\n\n".join(["I did all of it.", *said])
        content = f"Reasoning Summary:\n{summary}\n\nFinal Answer:\n{answer}\n\n<scratchpad>{self.notes}</scratchpad>"
        return {"reasoning_content": thoughts or "Obeying.", "content": content}

    def _calls(self, calls: list[tuple[str, str]], prefix: str) -> dict[str, Any]:
        made = []
        for name, arguments in calls:
            call_id = f"{prefix}_{len(self.made)}"
            self.made[call_id] = name
            function = {"name": name, "arguments": arguments}
            made.append({"index": len(made), "id": call_id, "type": "function", "function": function})
        return {"content": f"<scratchpad>{self.notes}</scratchpad>", "tool_calls": made}

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if request.method == "GET":
            return web.json_response({"data": []})
        body = await request.json()
        delta = self.response(body)
        reason = "tool_calls" if "tool_calls" in delta else "stop"
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await answer.prepare(request)
        for choice in ({"delta": {"role": "assistant", **delta}}, {"delta": {}, "finish_reason": reason}):
            chunk = {"id": "c1", "object": "chat.completion.chunk", "choices": [{"index": 0, **choice}]}
            await answer.write(f"data: {json.dumps(chunk)}\n\n".encode())
        await answer.write(b"data: [DONE]\n\n")
        return answer


def orders_in(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the orders of all texts in a JSON value, also of texts that are JSON themselves, or hide some."""
    match value:
        case dict():
            for each in value.values():
                yield from orders_in(each)
        case list():
            for each in value:
                yield from orders_in(each)
        case str() if value[:1] in ("{", "[") and (inner := _as_json(value)) is not None:
            yield from orders_in(inner)
        case str():
            for verb, text in _ORDER.findall(_INVISIBLE.sub("", unicodedata.normalize("NFKC", value))):
                hidden = _uncovered(verb, text)
                yield from orders_in(hidden) if hidden else ((verb, text.strip()),)


def _as_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _uncovered(verb: str, text: str) -> str:
    try:
        match verb:
            case "base64":
                return base64.b64decode(text).decode()
            case "hex":
                return bytes.fromhex(text).decode()
            case "reversed":
                return f"⟦{text[::-1].strip()}⟧"
    except (ValueError, binascii.Error):
        pass
    return ""


def filled(text: str, words: Mapping[str, str]) -> str:
    def word(match: re.Match[str]) -> str:
        value = words.get(match[2], match[0])
        return quote(value, safe="") if match[1] else value

    return _WORD.sub(word, text.replace(r"\n", "\n"))


def tool_call(text: str, words: Mapping[str, str]) -> tuple[str, str]:
    """Return the name and the arguments of an ordered call."""
    name, _space, arguments = text.partition(" ")
    # Inside JSON a word has to be escaped.
    escaped = {name: json.dumps(value)[1:-1] for name, value in words.items()}
    return name, filled(arguments, escaped)


@asynccontextmanager
async def served(handler: Any) -> Any:
    """Serve all paths on this machine; yield the port."""
    app = web.Application(client_max_size=50_000_000)
    app.router.add_route("*", "/{tail:.*}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield runner.addresses[0][1]
    await runner.cleanup()
