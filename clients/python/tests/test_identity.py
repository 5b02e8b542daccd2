"""Tests that the user in the headers of a proxy counts only if the socket has the proxy's address."""

import socket
import subprocess
import sys
from contextlib import contextmanager
from functools import partial

import httpx
import pytest
from flask import Flask, g
from starlette.testclient import TestClient

import rolegate.flask
import rolegate.identity
from rolegate import IdentityRefused, ProxyIdentity, User
from rolegate.asgi import RequireProxyUser
from rolegate.errors import NotAuthenticated, RoleInsufficient

ANN = {"rolegate-user-id": "7", "rolegate-username": "ann", "rolegate-role": "author"}


@pytest.fixture(autouse=True)
def logs_again():
    rolegate.identity._LOGGED.clear()


def scope(headers=ANN, client=("127.0.0.1", 40000)):
    pairs = headers.items() if isinstance(headers, dict) else headers
    return {
        "type": "http",
        "client": client,
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in pairs],
    }


def environ(headers=ANN, **more):
    names = {f"HTTP_{name.replace('-', '_').upper()}": value for name, value in headers.items()}
    return {"REMOTE_ADDR": "127.0.0.1", "REMOTE_PORT": "40000", **names, **more}


def test_user_is_whom_the_proxy_names():
    identity = ProxyIdentity(["127.0.0.1", "10.1.0.0/16", "fd00::/8"])
    for client in [("127.0.0.1", 1), ("10.1.255.1", 1), ("fd00::1", 1, 0, 0)]:
        assert identity.of_asgi(scope(client=client)) == User(7, "ann", "author")
    assert identity.of_wsgi(environ()) == User(7, "ann", "author")


def test_list_of_peers_is_required():
    for wrong in [[], iter(()), ["0.0.0.0/0"], ["::/0"], ["localhost"], [""], ["::ffff:127.0.0.1"]]:
        with pytest.raises(ValueError):
            ProxyIdentity(wrong)
    for wrong in ["127.0.0.1", None, [1], [None], [b"abcd"]]:
        with pytest.raises(TypeError):
            ProxyIdentity(wrong)
    with pytest.raises(TypeError):
        ProxyIdentity()


def test_mapped_address_is_the_ipv4_address():
    identity = ProxyIdentity(["127.0.0.1"])
    assert identity.of_asgi(scope(client=("::ffff:127.0.0.1", 1, 0, 0))).id == 7
    with pytest.raises(IdentityRefused):
        identity.of_asgi(scope(client=("::ffff:127.0.0.2", 1, 0, 0)))
    with pytest.raises(IdentityRefused):
        ProxyIdentity(["::1"]).of_asgi(scope())


@pytest.mark.parametrize("client", [None, ("192.0.2.1", 1), ("", 1), ("unix:", 1), ("/run/a.sock", None), ("testclient", 1)])
def test_other_or_unknown_peer_is_refused(client, caplog):
    with pytest.raises(IdentityRefused) as failure:
        ProxyIdentity(["127.0.0.1"]).of_asgi(scope(client=client))
    assert (failure.value.status, failure.value.reason) == (403, "IDENTITY_REFUSED")
    [line] = [record.getMessage() for record in caplog.records]
    assert "list of proxies" in line or "unknown" in line


def test_peer_is_checked_before_headers():
    with pytest.raises(IdentityRefused):
        ProxyIdentity(["127.0.0.1"]).of_asgi(scope({}, ("192.0.2.1", 1)))
    with pytest.raises(NotAuthenticated):
        ProxyIdentity(["127.0.0.1"]).of_asgi(scope({}))


