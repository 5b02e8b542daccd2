"""Checks what takes long or is large, all at once: uploads, late answers, streams of events and WebSockets."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import websockets.exceptions
from proxies_application import EVENTS_AT, LATE
from proxies_bodies import send
from proxies_network import HttpConnection, until
from proxies_upgrades import tunnel
from websockets.sync.client import connect

MEGABYTE, UPLOAD = b"\x00\xffdata\r\n" * (1 << 17), 100
# The seconds during which a connection carries no data, as when a client sends no pings.
IDLE = 65
# The seconds in which a proxy must pass an event on.
HELD = 3
# The seconds in which a proxy must give up an unfinished head. The default of nginx is 60.
HEAD_DEADLINE = 90
KEY = [("Connection", "Upgrade"), ("Sec-WebSocket-Version", "13"), ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")]
NAMES = ["rolegate-user-id", "rolegate-username", "rolegate-role", "rolegate-groups"]


def upload(proxy, ann):
    """Checks that the application gets the first half of an upload before the client sends the second half."""
    path = f"/upload/{proxy.name}-{proxy.port}"

    def parts():
        yield from [MEGABYTE] * (UPLOAD // 2)
        until(f"{proxy.name} to stream", lambda: received_so_far(proxy, path) > len(MEGABYTE), 20)
        yield from [MEGABYTE] * (UPLOAD // 2)

    length = ("Content-Length", str(len(MEGABYTE) * UPLOAD))
    # HAProxy 2.6 accepts no body without a length, as its configuration says.
    for headers in ([length], *([] if proxy.name == "haproxy" else [[]])):
        status, report, _ = send(proxy.http(), "PUT", path, parts(), ann, headers)
        assert (status, report and report["body"][0]) == (200, len(MEGABYTE) * UPLOAD), (proxy.name, headers, status)


def received_so_far(proxy, path):
    report = send(HttpConnection(proxy.application.server_port), "GET", "/progress", None)[1]
    return report["progress"].get(path, 0)


def late_answer(proxy, ann):
    status, _, seconds = send(proxy.http(), "GET", "/late", None, ann)
    assert status == 200 and seconds >= LATE, (proxy.name, status, seconds)


def events(proxy, ann):
    connection = proxy.http()
    began = time.monotonic()
    connection.request("GET", "/events", headers=dict([ann.bearer]))
    response = connection.getresponse()
    for at in EVENTS_AT:
        line = response.readline() + response.readline()
        what = (proxy.name, at, line, time.monotonic() - began)
        assert line == f"data: {at}\n\n".encode() and at - 1 < time.monotonic() - began < at + HELD, what
    assert response.read() == b"", proxy.name


def websocket(proxy, ann):
    """Checks that the upgrading request is decided on, and that the application learns the identity from it."""
    forged = [*((name, "1") for name in NAMES), ("Cookie", "a=1; __Host-rolegate=rgs_A; b=2")]
    identity = dict(zip(NAMES, map(str, ann.identity)))

    def websocket_to(path, headers):
        sock = proxy.connected()
        sock.settimeout(None)
        options = {"additional_headers": headers, "ping_interval": None, "open_timeout": 30}
        return connect(f"ws://{proxy.host}{path}", sock=sock, **options)

    for path, headers, expected in (("/ws", [ann.bearer, *forged], identity), ("/public/ws", forged, {})):
        with websocket_to(path, headers) as connection:
            seen = dict(json.loads(connection.recv()))
            assert {name: seen[name] for name in NAMES if name in seen} == expected, (proxy.name, path, seen)
            assert "authorization" not in seen and seen["cookie"] == "a=1; b=2", (proxy.name, path, seen)
            for message in ("a", "x" * 200_000, b"\x00"):
                connection.send(message)
                assert connection.recv() == message, proxy.name
            if expected:
                time.sleep(IDLE)
                connection.send("still here")
                assert connection.recv() == "still here", proxy.name
    # A WebSocket with a cookie is refused, because a page of another site may have opened it.
    for path, headers, status in (("/ws", forged[:-1], 401), ("/ws", forged, 403), ("/admin/ws", [ann.bearer], 403)):
        try:
            websocket_to(path, headers).close()
            raise AssertionError((proxy.name, path))
        except websockets.exceptions.InvalidStatus as refused:
            assert refused.response.status_code == status, (proxy.name, path, refused)
    for value in ("WebSocket", "WEBSOCKET"):
        first, _ = tunnel(proxy.connected(), "GET", "/ws", [("Upgrade", value), *KEY, ann.bearer])
        assert first.startswith(b"HTTP/1.1 101 "), (proxy.name, value, first)


def slow_head(proxy, _):
    """Checks that a client that never ends its head cannot hold a connection for long, although it keeps sending single
    bytes."""
    began = time.monotonic()
    with proxy.connected() as connection:
        connection.settimeout(2)
        connection.sendall(b"GET /public/x HTTP/1.1\r\nHost: app.example\r\nX-Half:")
        while True:
            assert time.monotonic() - began < HEAD_DEADLINE, proxy.name
            try:
                connection.sendall(b"x")
                if not connection.recv(65536):
                    return
            except TimeoutError:
                pass
            except OSError:
                return


def streams(proxy, ann):
    with ThreadPoolExecutor(len(CHECKS)) as pool:
        for done in [pool.submit(check, proxy, ann) for check in CHECKS]:
            done.result()


CHECKS = [upload, late_answer, events, websocket, slow_head]
