"""Stands in for Rolegate with the same answer to every request, for proxies that ask by HTTP and for Envoy."""

import http.server
import threading
from concurrent.futures import ThreadPoolExecutor

import grpc
from envoy_data_plane.envoy.config.core.v3 import HeaderValue, HeaderValueOption
from envoy_data_plane.envoy.service.auth.v3 import CheckRequest, CheckResponse, DeniedHttpResponse, OkHttpResponse
from envoy_data_plane.envoy.type.v3 import HttpStatus
from envoy_data_plane.google.rpc import Status

# The codes in Rolegate's answers to Envoy for these statuses. Other statuses are gRPC errors.
CODES = {200: grpc.StatusCode.OK, 303: grpc.StatusCode.UNAUTHENTICATED, 429: grpc.StatusCode.RESOURCE_EXHAUSTED,
         503: grpc.StatusCode.UNAVAILABLE}
IDENTITY = (7, "ann", "user", "crew,staff")
HEADERS = {
    200: {"rolegate-user-id": "7", "rolegate-username": "ann", "rolegate-role": "user", "rolegate-groups": "crew,staff",
          "remote-user": "ann", "remote-groups": "crew,staff"},
    303: {"location": "/sign-in?return=%2Fx%3Fa%3D1", "cache-control": "no-store"},
}


class FakeRolegate:
    """A server on `port` that answers with `status`, and with `Retry-After: 7` if that is an error."""

    def __init__(self, is_grpc):
        # `asked` has the headers of the last request in lower case. For Envoy, the parts of its message are added as
        # the headers of other proxies.
        self.status, self.asked = 503, []
        self._start_grpc() if is_grpc else self._start_http()

    def last(self, name):
        return [value for key, value in self.asked if key == name]

    def _headers(self):
        return HEADERS.get(self.status, {"retry-after": "7"})

    def _start_http(self):
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                fake.asked = [(name.lower(), value) for name, value in self.headers.items()]
                is_redirect_wanted = fake.status != 303 or "redirect_status=401" not in self.path
                self.send_response(fake.status if is_redirect_wanted else 401)
                for name, value in fake._headers().items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.handle_error = lambda *_: None
        self.port, self.stop = server.server_port, server.shutdown
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def _start_grpc(self):
        def check(sent, context):
            request = CheckRequest().parse(sent).attributes.request.http
            self.asked = [(it.key, it.raw_value.decode("latin-1")) for it in request.header_map.headers]
            self.asked += [("x-forwarded-method", request.method), ("x-forwarded-proto", request.scheme),
                           ("x-forwarded-host", request.host), ("x-forwarded-uri", request.path)]
            if self.status not in CODES:
                context.abort(grpc.StatusCode.INTERNAL, "a bug")
            status = Status(code=CODES[self.status].value[0])
            headers = [HeaderValueOption(header=HeaderValue(key=key, value=value))
                       for key, value in self._headers().items()]
            if self.status == 200:
                return bytes(CheckResponse(status=status, ok_response=OkHttpResponse(headers=headers)))
            denied = DeniedHttpResponse(status=HttpStatus(code=self.status), headers=headers)
            return bytes(CheckResponse(status=status, denied_response=denied))

        server = grpc.server(ThreadPoolExecutor(4))
        handler = grpc.unary_unary_rpc_method_handler(check)
        service = "envoy.service.auth.v3.Authorization"
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, {"Check": handler})])
        self.port, self.stop = server.add_insecure_port("127.0.0.1:0"), lambda: server.stop(None)
        server.start()