@pytest.mark.parametrize(
    ("client", "forwarded"),
    [
        (("127.0.0.1", 0), {}),
        (("127.0.0.1", 5555), {"x-forwarded-for": "127.0.0.1:5555"}),
        (("127.0.0.1", 5555), {"x-forwarded-for": "192.0.2.1, 127.0.0.1", "x-forwarded-port": "5555"}),
        (("127.0.0.1", 5555), {"forwarded": 'for="127.0.0.1:5555";proto=https'}),
        (("127.0.0.1", 5555), {"x-real-ip": "::ffff:127.0.0.1"}),
        (("::1", 5555), {"x-forwarded-for": "[::1]:5555"}),
        (("::1", 5555), {"forwarded": 'for="[::1]"'}),
        (("127.0.0.1", 5555), {"cf-connecting-ip": "127.0.0.1"}),
    ],
)
def test_address_that_a_header_may_have_set_is_refused(client, forwarded):
    identity = ProxyIdentity(["127.0.0.1", "::1"])
    with pytest.raises(IdentityRefused):
        identity.of_asgi(scope({**ANN, **forwarded}, client))
    more = {"REMOTE_ADDR": client[0], "REMOTE_PORT": str(client[1])}
    with pytest.raises(IdentityRefused):
        identity.of_wsgi(environ({**ANN, **forwarded}, **more))


def test_address_of_the_browser_in_a_header_is_no_hindrance():
    forwarded = {"x-forwarded-for": "203.0.113.9", "x-forwarded-proto": "https", "x-real-ip": "2001:db8::7"}
    assert ProxyIdentity(["127.0.0.1"]).of_asgi(scope({**ANN, **forwarded})).id == 7
    assert ProxyIdentity(["127.0.0.1"]).of_wsgi(environ({**ANN, **forwarded})).id == 7


def test_address_that_wsgi_middleware_replaced_is_refused():
    identity = ProxyIdentity(["127.0.0.1"])
    with pytest.raises(IdentityRefused):
        identity.of_wsgi(environ(**{"werkzeug.proxy_fix.orig": {"REMOTE_ADDR": "192.0.2.1"}}))

    class Connection:
        def __init__(self, name):
            self.name = name

        def getpeername(self):
            if self.name is None:
                raise OSError
            return self.name

    for server in ["gunicorn.socket", "werkzeug.socket"]:
        forwarded = {**ANN, "x-forwarded-for": "127.0.0.1"}
        # The user is on the machine of the proxy, and the socket says that nothing was replaced.
        good = environ(forwarded, **{server: Connection(("127.0.0.1", 40000))})
        assert identity.of_wsgi(good).id == 7
        for name in [("192.0.2.1", 40000), ("127.0.0.1", 1), "", b"", None]:
            with pytest.raises(IdentityRefused):
                identity.of_wsgi(environ(**{server: Connection(name)}))


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("ann b", "ann b"),
        ("bea@corp.example", "bea@corp.example"),
        ("bea%40corp.example", "bea@corp.example"),
        ("j%C3%B6rg %25%2C%2B", "jörg %,+"),
        ("%20ann%20", " ann "),
        ("a%00%0Ab", "a\0\nb"),
        ("CORP\\ann", "CORP\\ann"),
        ("%e6%97%a5", "日"),
    ],
)
def test_name_is_as_typed(value, name):
    headers = {**ANN, "rolegate-username": value}
    assert ProxyIdentity(["127.0.0.1"]).of_asgi(scope(headers)).username == name
    assert ProxyIdentity(["127.0.0.1"]).of_wsgi(environ(headers)).username == name


BAD = {
    "rolegate-user-id": ["", "0", "-1", "07", "1.0", " 7", "7,7", "x", "٣", str(2**63)],
    "rolegate-username": ["", "a,b", "a+b", "a%", "a%4", "a%zz", "%FF", "%C3", "jörg", "a\tb", "a\0b", "a%ED%A0%80"],
    "rolegate-role": ["", "Admin", "author,admin", "admin ", "ädmin", "a" * 33],
    "rolegate-groups": [",", "staff,", ",staff", "crew, staff", "Staff", "staff,staff", "städff", "a" * 33, " "],
}


@pytest.mark.parametrize(("header", "value"), [(header, value) for header in BAD for value in BAD[header]])
def test_malformed_header_is_refused(header, value):
    headers = {**ANN, header: value}
    with pytest.raises(IdentityRefused):
        ProxyIdentity(["127.0.0.1"]).of_wsgi(environ(headers))
    if value.isascii():
        with pytest.raises(IdentityRefused):
            ProxyIdentity(["127.0.0.1"]).of_asgi(scope(headers))


