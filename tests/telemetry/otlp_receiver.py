"""A receiver of OTLP over HTTP, as a process of its own: it parses what comes with the protocol's own types.

`python -m tests.telemetry.otlp_receiver [--silent]` prints its address. `GET /spans` answers with all spans
so far as JSON. A silent one takes requests and never answers them.
"""

import argparse
import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

_spans: list[dict[str, Any]] = []
_requests: list[str] = []


def _value(value: AnyValue) -> Any:
    match value.WhichOneof("value"):
        case "array_value":
            return [_value(one) for one in value.array_value.values]
        case None:
            return None
        case name:
            return getattr(value, name)


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _take(body: bytes) -> None:
    message = ExportTraceServiceRequest()
    message.ParseFromString(body)
    for group in message.resource_spans:
        resource = _attributes(group.resource.attributes)
        for scope in group.scope_spans:
            _spans.extend(_shown(span, scope.scope.name, resource) for span in scope.spans)


def _shown(span: Span, scope: str, resource: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": span.name,
        "trace_id": span.trace_id.hex(),
        "span_id": span.span_id.hex(),
        "parent_id": span.parent_span_id.hex(),
        "kind": span.kind,
        "started_at": span.start_time_unix_nano,
        "finished_at": span.end_time_unix_nano,
        "status": span.status.code,
        "attributes": _attributes(span.attributes),
        "events": [
            {"name": event.name, "attributes": _attributes(event.attributes)} for event in span.events
        ],
        "resource": resource,
        "scope": scope,
    }


class _Receiver(BaseHTTPRequestHandler):
    silent = False

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        _requests.append(self.path)
        if self.silent:
            threading.Event().wait()
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        _take(body)
        self._answer(ExportTraceServiceResponse().SerializeToString(), "application/x-protobuf")

    def do_GET(self) -> None:
        told = _spans if self.path == "/spans" else _requests
        self._answer(json.dumps(told).encode(), "application/json")

    def _answer(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 # pyright: ignore[reportImplicitOverride]
        pass


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--silent", action="store_true")
    _Receiver.silent = cast(bool, parser.parse_args().silent)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Receiver)
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
