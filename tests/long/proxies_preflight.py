"""Checks requests of pages of other origins. Preflights reach the application without an identity, refusals name only
configured origins, and no other OPTIONS request bypasses the decision."""

from proxies_process import check_identity

# The origin in the shipped configurations.
PAGE = "https://page.example"
ELSEWHERE = "https://elsewhere.example"
METHOD = ("Access-Control-Request-Method", "PUT")
PREFLIGHT = [("Origin", PAGE), METHOD, ("Access-Control-Request-Headers", "authorization")]
OVERRIDES = ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"]
# With each of these, the request is no preflight any more, and it has no token.
ADDED = [
    [("Origin", ELSEWHERE)],
    [METHOD],
    [("Authorization", "Bearer x")],
    [("Authorization", "x")],
    [("Proxy-Authorization", "Basic YTpi")],
    [("Cookie", "session=1")],
    [("Upgrade", "websocket")],
    # The head ends inside the value, and a body follows.
    [("Content-Length", "4\r\n\r\n")],
    [("Transfer-Encoding", "chunked\r\n\r\n0")],
    [("Rolegate-Role", "admin")],
    [("Rolegate-Groups", "staff")],
    [("Rolegate-User-Id", "1"), ("Rolegate-Username", "admin"), ("Rolegate-Role", "admin")],
]
REPLACED = [
    [METHOD],
    [("Origin", PAGE)],
    [("Origin", ""), METHOD],
    [("Origin", PAGE), ("Access-Control-Request-Method", "")],
    [("Origin", f"{PAGE}, {ELSEWHERE}"), METHOD],
    [("Origin", PAGE), ("Access-Control-Request-Method", "GET, PUT")],
]
# nginx before 1.23 reads only the first of several headers, and passes only that one on.
FIRST_COUNTS = {"nginx": [[("Origin", ELSEWHERE)], [METHOD]]}
# Envoy removes these headers before it looks at anything else, so a preflight without them arrives.
REMOVED = {"envoy": ["Upgrade", "Rolegate-Role", "Rolegate-Groups"]}


def preflights(proxy):
    for path in ("/x", "/admin/x"):
        for origin in (PAGE, ELSEWHERE, "null"):
            for more in ([], [("Content-Length", "0")], [(name, "DELETE") for name in OVERRIDES]):
                response = proxy.ask(path, ("Origin", origin), *PREFLIGHT[1:], *more, method="OPTIONS")
                what = (proxy.name, path, origin, more, response.status, response.headers)
                assert response.status == 200, what
                check_identity(response.seen, None, what)
                seen = [(name.lower(), value) for name, value in response.seen["headers"]]
                assert [value for name, value in seen if name == "origin"] == [origin], (*what, seen)
                assert not {name.lower() for name in OVERRIDES} & {name for name, _ in seen}, (*what, seen)
                # Only the application decides which pages may use it.
                assert not response.all("access-control-allow-origin"), what


def ways_around(proxy, ann, admin):
    for sent in [[*PREFLIGHT, *more] for more in ADDED] + REPLACED:
        for path in ("/admin/x", "/x"):
            response = proxy.ask(path, *sent, method="OPTIONS")
            what = (proxy.name, path, sent, response.status, response.seen)
            if sent in [[*PREFLIGHT, *it] for it in FIRST_COUNTS.get(proxy.name, [])]:
                assert sum(name == "Origin" for name, _ in response.seen["headers"]) == 1, what
            elif sent[-1][0] in REMOVED.get(proxy.name, []):
                check_identity(response.seen, None, what)
                assert all(name.lower() != "upgrade" for name, _ in response.seen["headers"]), what
            else:
                assert response.seen is None, what
                assert response.status in (400, 401, 411), what
    for method in ("GET", "HEAD", "POST", "PUT", "OPTION", "OPTIONSX"):
        response = proxy.ask("/admin/x", *PREFLIGHT, method=method)
        assert response.seen is None and response.status in (400, 401, 405), (proxy.name, method, response.status)
    proxy.expect(403, "/admin/x", ann.bearer, *PREFLIGHT, method="OPTIONS")
    for user, path in ((admin, "/admin/x"), (ann, "/x")):
        proxy.expect(200, path, user.bearer, *PREFLIGHT, method="OPTIONS", identity=user.identity)


def check_readable(response, origin, what):
    """Checks that a page of this origin may read the response if and only if the origin is configured."""
    allowed = [PAGE] if origin == PAGE else []
    assert response.all("access-control-allow-origin") == allowed, (*what, response.headers)
    assert "origin" in ",".join(response.all("vary")).lower(), (*what, response.headers)
    assert response.all("access-control-allow-credentials") == [], (*what, response.headers)
    if allowed and response.status in (401, 429, 503):
        header = "WWW-Authenticate" if response.status == 401 else "Retry-After"
        assert response.all(header.lower()), (*what, response.headers)
        exposed = ",".join(response.all("access-control-expose-headers"))
        assert header.lower() in exposed.lower(), (*what, response.headers)


def refusals_for_pages(proxy, ann):
    origins = [PAGE, ELSEWHERE, "null", f"{PAGE}.evil.example", PAGE[:-1], PAGE.replace("https", "http"), f"{PAGE}:8443",
               f"{ELSEWHERE}, {PAGE}", "*", None]
    for status, path, credentials in ((401, "/x", []), (401, "/x", [("Authorization", "Bearer x")]),
                                      (403, "/admin/x", [ann.bearer])):
        for origin in origins:
            sent = [("Origin", origin)] if origin else []
            response = proxy.expect(status, path, *credentials, *sent)
            check_readable(response, origin, (proxy.name, path, origin))
            assert len(response.all("rolegate-reason")) == 1, (proxy.name, path, response.headers)
    twice = proxy.ask("/x", ("Origin", ELSEWHERE), ("Origin", PAGE))
    assert twice.all("access-control-allow-origin") == [], (proxy.name, twice.headers)
    # The headers of the application's own answers must not be changed.
    for path in ("/x", "/public/x", "/status/403", "/status/503"):
        response = proxy.ask(path, ann.bearer, ("Origin", PAGE))
        assert response.seen and not response.all("access-control-allow-origin"), (proxy.name, response.headers)
