"""A server exports traces to a collector, configured by OpenTelemetry's environment variables."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from tests.integration.process import serving


def test_spans_of_calls_reach_the_collector_at_the_latest_when_the_server_stops() -> None:
    got: list[bytes] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(self.path.encode() + self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    collector = HTTPServer(("127.0.0.1", 0), Collector)
    thread = threading.Thread(target=collector.serve_forever)
    thread.start()
    endpoint = f"http://127.0.0.1:{collector.server_port}"
    try:
        with serving(
            "--in-memory", "--traces", "otlp", OTEL_SERVICE_NAME="orders-queue", OTEL_EXPORTER_OTLP_ENDPOINT=endpoint
        ) as server:
            server.call("CreateQueue", QueueName="orders")
            code, rest = server.stop()
    finally:
        collector.shutdown()
        thread.join()
        collector.server_close()

    told = b"".join(got)
    assert (code, "Traceback" in rest) == (0, False), rest
    assert told.startswith(b"/v1/traces")
    assert b"sqs CreateQueue" in told and b"store create" in told and b"orders-queue" in told
