"""Checks requests with bodies: the application gets the whole body, and no decision waits for it."""

import contextlib
import hashlib
import json
import os
import socket
import ssl
import time
from urllib.parse import urlsplit

# The seconds in which a decision must come. It took 5 through a proxy that announced a body to Rolegate and sent none.
SOON = 3
BODIES = [b"", b"x", b"GET /admin HTTP/1.1\r\nHost: app.example\r\n\r\n", b"\x00\xff" * 100_000]


def send(connection, method, path, body, user=None, headers=()):
    """Sends a request, and returns the status, the report of the application if there is one, and the seconds that it
    took."""
    began = time.monotonic()
    with contextlib.closing(connection):
        # A proxy may refuse before it has read the whole body.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError, ssl.SSLError):
            connection.request(method, path, body, dict([*headers, *([user.bearer] if user else [])]))
        response = connection.getresponse()
        received = response.read()
    report = json.loads(received) if response.status == 200 else None
    return response.status, report, time.monotonic() - began


def bodies(proxy, ann):
    for body in BODIES:
        # Python sends an iterator in chunks, without Content-Length.
        for sent in (lambda: body, lambda: iter([body[:7], body[7:]] if body else [])):
            for path, user, expected in (("/public/x", None, 200), ("/x", ann, 200), ("/x", None, 401),
                                         ("/admin", ann, 403)):
                for method in ("POST", "PUT", "DELETE"):
                    status, report, seconds = send(proxy.http(), method, path, sent(), user)
                    what = (proxy.name, method, path, len(body), status, report, seconds)
                    if proxy.name == "haproxy" and not isinstance(sent(), bytes):
                        expected = 411
                    assert status == expected and seconds < SOON, what
                    digest = hashlib.sha256(body).hexdigest()
                    assert report is None or report["body"] == [len(body), digest], what


def kept_alive(proxy, ann):
    """Checks that no part of a body is taken for the next request on the connection."""
    connection = proxy.http()
    for number in range(20):
        user = dict([ann.bearer]) if number % 3 else {}
        connection.request("POST", f"/x{number}", BODIES[2] * number, user)
        response = connection.getresponse()
        received = response.read()
        assert response.status == (200 if user else 401), (proxy.name, number, response.status)
        assert not user or json.loads(received)["path"] == f"/x{number}", (proxy.name, number, received)


def announced_bodies(ann):
    """Checks that `/authorize` answers a request whose body never comes, and takes no later bytes for a request."""
    for length in (b"Content-Length: 100", b"Transfer-Encoding: chunked"):
        port, began = urlsplit(os.environ["FORWARD_URL"]).port, time.monotonic()
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            authorization = f"{ann.bearer[0]}: {ann.bearer[1]}".encode()
            connection.sendall(b"\r\n".join([b"POST /authorize HTTP/1.1", b"Host: x", authorization, length, b"", b""]))
            received = connection.recv(65536)
            assert received.startswith(b"HTTP/1.1 200") and b"connection: close" in received, received
            assert time.monotonic() - began < SOON, (length, time.monotonic() - began)
            connection.sendall(b"0\r\n\r\nGET /authorize HTTP/1.1\r\nHost: x\r\n\r\n" + b"x" * 100)
            with contextlib.suppress(ConnectionResetError):
                assert not connection.recv(65536), length