@pytest.mark.parametrize("header", ANN)
def test_missing_or_repeated_header_is_refused(header):
    identity = ProxyIdentity(["127.0.0.1"])
    rest = {name: value for name, value in ANN.items() if name != header}
    for headers in [list(rest.items()), [*ANN.items(), (header, ANN[header])], [*ANN.items(), (header.title(), "")]]:
        with pytest.raises(IdentityRefused):
            identity.of_asgi(scope(headers))


def test_role_may_be_required():
    assert ProxyIdentity(["127.0.0.1"], "admin", "author").of_asgi(scope()).role == "author"
    with pytest.raises(RoleInsufficient):
        ProxyIdentity(["127.0.0.1"], "admin").of_asgi(scope())


@pytest.mark.parametrize(
    ("headers", "groups"),
    [
        ({}, ()),
        ({"rolegate-groups": ""}, ()),
        ({"rolegate-groups": "staff"}, ("staff",)),
        ({"rolegate-groups": "crew,staff"}, ("crew", "staff")),
        ({"rolegate-groups": "staff,a-1_b," + "c" * 32}, ("a-1_b", "c" * 32, "staff")),
    ],
)
def test_groups_are_those_that_the_proxy_names(headers, groups):
    user = User(7, "ann", "author", groups=groups)
    assert ProxyIdentity(["127.0.0.1"]).of_asgi(scope({**ANN, **headers})) == user
    assert ProxyIdentity(["127.0.0.1"]).of_wsgi(environ({**ANN, **headers})) == user


def test_groups_alone_or_repeated_name_nobody():
    identity = ProxyIdentity(["127.0.0.1"])
    with pytest.raises(NotAuthenticated):
        identity.of_asgi(scope({"rolegate-groups": "staff"}))
    for again in ["", "staff", "crew"]:
        headers = [*ANN.items(), ("rolegate-groups", "staff"), ("Rolegate-Groups", again)]
        with pytest.raises(IdentityRefused):
            identity.of_asgi(scope(headers))


def test_groups_may_be_required():
    member = scope({**ANN, "rolegate-groups": "crew,staff"})
    require = lambda *roles, groups: ProxyIdentity(["127.0.0.1"], *roles, groups=groups)
    for identity in [
        require(groups="staff"),
        require(groups=iter(["staff", "other"])),
        require("admin", groups=["crew"]),
        require("author", groups=["other"]),
        require("author", groups=[]),
    ]:
        for _ in range(2):
            assert identity.of_asgi(member).id == 7
    for identity in [require(groups=["other"]), require("admin", groups=["sta", "author"])]:
        with pytest.raises(RoleInsufficient):
            identity.of_asgi(member)
    with pytest.raises(RoleInsufficient):
        require(groups=["staff"]).of_asgi(scope())
    # An empty list must not let any user pass.
    with pytest.raises(ValueError):
        require(groups=[])


def test_problem_is_logged_once_a_minute_and_not_shown(caplog):
    app = RequireProxyUser(None, ["127.0.0.1"])
    http = TestClient(app, client=("192.0.2.1", 1))
    for _ in range(3):
        response = http.get("/", headers=ANN)
        assert (response.status_code, response.headers["rolegate-reason"]) == (403, "IDENTITY_REFUSED")
        assert response.json() == {"detail": "The request did not come through the proxy."}
    [line] = [record.getMessage() for record in caplog.records if record.name == "rolegate"]
    assert line.endswith("(uvicorn: --no-proxy-headers); it came from 192.0.2.1")


