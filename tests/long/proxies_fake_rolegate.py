"""In place of Rolegate: the same refusal for every request, to a proxy that asks by HTTP or to Envoy."""

import http.server
import threading
from concurrent.futures import ThreadPoolExecutor

import grpc
from envoy_data_plane.envoy.config.core.v3 import HeaderValue, HeaderValueOption
from envoy_data_plane.envoy.service.auth.v3 import CheckResponse, DeniedHttpResponse
from envoy_data_plane.envoy.type.v3 import HttpStatus
from envoy_data_plane.google.rpc import Status

# What Rolegate answers to Envoy with these statuses; others are gRPC errors.
CODES = {429: grpc.StatusCode.RESOURCE_EXHAUSTED, 503: grpc.StatusCode.UNAVAILABLE}


class FakeRolegate:
    """Answers with `status` and `Retry-After: 7` on `port`."""

    def __init__(self, is_grpc):
        # `X-Forwarded-For` of the last request.
        self.status, self.forwarded_for = 503, None
        self._start_grpc() if is_grpc else self._start_http()

    def _start_http(self):
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                fake.forwarded_for = self.headers.get_all("X-Forwarded-For")
                self.send_response(fake.status)
                self.send_header("Retry-After", "7")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.handle_error = lambda *_: None
        self.port, self.stop = server.server_port, server.shutdown
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def _start_grpc(self):
        def check(_, context):
            if self.status not in CODES:
                context.abort(grpc.StatusCode.INTERNAL, "a bug")
            retry_after = HeaderValueOption(header=HeaderValue(key="retry-after", value="7"))
            denied = DeniedHttpResponse(status=HttpStatus(code=self.status), headers=[retry_after])
            return bytes(CheckResponse(status=Status(code=CODES[self.status].value[0]), denied_response=denied))

        server = grpc.server(ThreadPoolExecutor(4))
        handler = grpc.unary_unary_rpc_method_handler(check)
        service = "envoy.service.auth.v3.Authorization"
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, {"Check": handler})])
        self.port, self.stop = server.add_insecure_port("127.0.0.1:0"), lambda: server.stop(None)
        server.start()
