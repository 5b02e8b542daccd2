"""Checks headers and trailers by which a client might pass for another user, or ask for another path."""

import contextlib
import socketserver
import threading

import h2.connection
from proxies_network import connected
from proxies_process import Proxy, configuration
from proxies_upgrades import FORGED, IDENTITY, head, read

REMOTE = ["Remote-User", "X-Remote-User", "X-WEBAUTH-USER", "X-Forwarded-User", "Remote-Groups", "Remote-Email",
          "Remote-Name"]
NAMES = ["Rolegate-Role", "rolegate-role", "ROLEGATE-ROLE", "Rolegate_Role", "Rolegate-User-Id", "Rolegate_User_Id",
         "Rolegate-Groups", "rolegate-groups", "Rolegate_Groups", "rolegate_groups", "Rolegate.Groups", "Rolegate+Groups",
         "Rolegate-User_Id", "rolegate_username", "Rolegate-Username", "rolegate.role", "Rolegate.User-Id",
         "Rolegate.User.Id", "rolegate.username", "Rolegate+Role", "rolegate~user-id",
         # Applications take these headers for an identity, in any spelling that their servers treat as the same.
         *REMOTE, *(name.lower() for name in REMOTE), *(name.replace("-", "_") for name in REMOTE),
         "REMOTE-USER", "Remote.User", "remote~user", "X.Remote-User", "X-Remote+User", "X.WEBAUTH.USER",
         "X!Forwarded!User"]
# Applications take these headers for the path, the client or their own address.
MISLEADING = ["X-Original-URL", "X-Original-URI", "X-Rewrite-URL", "X-Forwarded-Prefix", "X-Forwarded-For",
              "X-Forwarded-Proto", "X-Forwarded-Host", "X-Real-IP", "Forwarded", "X-Forwarded",
              "X-Original-Host", "X-Original-Method", "X-Rewrite-Path",
              *(f"X-Forwarded-{name}" for name in ("Email", "Groups", "Method", "Path", "Port", "Preferred-Username",
                                                   "Scheme", "Server", "Ssl", "Uri", "User"))]
# A proxy removes these headers only if its configuration uses patterns.
MORE_MISLEADING = ["X-Forwarded-Else", "X-ForwardedElse", "X-Original-Else", "X-Rewrite-Else"]
# Headers by which a client would name its request in logs and traces.
NAMING = ["X-Request-Id", "X-Correlation-Id", "Traceparent", "Tracestate"]
UNDERSCORES = ["SCRIPT_NAME", "X_Original_URL", "X-Original_URL", "X_Forwarded-For"]


def forged_identities(proxy, ann):
    each = [it for name in NAMES for it in ([(name, "1")], [(name, "1"), (name, "admin")], [(name, "")])]
    # Envoy refuses a request with "_" in a name, so one request goes without these names. Otherwise the others would
    # not be tested.
    without_underscores = [(name, "1") for name in NAMES if "_" not in name]
    for forged in [*each, without_underscores, [(name, "1") for name in NAMES]]:
        proxy.expect([200, 400], "/public/x", *forged)
        proxy.expect([200, 400], "/x", ann.bearer, *forged, identity=ann.identity)
        proxy.expect([400, 401], "/x", *forged)
        proxy.expect([400, 403], "/admin", ann.basic, *forged)


def removed_identities(proxy, ann, admin):
    """Checks headers that `Connection` names, because a proxy removes these (RFC 9110, section 7.6.1)."""
    refused = [403] if proxy.name == "traefik" else [400]
    for named in ("Rolegate-Role", "close, rolegate-role, rolegate-user-id", "upgrade, ROLEGATE-USERNAME",
                  "Remote-User", "close, remote-email", "Rolegate-Groups", "close, remote-groups"):
        proxy.expect([200, *refused], "/x", ann.bearer, ("Connection", named), identity=ann.identity)
        proxy.expect([200, *refused], "/admin", ("Connection", named), admin.basic, identity=admin.identity)
    proxy.expect([200, 401], "/x", ann.bearer, ("Connection", "authorization"), identity=ann.identity)


def misleading_headers(proxy, ann):
    names = MISLEADING + NAMING + UNDERSCORES + ([] if proxy.name == "nginx" else MORE_MISLEADING)
    for name in names:
        for value in (FORGED, "/admin"):
            for path, headers, identity in (("/public/x", [], None), ("/x", [ann.bearer], ann.identity)):
                # Envoy refuses headers with "_" in the name.
                seen = proxy.expect([200, 400], path, *headers, (name, value), (name, value), identity=identity).seen
                received = seen["headers"] if seen else []
                assert all(value not in text for _, text in received), (proxy.name, name, value, received)


