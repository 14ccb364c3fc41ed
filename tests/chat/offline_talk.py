"""A conversation with the offline analyst over whatever filings the test's database holds, through the real tools."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from asgiref.sync import async_to_sync, sync_to_async

from chat.filings.search import read_passages, search_passages
from chat.providers.base import ProviderRequest
from chat.providers.offline import OfflineAnalyst
from chat.tools.base import Tool, ToolContext
from chat.tools.read_passage import ReadPassage
from chat.tools.search_filings import SearchFilings
from reasoning.citations import Source, check_citations
from reasoning.deltas import RawFields
from reasoning.prompt import instructions
from reasoning.sections import parse_sections

PROMPT = instructions(sections=True, scratchpad=False, tools=True)
TOOLS: dict[str, Tool] = {"searchFilings": SearchFilings(), "readPassage": ReadPassage()}
_MOST_STEPS = 5


@dataclass
class Talk:
    """What was said so far. ``calls`` are the arguments of the last question's tool calls, ``sources`` their finds."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    summary: tuple[str, ...] = ()

    def ask(self, question: str) -> str:
        """Ask, run the tools as often as they are called, check every quotation, and return the answer."""
        self.messages.append({"role": "user", "content": question})
        self.calls, self.sources = [], []
        for _step in range(_MOST_STEPS):
            text, name, arguments = async_to_sync(self._response)()
            if not name:
                return self._keep(text)
            self.calls.append(json.loads(arguments))
            self._run(name, arguments)
        raise AssertionError("the analyst goes on calling tools")

    def _keep(self, text: str) -> str:
        parsed = parse_sections(text)
        self.summary = tuple(parsed.summary)
        self.messages.append({"role": "assistant", "content": parsed.answer})
        assert all(citation.verified is not False for citation in check_citations(parsed.answer, self.sources))
        return parsed.answer

    def _run(self, name: str, arguments: str) -> None:
        context = ToolContext(len(self.sources) + 1, sync_to_async(search_passages), sync_to_async(read_passages))
        output = async_to_sync(TOOLS[name].run)(arguments, context)
        self.sources += output.sources
        call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}
        self.messages.append({"role": "assistant", "tool_calls": [call]})
        self.messages.append({"role": "tool", "tool_call_id": "call_1", "content": output.content})

    async def _response(self) -> tuple[str, str, str]:
        text = name = arguments = ""
        schemas = [tool.schema for tool in TOOLS.values()]
        asked = ProviderRequest({"messages": self.messages}, PROMPT, schemas, "")
        async for delta in OfflineAnalyst(delay_ms=0).stream(asked):
            if isinstance(delta, RawFields):
                text += delta.fields.get("content", "")
                for call in delta.fields.get("tool_calls", ()):
                    name = call["function"].get("name") or name
                    arguments += call["function"]["arguments"]
        return text, name, arguments