SERVICE = """
from typing import Annotated

from fastapi import Depends, FastAPI, Request, WebSocket
from rolegate import User
from rolegate.asgi import RequireProxyUser
from rolegate.fastapi import ProxyUser

app = FastAPI()
PEERS = ["127.0.0.1"]

@app.get("/")
async def home(user: Annotated[User, Depends(ProxyUser(PEERS))]) -> str:
    return user.username

@app.get("/admin")
async def admin(user: Annotated[User, Depends(ProxyUser(PEERS, "admin"))]) -> str:
    return user.username

@app.get("/staff")
async def staff(user: Annotated[User, Depends(ProxyUser(PEERS, "admin", groups=["staff"]))]) -> str:
    return user.username

@app.websocket("/socket")
async def greet(websocket: WebSocket, user: Annotated[User, Depends(ProxyUser(PEERS))]) -> None:
    await websocket.accept()
    await websocket.send_text(user.username)
    await websocket.close()

inner = FastAPI()

@inner.get("/")
async def state(request: Request) -> str:
    return request.state.user.username

app.mount("/asgi", RequireProxyUser(inner, PEERS))
app.mount("/members", RequireProxyUser(inner, PEERS, groups=["staff"]))
"""


@contextmanager
def uvicorn(folder, *options):
    """Runs the service under uvicorn on every address of this machine, so that a client can choose its own address."""
    (folder / "service.py").write_text(SERVICE)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = [] if "--uds" in options else ["--host", "0.0.0.0", "--port", str(port)]
    command = [sys.executable, "-m", "uvicorn", "service:app", *address, *options]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    try:
        log = ""
        while "running on" not in log:
            line = process.stderr.readline()
            assert line, log
            log += line
        yield partial(ask, port)
    finally:
        process.kill()
        process.communicate()


def ask(port, source, path, **headers):
    """Sends a request from an address of this machine, and returns the status and the body."""
    transport = httpx.HTTPTransport(local_address=source)
    with httpx.Client(transport=transport) as http:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        response = http.get(f"http://127.0.0.1:{port}{path}", headers={**ANN, **names})
        return response.status_code, response.json()


REFUSED = (403, {"detail": "The request did not come through the proxy."})


@pytest.mark.parametrize("path", ["/", "/asgi/"])
def test_under_uvicorn_only_the_socket_counts(tmp_path, path):
    with uvicorn(tmp_path, "--no-proxy-headers") as get:
        assert get("127.0.0.1", path) == (200, "ann")
        # The browser of the user may run on the machine of the proxy.
        for browser in ["203.0.113.9", "127.0.0.1", "127.0.0.2"]:
            assert get("127.0.0.1", path, x_forwarded_for=browser) == (200, "ann")
        assert get("127.0.0.2", path) == REFUSED
        assert get("127.0.0.2", path, x_forwarded_for="127.0.0.1") == REFUSED
        assert get("127.0.0.2", path, x_forwarded_for="127.0.0.1:5555") == REFUSED
        missing = get("127.0.0.1", path, rolegate_username="")
        assert missing == REFUSED
        assert get("127.0.0.1", "/admin")[0] == 403
        for members in ["/staff", "/members/"]:
            assert get("127.0.0.1", members, rolegate_groups="crew")[0] == 403
            assert get("127.0.0.1", members, rolegate_groups="crew,staff") == (200, "ann")


@pytest.mark.parametrize("path", ["/", "/asgi/"])
@pytest.mark.parametrize("options", [[], ["--forwarded-allow-ips", "*"], ["--proxy-headers", "--forwarded-allow-ips", "127.0.0.0/8"]])
def test_address_that_uvicorn_has_rewritten_is_refused(tmp_path, options, path):
    with uvicorn(tmp_path, *options) as get:
        assert get("127.0.0.1", path) == (200, "ann")
        for forged in ["127.0.0.1", "127.0.0.1:5555", "203.0.113.9", "127.0.0.1, 127.0.0.1"]:
            for source in ["127.0.0.1", "127.0.0.2"]:
                assert get(source, path, x_forwarded_for=forged)[0] == 403, (source, forged)


def test_unix_socket_of_uvicorn_is_refused(tmp_path):
    file = str(tmp_path / "socket")
    with uvicorn(tmp_path, "--uds", file):
        with httpx.Client(transport=httpx.HTTPTransport(uds=file)) as http:
            for forwarded in [{}, {"x-forwarded-for": "127.0.0.1"}, {"x-forwarded-for": "127.0.0.1:5"}]:
                assert http.get("http://a/", headers={**ANN, **forwarded}).status_code == 403


