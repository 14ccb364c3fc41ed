"""A conversation with every private channel in it, for exports and links."""

from io import BytesIO
from typing import Any
from zipfile import ZipFile

from asgiref.sync import async_to_sync

from accounts.models import User
from chat import eventlog
from chat.models import Conversation
from reasoning import redact_trace
from reasoning.citations import Citation, citation_to_json
from reasoning.events import AssistantMessage, Reasoning, ToolCall, ToolResult
from tests.factories import make_conversation, open_turn

THOUGHT = "thought-canary. " + "Weighing it. " * 100 + "tail-of-the-thought"
SECRET = "sk-proj-Ca4naryOfTheArguments7Wq2Zx9Lm3Rt8"
STEP = {
    "tool": "searchFilings",
    "args": {"query": "debt *covenants*", "api_key": SECRET},
    "durationMs": 12,
    "results": 3,
    "output": "The ratio *fell*.",
    "topCitations": [{"ref": 7, "filing": "10-K", "section": "Item 7", "anchor": "#p31", "url": "/filings/n/#p31"}],
    "status": "ok",
}
TRACE = {"c1": redact_trace([STEP])[0]}  # as a step is written
CITED = Citation(
    ref=7, kind="filing", title="10-K", publisher="Northwind", date="2026-02-26", period=None, section="Item 7",
    anchor="#p31", url="/filings/northwind/#p31", snippet="It fell.", quote="It fell.", verified=True,
)  # fmt: skip


def make_talk(owner: User) -> Conversation:
    conversation = make_conversation(owner=owner, title="Debt covenants")
    Conversation.objects.filter(pk=conversation.pk).update(is_renamed=True)
    turn = open_turn(conversation.pk, text="What would breach\nthe covenants?")
    thought = Reasoning(kind="text", text=THOUGHT, source_field="reasoning", model="m", provider="p", step=0)
    called = ToolCall(call_id="c1", name="searchFilings", arguments='{"query": "raw-arguments-canary"}', step=0)
    eventlog.append(
        turn, [thought, called, ToolResult(call_id="c1", output="raw-result-canary", ok=True, step=0)], TRACE
    )
    answer = AssistantMessage(
        text="It fell [7].", summary=("Looked in Item 7.",), citations=(citation_to_json(CITED),), step=1
    )
    eventlog.close_turn(turn, [answer], status="completed", summary_source="model", thinking_ms=12_000)
    return conversation


def unzipped(answer: Any) -> dict[str, str]:
    """Return the files of a streamed ZIP file by name."""

    async def read() -> bytes:
        return b"".join([part async for part in answer])

    with ZipFile(BytesIO(async_to_sync(read)())) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}
