"""OpenTelemetry by its standard ``OTEL_…`` variables, where the extra ``otel`` is installed.

Nothing of it is imported without an address to send traces to (``OTEL_EXPORTER_OTLP_ENDPOINT`` or
``OTEL_EXPORTER_OTLP_TRACES_ENDPOINT``). Spans are sent from a thread of their own.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from django.conf import settings

from chat.observability import tracing

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor

logger = logging.getLogger(__name__)


def start() -> None:
    """Send traces of turns where the environment says where to."""
    if not settings.OTEL_IS_CONFIGURED:
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        logger.warning("no traces are sent: install legible-chat[otel]")
        return
    trace_with(BatchSpanProcessor(OTLPSpanExporter()))


def trace_with(processor: SpanProcessor) -> None:
    """Trace turns, and hand their spans to ``processor``."""
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import SpanKind, Status, StatusCode

    # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES come last, so that they win.
    own = Resource({"service.name": "legible", "service.version": settings.VERSION})
    provider = TracerProvider(resource=Resource.create().merge(own).merge(OTELResourceDetector().detect()))
    provider.add_span_processor(processor)
    tracing.use(tracing.Tracing(provider.get_tracer("legible"), SpanKind.CLIENT, Status(StatusCode.ERROR)))
