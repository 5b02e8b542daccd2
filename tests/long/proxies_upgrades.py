"""Checks requests after which a proxy may no longer read the connection: upgrades, CONNECT and HTTP/2.

The client then sends HTTP/2 and HTTP/1.1 for /admin, with an identity of its own, on the same connection.
"""

import contextlib
import time

import h2.connection
import h2.events
from proxies_network import connected

SETTINGS = ("HTTP2-Settings", "AAMAAABkAARAAAAAAAIAAAAA")
CONNECTION = ("Connection", "Upgrade, HTTP2-Settings")
FORGED = "forged-by-the-client"
IDENTITY = [("rolegate-user-id", "1"), ("rolegate-username", "eve"), ("rolegate-role", FORGED),
            ("rolegate-groups", FORGED), ("remote-groups", FORGED)]
# The header lines of requests that ask for a tunnel.
UPGRADES = [
    [("Upgrade", "h2c")],
    [("Upgrade", "H2C")],
    [("Upgrade", " h2c ")],
    [("Upgrade", "h2c,")],
    [("Upgrade", ",h2c")],
    [("Upgrade", "\th2c")],
    [("Upgrade", "h2c, websocket")],
    [("Upgrade", "websocket, h2c")],
    [("Upgrade", "websocket,h2c")],
    [("Upgrade", "WebSocket , H2C")],
    [("Upgrade", "websocket/13, h2c")],
    [("Upgrade", "websocket"), ("Upgrade", "h2c")],
    [("Upgrade", "h2c"), ("Upgrade", "websocket")],
    [("Upgrade", ""), ("Upgrade", "h2c")],
    [("Upgrade", "h2")],
    [("Upgrade", "TLS/1.0, h2c")],
    [("upgrade", "h2c")],
    [("Upgrade_", "x"), ("Upgrade", "h2c")],
]


def read(connection, seconds=0.5, first=None):
    """Reads until nothing arrives for some seconds. `first` is the time for the first bytes, if it is another one."""
    received, end = b"", time.monotonic() + 10
    connection.settimeout(first or seconds)
    with contextlib.suppress(OSError):
        while time.monotonic() < end and (more := connection.recv(65536)):
            connection.settimeout(seconds)
            received += more
    return received


def head(method, path, lines):
    return "".join(f"{line}\r\n" for line in [f"{method} {path} HTTP/1.1", "Host: app.example",
                                              *(f"{name}: {value}" for name, value in lines), ""]).encode()


def http2_to_admin(is_upgraded):
    """Returns the first bytes of an HTTP/2 client that sends GET /admin in stream 3."""
    client = h2.connection.H2Connection()
    if is_upgraded:
        client.initiate_upgrade_connection()
    else:
        client.initiate_connection()
    pseudo = [(":method", "GET"), (":path", "/admin"), (":scheme", "http"), (":authority", "app.example")]
    client.send_headers(3, pseudo + IDENTITY, end_stream=True)
    return client.data_to_send()


def tunnel(connection, method, path, lines):
    """Returns the first response, and what arrives if the client continues in HTTP/2 or, after CONNECT, in HTTP/1.1."""
    with connection:
        connection.sendall(head(method, path, lines))
        first = read(connection, first=5)
        with contextlib.suppress(OSError):
            connection.sendall(head("GET", "/admin", IDENTITY) if method == "CONNECT" else http2_to_admin(True))
        return first, read(connection)


def upgrades(proxy, ann):
    for lines in UPGRADES:
        for path, credentials in (("/public/x", []), ("/x", [ann.bearer])):
            first, after = tunnel(proxy.connected(), "GET", path, [*lines, CONNECTION, SETTINGS, *credentials])
            what = (proxy.name, path, lines, first[:200], after[:500])
            assert b" 101 " not in first.split(b"\r\n")[0] and FORGED.encode() not in first + after, what
    # These values are similar to "websocket".
    for value in ("webSocker", "wabsocket", "waaaaaaat", "websocket2", "ebsocket"):
        first, _ = tunnel(proxy.connected(), "GET", "/public/x", [("Upgrade", value), ("Connection", "Upgrade")])
        assert value.encode() not in first, (proxy.name, first)


def connects(proxy, ann):
    for target in ("/public/x", "/x", "app.example:80", "/admin"):
        for credentials in ([], [ann.bearer]):
            first, after = tunnel(proxy.connected(), "CONNECT", target, [*credentials])
            what = (proxy.name, target, first[:200], after[:500])
            assert FORGED.encode() not in first + after, what
            assert not first or not 100 < int(first.split(b" ")[1]) < 300, what


def ask_http2(connection, headers, data=b""):
    """Sends a request in HTTP/2 without an upgrade, and returns the status and the body. The status is None if the
    proxy speaks only HTTP/1.1."""
    client = h2.connection.H2Connection()
    client.initiate_connection()
    # The check of headers is off, because h2 would not send CONNECT with `:protocol`, which a proxy may allow.
    client.config.validate_outbound_headers = False
    client.send_headers(1, headers, end_stream=False)
    if data:
        client.send_data(1, data)
    status, body, end = None, b"", time.monotonic() + 5
    with connection:
        connection.sendall(client.data_to_send())
        connection.settimeout(1)
        with contextlib.suppress(OSError, h2.exceptions.ProtocolError):
            while time.monotonic() < end and (received := connection.recv(65536)):
                for event in client.receive_data(received):
                    if isinstance(event, h2.events.ResponseReceived):
                        status = int(dict(event.headers)[b":status"])
                    elif isinstance(event, h2.events.DataReceived):
                        body += event.data
                connection.sendall(client.data_to_send())
    return status, body


def http2(proxy, ann):
    """Checks that each stream of a connection that begins in HTTP/2 is decided on."""
    def pseudo(method, path, *more):
        return [(":method", method), (":path", path), (":scheme", "http"), (":authority", "app.example"), *more]

    bearer = ("authorization", ann.bearer[1])
    for path, more, statuses in (("/public/x", [], (200,)), ("/admin", [], (401,)), ("/admin", [bearer], (403,)),
                                 ("/x", [bearer], (200,))):
        status, body = ask_http2(proxy.connected("h2"), pseudo("GET", path, *more, *IDENTITY))
        # Some proxies speak no HTTP/2 or, like HAProxy 2.6, refuse it.
        assert status in (None, 400, *statuses) and FORGED.encode() not in body, (proxy.name, path, status, body)
    smuggled = head("GET", "/admin", IDENTITY)
    for protocol in ("h2c", "websocket, h2c", "connect-udp", None):
        for path in ("/public/x", "/x"):
            wanted = pseudo("CONNECT", path, *([(":protocol", protocol)] if protocol else []), bearer)
            status, body = ask_http2(proxy.connected("h2"), wanted, smuggled + http2_to_admin(False))
            what = (proxy.name, protocol, path, status, body)
            assert (status is None or status >= 400) and FORGED.encode() not in body, what
    wanted = [(":method", "CONNECT"), (":authority", "app.example:80"), bearer]
    status, body = ask_http2(proxy.connected("h2"), wanted, smuggled)
    assert (status is None or status >= 400) and FORGED.encode() not in body, (proxy.name, status, body)


def reaches_http2(port):
    """Returns whether an application accepts the upgrade without a proxy, which shows that the attack itself works."""
    first, after = tunnel(connected(port), "GET", "/", [("Upgrade", "h2c"), CONNECTION, SETTINGS])
    return b" 101 " in first and FORGED.encode() in after


def tunnels(proxy, ann):
    upgrades(proxy, ann)
    connects(proxy, ann)
    http2(proxy, ann)
