"""The usual variables of OpenTelemetry: whether, where to, and with what."""

import socket

import pytest

from holdfast.cli.doctor import traces
from holdfast.core.errors import CannotExport
from holdfast.telemetry.otlp import check, is_wanted, wants_content
from holdfast.telemetry.trace_export import TraceExport

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
SOMEWHERE = {ENDPOINT: "http://127.0.0.1:4318"}


@pytest.mark.parametrize(
    "environ, wanted",
    [
        ({}, False),
        (SOMEWHERE, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"}, True),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({ENDPOINT: " "}, False),
        ({**SOMEWHERE, "OTEL_SDK_DISABLED": "True"}, False),
        ({**SOMEWHERE, "OTEL_TRACES_EXPORTER": "none"}, False),
        ({**SOMEWHERE, "OTEL_TRACES_EXPORTER": "console"}, False),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://127.0.0.1:4318"}, False),
    ],
)
def test_whether(environ: dict[str, str], wanted: bool) -> None:
    assert is_wanted(environ) == wanted
    assert (TraceExport.wanted(environ) is not None) == wanted


@pytest.mark.parametrize(
    "value, wanted", [("", False), ("true", True), ("SPAN_ONLY", True), ("event_only", False), ("no", False)]
)
def test_content_only_on_request(value: str, wanted: bool) -> None:
    assert wants_content({"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": value}) == wanted


def test_what_cannot_work_is_said() -> None:
    with pytest.raises(CannotExport, match="only http/protobuf"):
        check({**SOMEWHERE, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})
    with pytest.raises(CannotExport, match="cannot be used"):
        check({ENDPOINT: "http://127.0.0.1:many"})
    check(SOMEWHERE)


def test_the_doctor_says_where_to() -> None:
    assert list(traces({})) == []
    (finding,) = traces({**SOMEWHERE, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})
    assert finding.state == "broken"
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        (finding,) = traces({ENDPOINT: f"http://127.0.0.1:{port}"})
        assert (finding.state, "Nobody answers" in finding.text) == ("note", True)
        listening.listen()
        (finding,) = traces({ENDPOINT: f"http://127.0.0.1:{port}"})
        assert finding.text == f"Exported to 127.0.0.1:{port}, without what was said."
