"""Spans on their way out, by OTLP over HTTP. The libraries are those of the extra `otel`: they are imported
when this is made, batch in a thread of their own, and drop what a receiver does not take in time."""

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from holdfast import __version__
from holdfast.core.clock import to_micros
from holdfast.core.errors import CannotExport
from holdfast.core.trace_parents import TraceParent
from holdfast.telemetry.genai_spans import Attribute, ExportedSpan, SpanEvent

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import Event, ReadableSpan
    from opentelemetry.trace import SpanContext

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
USUAL_ADDRESS = "http://localhost:4318"
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
# Spans that wait, unless OTEL_BSP_MAX_QUEUE_SIZE says otherwise: a turn may have thousands.
MOST_WAITING = 20_000
INSTALL = "pip install 'holdfast[otel]'"


def is_wanted(environ: Mapping[str, str]) -> bool:
    """Whether the usual variables say where spans go."""
    if _of(environ, "OTEL_SDK_DISABLED") == "true":
        return False
    if exporters := _of(environ, "OTEL_TRACES_EXPORTER"):
        return "otlp" in [name.strip() for name in exporters.split(",")]
    return any(environ.get(name, "").strip() for name in ENDPOINTS)


def wants_content(environ: Mapping[str, str]) -> bool:
    """What was said is exported only on request."""
    return _of(environ, CONTENT) in ("true", "1", "span_only", "span_and_event")


def address_of(environ: Mapping[str, str]) -> tuple[str, int]:
    """The host and the port of the receiver."""
    given = next((value for name in ENDPOINTS if (value := environ.get(name, "").strip())), USUAL_ADDRESS)
    parts = urlsplit(given)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def check(environ: Mapping[str, str]) -> None:
    """Raises CannotExport."""
    protocol = next(
        (
            value
            for name in ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
            if (value := _of(environ, name))
        ),
        "http/protobuf",
    )
    if protocol != "http/protobuf":
        raise CannotExport(
            f"OTEL_EXPORTER_OTLP_PROTOCOL is {protocol}; only http/protobuf is supported (port 4318 of most "
            "receivers)."
        )
    try:
        address_of(environ)
    except ValueError as error:
        raise CannotExport(f"The address in {' or '.join(ENDPOINTS)} cannot be used: {error}") from None
    try:
        import opentelemetry.exporter.otlp.proto.http  # pyright: ignore[reportUnusedImport]
        import opentelemetry.sdk.trace  # noqa: F401 # pyright: ignore[reportUnusedImport]
    except ModuleNotFoundError:
        raise CannotExport(f"The libraries of OpenTelemetry are not installed: {INSTALL}") from None


class OtlpSender:
    """Takes seconds to make, because the libraries are large. Raises CannotExport."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        check(environ)
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope

        named = "service.name=" in environ.get("OTEL_RESOURCE_ATTRIBUTES", "").replace(" ", "")
        given = {} if named or _of(environ, "OTEL_SERVICE_NAME") else {"service.name": "holdfast"}
        self._resource = Resource.create({**given, "service.version": __version__})
        self._scope = InstrumentationScope("holdfast", __version__)
        try:
            exporter = OTLPSpanExporter()
            waiting = None if _of(environ, "OTEL_BSP_MAX_QUEUE_SIZE") else MOST_WAITING
            self._processor = BatchSpanProcessor(exporter, max_queue_size=waiting)
        except ValueError as error:
            raise CannotExport(f"A variable of OpenTelemetry cannot be used: {error}") from None
        self._exporter = exporter

    def send(self, spans: Sequence[ExportedSpan]) -> None:
        """Never waits: what does not fit is dropped."""
        for span in spans:
            if span.place.sampled:
                self._processor.on_end(self._span(span))

    def close(self, seconds: float) -> bool:
        """Sends what waits, for no longer than this; whether all of it was sent. To be called in a thread."""
        # The processor has no limit of its own that could be set; its thread ends with the process.
        closing = threading.Thread(target=self._processor.shutdown, name="holdfast-otlp", daemon=True)
        closing.start()
        closing.join(seconds)
        if closing.is_alive():
            self._exporter.shutdown()
            return False
        return True

    def _span(self, span: ExportedSpan) -> "ReadableSpan":
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.trace import SpanKind
        from opentelemetry.trace.status import Status, StatusCode

        attributes: dict[str, Attribute] = dict(span.attributes)
        if span.error is not None:
            attributes["error.type"] = span.error
        return ReadableSpan(
            name=span.name,
            context=_context(span.place, remote=False),
            parent=None if span.parent is None else _context(span.parent, remote=True),
            resource=self._resource,
            attributes=attributes,
            events=tuple(_event(event) for event in span.events),
            kind=SpanKind.CLIENT if span.kind == "client" else SpanKind.INTERNAL,
            status=Status(StatusCode.UNSET if span.error is None else StatusCode.ERROR),
            start_time=to_micros(span.started_at) * 1000,
            end_time=to_micros(span.finished_at) * 1000,
            instrumentation_scope=self._scope,
        )


def _context(place: TraceParent, *, remote: bool) -> "SpanContext":
    from opentelemetry.trace import SpanContext, TraceFlags

    return SpanContext(
        trace_id=int(place.trace_id, 16),
        span_id=int(place.span_id, 16),
        is_remote=remote,
        trace_flags=TraceFlags(int(place.sampled)),
    )


def _event(event: SpanEvent) -> "Event":
    from opentelemetry.sdk.trace import Event

    return Event(event.name, dict(event.attributes), to_micros(event.at) * 1000)


def _of(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name, "").strip().lower()