def test_websocket_under_uvicorn_has_the_user_of_the_proxy(tmp_path):
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    with uvicorn(tmp_path, "--no-proxy-headers") as get:
        [port] = get.args
        options = {"additional_headers": ANN, "proxy": None}
        with connect(f"ws://127.0.0.1:{port}/socket", **options) as websocket:
            assert websocket.recv(timeout=30) == "ann"
        with pytest.raises(InvalidStatus) as refused:
            connect(f"ws://127.0.0.1:{port}/socket", source_address=("127.0.0.2", 0), **options)
        assert refused.value.response.status_code == 403


def flask_app():
    app = Flask(__name__)

    @app.get("/")
    @rolegate.flask.require_proxy_user(["127.0.0.1"])
    def home():
        return g.rolegate_user.username

    @app.get("/admin")
    @rolegate.flask.require_proxy_user(["127.0.0.1"], "admin")
    def admin():
        raise AssertionError("it was let through")

    @app.get("/staff")
    @rolegate.flask.require_proxy_user(["127.0.0.1"], "admin", groups=["staff"])
    def staff():
        return ",".join(g.rolegate_user.groups)

    return app


def test_flask_and_django_have_the_user_of_the_proxy():
    from django.conf import settings
    from django.http import HttpResponse
    from django.test import RequestFactory

    from rolegate.django import require_proxy_user

    http = flask_app().test_client()
    good = {"REMOTE_ADDR": "127.0.0.1", "REMOTE_PORT": "40000"}
    assert http.get("/", headers=ANN, environ_overrides=good).text == "ann"
    refused = http.get("/", headers=ANN, environ_overrides={**good, "REMOTE_ADDR": "192.0.2.1"})
    assert (refused.status_code, refused.json) == REFUSED
    assert http.get("/admin", headers=ANN, environ_overrides=good).status_code == 403
    assert http.get("/", environ_overrides=good).status_code == 401
    assert http.get("/staff", headers=ANN, environ_overrides=good).status_code == 403
    member = {**ANN, "rolegate-groups": "crew,staff"}
    assert http.get("/staff", headers=member, environ_overrides=good).text == "crew,staff"

    if not settings.configured:
        settings.configure()

    @require_proxy_user(["127.0.0.1"])
    def view(request):
        return HttpResponse(request.rolegate_user.username)

    factory = RequestFactory(headers=ANN)
    assert view(factory.get("/")).content == b"ann"
    assert view(factory.get("/", REMOTE_ADDR="192.0.2.1")).status_code == 403
    for forged in [{"HTTP_X_FORWARDED_FOR": "127.0.0.1"}, {"REMOTE_PORT": "0"}]:
        assert view(factory.get("/", **forged)).status_code == 403
    with pytest.raises(ValueError):
        require_proxy_user([])
    staff = require_proxy_user(["127.0.0.1"], groups=["staff"])(lambda request: HttpResponse(b"in"))
    assert staff(factory.get("/")).status_code == 403
    assert staff(factory.get("/", headers={"rolegate-groups": "staff"})).content == b"in"


def test_flask_by_its_own_server_and_behind_proxy_fix(tmp_path):
    from threading import Thread

    from werkzeug.middleware.proxy_fix import ProxyFix
    from werkzeug.serving import make_server

    for is_fixed in [False, True]:
        app = flask_app()
        if is_fixed:
            app.wsgi_app = ProxyFix(app.wsgi_app, x_for=1)
        server = make_server("0.0.0.0", 0, app)
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            def status(source, **headers):
                with httpx.Client(transport=httpx.HTTPTransport(local_address=source)) as http:
                    names = {name.replace("_", "-"): value for name, value in headers.items()}
                    return http.get(f"http://127.0.0.1:{server.port}/", headers={**ANN, **names}).status_code

            assert status("127.0.0.1") == 200
            assert status("127.0.0.2") == 403
            assert status("127.0.0.2", x_forwarded_for="127.0.0.1") == 403
            through = status("127.0.0.1", x_forwarded_for="203.0.113.9")
            assert through == (403 if is_fixed else 200)
        finally:
            server.shutdown()
            server.server_close()
