"""Traces of turns, as OpenTelemetry's own exporter for tests gets them."""

import subprocess
import sys

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from chat.observability import tracing
from config.tracing import trace_with
from tests.chat.asking import ask

pytestmark = pytest.mark.django_db(transaction=True)
CANARY = "plover-amber-3302"


@pytest.fixture
def exporter():
    exporter = InMemorySpanExporter()
    trace_with(SimpleSpanProcessor(exporter))
    yield exporter
    tracing.use(None)


async def test_turn_has_spans_of_its_requests_and_tool_calls_and_no_text(upstream, conversation, exporter):
    call = {"name": "searchFilings", "arguments": f'{{"query": "{CANARY}"}}'}
    invented = {"name": CANARY, "arguments": "{}"}
    used = {"input": 3000, "output": 20}
    upstream.script(
        [{"tool_calls": [call, invented], "usage": used}, {"reasoning": CANARY, "content": CANARY, "usage": used}]
    )

    turn = await ask(conversation, f"Why {CANARY}?")

    spans = exporter.get_finished_spans()
    whole = spans[-1]
    names = ["chat plain-model", "execute_tool searchFilings", "execute_tool unknown", "chat plain-model"]
    assert [span.name for span in spans] == [*names, "invoke_agent legible"]
    assert {span.parent.span_id for span in spans[:-1]} == {whole.context.span_id}
    assert [whole.attributes[f"legible.turn.{name}"] for name in ("id", "status")] == [turn.public_id, "completed"]
    assert spans[0].kind == SpanKind.CLIENT
    assert dict(spans[0].attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "plain-model",
        "server.address": upstream.base_url.split("/")[2],
        "gen_ai.usage.input_tokens": 3000,
        "gen_ai.usage.output_tokens": 20,
    }
    assert spans[1].attributes["gen_ai.tool.name"] == "searchFilings"
    assert CANARY not in "".join(span.to_json() for span in spans)


async def test_failure_is_a_code_without_the_words_of_the_service(upstream, conversation, exporter):
    upstream.script([{"faults": [{"kind": "http_error", "status": 401, "message": f"No {CANARY} here"}]}])

    turn = await ask(conversation)

    request, whole = exporter.get_finished_spans()
    assert [span.attributes["error.type"] for span in (request, whole)] == [turn.error_code, turn.error_code]
    assert [span.status.is_ok for span in (request, whole)] == [False, False]
    assert CANARY not in request.to_json() + whole.to_json()


def test_nothing_is_imported_without_an_address_to_send_to():
    # redis-py imports the part for metrics, where it is installed.
    code = (
        "import os, sys; os.environ['DJANGO_SETTINGS_MODULE'] = 'tests.settings'; import config.server, config.tracing;"
        "config.tracing.start(); print({'opentelemetry.sdk.trace', 'opentelemetry.exporter'} & sys.modules.keys())"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603

    assert done.stdout.strip() == "set()"
