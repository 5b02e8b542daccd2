"""Attacks the sessions of people who have signed in at the page, through each proxy in both deployments."""

import contextlib
from urllib.parse import quote

from proxies_deployments import APPLICATION, DOMAIN, OTHER
from proxies_network import call, connected
from proxies_process import check_identity
from proxies_streams import KEY
from proxies_upgrades import head

NAVIGATION = [("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Site", "cross-site"), ("Accept", "text/html")]
SAME = ("Sec-Fetch-Site", "same-origin")


def expect(deployment, status, *headers, path="/x", identity=None, **options):
    response = deployment.app.ask(path, *headers, **options)
    what = f"{deployment.name}: {options} {path} {headers}: {response.status} {response.headers} {response.body[:300]}"
    assert response.status == status and (response.seen is None) == (status != 200), what
    if response.seen:
        check_identity(response.seen, identity, what)
        assert "rg" not in str([it for it in response.seen["headers"] if it[0].lower() == "cookie"]), what
    return response


def sessions_are_safe(deployment, user, admin, password):
    pair = deployment.sign_in(user.name, password)
    cookie, session = ("Cookie", pair), pair.split("=")[1]
    expect(deployment, 200, cookie, identity=user.identity)
    expect(deployment, 200, ("Cookie", f"a=1; {pair}; b=2"), identity=user.identity)
    expect(deployment, 403, cookie, path="/admin/x")
    assert deployment.app.ask("/public/x", cookie).seen, deployment.name
    cross_site_requests(deployment, user, cookie)
    # An attacker has set one of the two cookies.
    other = deployment.sign_in("admin", password)
    for lines in ([f"{pair}; {other}"], [f"{other}; {pair}"], [pair, other], [f"{pair}; a=1", other]):
        cookies = [("Cookie", line) for line in lines]
        for more in ([], [SAME]):
            expect(deployment, 401, *cookies, *more)
        (page,) = expect(deployment, 303, *cookies, *NAVIGATION).all("location")
        assert page.endswith("&two_sessions"), (deployment.name, page)
    # An ended session does not count, and a session that is sent twice counts once.
    dead = f"{deployment.cookie}={session[:4]}{'A' * 43}"
    for lines in ([pair, pair], [f"{pair}; {pair}"], [f"{dead}; {pair}"], [pair, dead], [f"{dead}; a=1", pair]):
        for more in ([], NAVIGATION):
            expect(deployment, 200, *(("Cookie", line) for line in lines), *more, identity=user.identity)
    for size in (5_000, 60_000, 200_000):
        for large in (pair + "A" * size, f"{pair}; a=" + "x" * size, "; ".join([pair] * (size // 60))):
            before, status = deployment.app.application.received, 400
            # HAProxy may close the connection before the rest of a head has arrived.
            with contextlib.suppress(ConnectionError):
                status = deployment.app.ask("/admin/x", ("Cookie", large)).status
            what = (deployment.name, size, status)
            assert 400 <= status < 504 and deployment.app.application.received == before, what
    # An attacker could set a cookie with another name, so it counts as no session here.
    for name in ("__Host-rolegate", "__Secure-rolegate", "rolegate", "__Host-rolegate-console"):
        if name != deployment.cookie:
            expect(deployment, 401, ("Cookie", f"{name}={session}"))
    bearer_tokens(deployment, session)
    led_to_the_page(deployment, user, cookie)
    # Credentials in `Authorization` take precedence over cookies.
    expect(deployment, 401, cookie, ("Authorization", "Bearer x"))
    expect(deployment, 200, cookie, admin.bearer, identity=admin.identity)
    deployment.sign_out(other)
    expect(deployment, 200, cookie, identity=user.identity)
    deployment.sign_out(pair)
    # The cookie was stolen before the sign-out.
    expect(deployment, 401, cookie)
    expect(deployment, 401, cookie, SAME, method="POST")


def cross_site_requests(deployment, user, cookie):
    app = deployment.app
    own, port = f"https://{app.host}", app.port
    forged = [[], [("X-Forwarded-Method", "GET")], [("X-Forwarded-Method", "HEAD"), ("X-HTTP-Method-Override", "GET")],
              [("X-Forwarded-Host", "evil.example"), ("X-Forwarded-Proto", "https"), ("X-Forwarded-Uri", "/")],
              [("X_Forwarded_Method", "GET")]]
    wrong = [[], *([("Sec-Fetch-Site", site)] for site in ("cross-site", "same-site", "none", "")),
             *([("Origin", it)] for it in (
                 "https://evil.example", "null", own.replace("https", "http"), f"https://{APPLICATION}",
                 f"{own}.evil.example", f"https://evil.{DOMAIN}:{port}"))]
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
        for headers in wrong:
            for more in forged if headers in wrong[:2] else [[]]:
                response = app.ask("/x", cookie, *headers, *more, method=method)
                # Envoy refuses headers with "_" in the name.
                refused = [403, 400] if more == forged[-1] else [403]
                what = (deployment.name, method, headers, more, response.status)
                assert response.seen is None and response.status in refused, what
        for headers in ([SAME], [("Origin", own)], [SAME, ("Origin", own)]):
            expect(deployment, 200, cookie, *headers, method=method, identity=user.identity)
    if deployment.cookie == "__Secure-rolegate":
        expect(deployment, 200, cookie, ("Sec-Fetch-Site", "same-site"), ("Origin", f"https://{OTHER}:{port}"),
               method="POST", identity=user.identity)
    for method in ("GET", "HEAD"):
        for headers in wrong:
            identity = user.identity if method == "GET" else None
            expect(deployment, 200, cookie, *headers, method=method, identity=identity)
    # A WebSocket begins with a GET.
    upgrade = [("Upgrade", "websocket"), *KEY]
    for headers in (*wrong, [("X-Forwarded-Method", "GET")], [("Sec-Fetch-Mode", "navigate")]):
        before = app.application.received
        status = upgrade_status(app, [cookie, *upgrade, *headers])
        assert (status, app.application.received) == (403, before), (deployment.name, headers, status)
    before = app.application.received
    upgrade_status(app, [cookie, *upgrade, ("Origin", own), ("Sec-Fetch-Mode", "websocket")])
    assert app.application.received == before + 1, deployment.name


def upgrade_status(app, headers):
    lines = head("GET", "/x", headers).replace(b"Host: app.example\r\n", f"Host: {app.host}\r\n".encode())
    with connected(app.port, app.tls_name) as connection:
        connection.sendall(lines)
        return int((connection.recv(65536) or b"x 0 x").split(b" ")[1])


def bearer_tokens(deployment, session):
    """Checks that the cookie's value is no bearer token, because an application or every host of a domain receives the
    cookie."""
    bearer = ("Authorization", f"Bearer {session}")
    expect(deployment, 401, bearer)
    for path in ("/me", "/users/me", "/sessions"):
        try:
            call("GET", path, None, session, deployment.urls)
            raise AssertionError((deployment.name, path))
        except OSError as refused:
            assert refused.code in (401, 404, 405), (deployment.name, path, refused)


def led_to_the_page(deployment, user, cookie):
    app, page = deployment.app, deployment.page
    here = "" if app is page else f"https://{page.host}"
    for path in ("/x?a=1&b=/", "/admin/x", "/"):
        back = path if app is page else f"https://{app.host}{path}"
        for more in ([], [("Cookie", "a=1")], [("Cookie", f"{deployment.cookie}=rgs_nonsense")]):
            response = expect(deployment, 303, *NAVIGATION, *more, path=path)
            expected = [f"{here}/sign-in?return={quote(back, safe='*-._')}"]
            assert response.all("location") == expected, (deployment.name, response.headers, expected)
            assert response.all("cache-control") == ["no-store"], (deployment.name, response.headers)
            refused = expect(deployment, 401, ("Accept", "application/json"), *more, path=path)
            assert not refused.all("location"), (deployment.name, refused.headers)
    # The return address is the page of the form, if the proxy sends it and it is on this host.
    for referer, back in ((f"https://{app.host}/edit?a=b", "/edit?a=b"), ("https://evil.example/x", "/"), ("", "/")):
        back = back if app is page else f"https://{app.host}{back}"
        response = expect(deployment, 303, *NAVIGATION, ("Referer", referer), path="/save?c=d", method="POST")
        expected = [f"{here}/sign-in?return={quote(back, safe='*-._')}&unsaved"]
        assert response.all("location") == expected, (deployment.name, response.headers, expected)
    response = expect(deployment, 303, *NAVIGATION, path="/" + "x" * 3000)
    assert response.all("location")[0].endswith("%2F&too_long"), (deployment.name, response.headers)
    # A person who may not see a page gets a refusal, and is not redirected.
    expect(deployment, 403, cookie, *NAVIGATION, path="/admin/x")
    # Of Rolegate, only the sign-in page passes without a decision.
    for path in ("/sign-in", "/sign-in?return=/x", "/sign-out"):
        response = app.ask(path)
        assert response.status == (200 if app is page else 401) and response.seen is None, (deployment.name, path)
    for path in ("/console/", "/login", "/users", "/me", "/sign-inn", "/sign-outs", "/sign-out/x", "/docs"):
        expect(deployment, 401, path=path)
        assert expect(deployment, 200, cookie, path=path, identity=user.identity).seen["path"] == path