def headers_for_rolegate(proxy, ann):
    """Checks that a client chooses nothing that Rolegate gets but the credentials."""
    for path, status in (("/x", 401), ("/admin/x", 403)):
        credentials = [ann.bearer] if status == 403 else []
        chosen = proxy.expect(status, path, *credentials, ("X-Request-Id", FORGED), ("Traceparent", FORGED))
        assert all(FORGED not in value for _, value in chosen.headers), (proxy.name, path, chosen.headers)
    # nginx and HAProxy have lower limits of their own.
    if proxy.name not in ("nginx", "haproxy"):
        large = ("Cookie", "a=" + "x" * 18_000)
        proxy.expect(200, "/x", ann.bearer, large, identity=ann.identity)
        proxy.expect(403, "/admin/x", ann.bearer, large)
    # Traefik sends Rolegate the whole path, and would be refused. Caddy shortens it, and Envoy asks by gRPC.
    if proxy.name in ("caddy", "envoy"):
        proxy.expect(200, "/x?" + "x" * 18_000, ann.bearer, identity=ann.identity)


def told_about_the_client(proxy):
    sent = [("X-Forwarded-For", "203.0.113.5"), ("X-Forwarded-Proto", "https")]
    seen = proxy.expect(200, "/public/x", *sent, host="app.example:8443").seen
    received = {name.lower(): value for name, value in seen["headers"]}
    what = (proxy.name, received)
    assert received["host"] == "app.example:8443" and received["x-forwarded-proto"] == "http", what
    # Envoy reports the address in its network for its own machine.
    assert received["x-forwarded-for"] == "127.0.0.1" or proxy.name == "envoy", what
    assert received["x-forwarded-for"] != "203.0.113.5" and "," not in received["x-forwarded-for"], what


class Recorder(socketserver.ThreadingTCPServer):
    """An application that answers 200 and records every byte that it receives."""

    daemon_threads = True

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            self.server.received += read(self.request)
            self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.server_port, self.received = self.server_address[1], b""
        threading.Thread(target=self.serve_forever, daemon=True).start()


def exchange_bytes(connection, sent):
    with connection, contextlib.suppress(OSError):
        connection.sendall(sent)
        read(connection, 2)


def bodies_of_preflights(name):
    """Checks that the body of a preflight does not arrive, although HTTP/2 needs no length before a body."""
    files, application = configuration(name), Recorder()
    for file, text in files.items():
        text = text.replace("listen 127.0.0.1:8088;", "listen 127.0.0.1:8088; listen 127.0.0.1:8089 http2;")
        files[file] = text.replace("\tadmin off\n", "\tadmin off\n\tservers {\n\t\tprotocols h1 h2c\n\t}\n")
    proxy = Proxy(name, application, files)
    try:
        for length in ([], [("content-length", str(len(FORGED)))]):
            client = h2.connection.H2Connection()
            client.initiate_connection()
            client.send_headers(1, [
                (":method", "OPTIONS"), (":path", "/x"), (":scheme", "http"), (":authority", "app.example"),
                ("origin", "https://page.example"), ("access-control-request-method", "PUT"), *length])
            client.send_data(1, FORGED.encode(), end_stream=True)
            exchange_bytes(connected(proxy.http2_port), client.data_to_send())
        # The first byte is left out, because Caddy sends it as a chunk of its own.
        assert FORGED[1:].encode() not in application.received, (name, application.received)
        # nginx and Caddy pass the preflight on, which shows that they speak HTTP/2.
        assert b"OPTIONS /x" in application.received or name not in ("nginx", "caddy"), (name, application.received)
    finally:
        proxy.stop()


def trailers(proxy, ann):
    """Checks that no trailer arrives, because an application may take it for a header."""
    trailer = "".join(f"{name}: {value}\r\n" for name, value in IDENTITY)
    body = f"5\r\nhello\r\n0\r\n{trailer}\r\n".encode()
    for announced in ([], [("Trailer", "Rolegate-Role"), ("TE", "trailers")]):
        for path, credentials in (("/public/x", []), ("/x", [ann.bearer])):
            lines = [("Transfer-Encoding", "chunked"), ("Connection", "close"), *announced, *credentials]
            exchange_bytes(proxy.connected(), head("POST", path, lines) + body)
            for length in ([], [("content-length", "5")]):
                client = h2.connection.H2Connection()
                client.initiate_connection()
                pseudo = [(":method", "POST"), (":path", path), (":scheme", "http"), (":authority", "app.example")]
                more = [(name.lower(), value) for name, value in [*announced, *credentials, *length]]
                client.send_headers(1, pseudo + more)
                client.send_data(1, b"hello")
                client.send_headers(1, IDENTITY, end_stream=True)
                exchange_bytes(proxy.connected("h2"), client.data_to_send())
            received = proxy.application.received
            assert FORGED.encode() not in received, (proxy.name, announced, path, received)
    # This shows that the recorder works.
    exchange_bytes(proxy.connected(), head("GET", "/public/x", [("Connection", "close")]))
    assert b"/public/x" in proxy.application.received, proxy.name
