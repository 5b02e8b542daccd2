"""Sends HTTP byte by byte, and has a relay that cuts a service off or lets it hang."""

import http.client
import json
import os
import re
import socket
import ssl
import threading
import time
import urllib.request
from urllib.parse import urlsplit


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def until(what, poll, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if poll():
                return
        except OSError:
            pass
        time.sleep(0.05)
    raise SystemExit(f"proxies: waited {seconds} seconds for {what}")


def answers(port, path):
    return exchange(port, "GET", path, []).status < 500


def call(method, path, body, token=None, urls=os.environ):
    """Calls the bearer address of Rolegate itself."""
    request = urllib.request.Request(urls["BEARER_URL"] + path, json.dumps(body).encode(), method=method)
    request.add_header("Content-Type", "application/json")
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


class Response:
    def __init__(self, received):
        head, _, self.body = received.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        self.status = int(first.split(" ")[1])
        self.headers = [line.split(": ", 1) for line in lines if ": " in line]
        if any(name.lower() == "transfer-encoding" for name, _ in self.headers):
            self.body = b"".join(self.body.split(b"\r\n")[1::2])

    def all(self, name):
        return [value for key, value in self.headers if key.lower() == name]


def connected(port, tls_name=None, protocols=()):
    """Opens a connection. With a name, it uses TLS for that host and these protocols, and accepts any certificate."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=90)
    if not tls_name:
        return connection
    context = ssl._create_unverified_context()
    if protocols:
        context.set_alpn_protocols(protocols)
    return context.wrap_socket(connection, server_hostname=tls_name)


class HttpConnection(http.client.HTTPConnection):
    """A client of HTTP/1.1, which uses TLS if there is the name of a host."""

    def __init__(self, port, tls_name=None):
        super().__init__(tls_name or "127.0.0.1", port)
        self.tls_name = tls_name

    def connect(self):
        self.sock = connected(self.port, self.tls_name)


def is_complete(received, method):
    """Returns whether the response is complete. Envoy closes a connection only a second after it has refused an
    unfinished request."""
    head, end, body = received.partition(b"\r\n\r\n")
    length = re.search(rb"\r\ncontent-length: *([0-9]+)", head, re.I)
    is_chunked = re.search(rb"\r\ntransfer-encoding:", head, re.I)
    if not end or method == "HEAD":
        return bool(end)
    return body.endswith(b"0\r\n\r\n") if is_chunked else bool(length) and len(body) >= int(length[1])


def exchange(port, method, path, headers, host="app.example", body="", tls_name=None):
    """Sends exactly these headers, and reads one response. A proxy may answer before it has read everything."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers]
    lines += [f"Content-Length: {len(body)}"] if body else []
    with connected(port, tls_name) as connection:
        received = b""
        try:
            connection.sendall("\r\n".join([*lines, "", body]).encode("latin-1"))
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            pass
        try:
            while not is_complete(received, method) and (more := connection.recv(65536)):
                received += more
        except (ConnectionResetError, ssl.SSLError):
            pass
    if not received:
        raise ConnectionError("no response")
    return Response(received)


class Relay:
    """Forwards connections to `url`."""

    def __init__(self, url):
        target = urlsplit(url)
        self.target = (target.hostname, target.port)
        self.port = free_port()
        self.lock, self.open, self.listener = threading.Lock(), set(), None
        self.forward()

    def forward(self, to=None, delay=0):
        """Forwards connections, optionally to another port than that of `url`, or only after some seconds."""
        target = ("127.0.0.1", to) if to else self.target
        self._restart(lambda near: self._connect(near, target, delay))

    def hang(self):
        """Accepts connections and does nothing with them."""
        self._restart(lambda _: None)

    def refuse(self):
        """Closes every connection and refuses new ones."""
        with self.lock:
            if self.listener:
                # This wakes the accepting thread.
                self.listener.shutdown(socket.SHUT_RDWR)
                self.listener.close()
                self.listener = None
            for connection in self.open:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
            self.open.clear()

    close = refuse

    def _restart(self, serve):
        self.refuse()
        self.listener = socket.create_server(("127.0.0.1", self.port), backlog=128)
        threading.Thread(target=self._accept, args=(self.listener, serve), daemon=True).start()

    def _accept(self, listener, serve):
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            with self.lock:
                self.open.add(near)
            threading.Thread(target=serve, args=(near,), daemon=True).start()

    def _connect(self, near, target, delay):
        time.sleep(delay)
        try:
            far = socket.create_connection(target)
        except OSError:
            near.close()
            return
        with self.lock:
            self.open.add(far)
        threading.Thread(target=self._copy, args=(far, near), daemon=True).start()
        self._copy(near, far)

    def _copy(self, source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except OSError:
            pass
        for connection in (source, sink):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            with self.lock:
                self.open.discard(connection)
