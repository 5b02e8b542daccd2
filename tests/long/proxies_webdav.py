"""Checks COPY and MOVE of WebDAV, whose second path is in `Destination`."""

from proxies_deployments import APPLICATION, with_tls
from proxies_paths import DISGUISED, lenient
from proxies_process import Proxy

# Source, target, and whether one rule covers both.
PAIRS = [("/x", "/y", True), ("/x", "/files/y", True), ("/public/x", "/public/y", True), ("/admin/x", "/admin/y", True),
         ("/admin/x", "/Admin/a%20b", True), ("/x/", "/y/", True),
         ("/x", "/admin/y", False), ("/x", "/ADMIN/y", False), ("/x", "/public/y", False), ("/public/x", "/y", False),
         ("/public/x", "/admin/y", False), ("/admin/x", "/y", False), ("/admin/x", "/public/y", False),
         ("/x", "/adminstrator", False),
         # Everything in a folder would move, too, so both must be below the rule as a whole.
         ("/x", "/public", False), ("/public/x", "/public", False), ("/public", "/y", False), ("/public", "/public/y", False),
         ("/", "/y", False), ("/", "/public/y", False), ("/x", "/", False), ("/", "/", False)]
UNCLEAR = ["", "y", "*", "/y?a", "/y#a", "/y b", "/y,/admin/y"]


def top_of(destination):
    return lenient(destination).split("/")[1]


def here(proxy):
    """Returns the ways in which `Destination` can name the host of the request: not at all, or by its origin in two
    spellings."""
    scheme = "https" if proxy.tls_name else "http"
    return ["", f"{scheme}://{proxy.host}", f"{scheme}://{proxy.host}".upper()]


def elsewhere(proxy):
    scheme, other = ("https", "http") if proxy.tls_name else ("http", "https")
    host = proxy.host
    return [f"{other}://{host}", f"{scheme}://{host.partition(':')[0]}:1", f"{scheme}://{host}.evil.example",
            f"{scheme}://evil.example", f"{scheme}://a@{host}", f"{scheme}://{host}@evil.example", f"//{host}",
            f"{scheme}:///{host}", f"{scheme}://{host}/..", f"{scheme}:", host, "."]


def destinations(proxy, ann, admin):
    """Checks that a user may write below `/`, but reaches nothing in `/admin` or `/public/` by the second path."""
    for method in ("MOVE", "COPY", "GET"):
        for source, target, is_one_rule in PAIRS:
            who = admin if source.startswith("/admin") else ann
            credentials = [] if source.startswith("/public") else [who.bearer]
            for origin in here(proxy):
                response = proxy.ask(source, *credentials, ("Destination", origin + target), method=method)
                what = (proxy.name, method, source, origin + target, response.status)
                assert response.status == (200 if is_one_rule else 403), what
                assert (response.seen is not None) == is_one_rule, what
                if is_one_rule:
                    assert received(response) == [origin + target], (*what, response.seen)
    for destination in [origin + "/y" for origin in elsewhere(proxy)] + UNCLEAR:
        response = proxy.ask("/x", ann.bearer, ("Destination", destination), method="MOVE")
        if response.seen is None:
            assert response.status in (400, 403), (proxy.name, destination, response.status)
        else:
            # The application gets no destination, or a text that it reads as one path below `/`.
            assert received(response) in ([], [""], ["/y,/admin/y"]), (proxy.name, destination, response.seen)
    for path in DISGUISED:
        if not path.startswith("/"):
            continue
        for origin in here(proxy)[:2]:
            response = proxy.ask("/x", ann.bearer, ("Destination", origin + path), method="MOVE")
            if response.seen is not None:
                what = (proxy.name, origin + path, response.seen)
                assert received(response) == [origin + path] and top_of(path) != "admin", what
                assert not path.startswith("/public/"), what
    for two in (["/y", "/admin/y"], ["/admin/y", "/y"], ["/y", "admin/y"], ["/y", f"{here(proxy)[1]}/admin/y"]):
        response = proxy.ask("/x", ann.bearer, *(("Destination", it) for it in two), method="MOVE")
        # nginx before 1.23 passes on the first header, and Caddy joins all of them.
        if response.seen is not None:
            assert received(response) in (["/y"], ["/y,admin/y"], ["/y,/admin/y"]), (proxy.name, two, response.seen)
    # The second path does not replace the decision about the first, and its own rule does not count.
    proxy.expect(401, "/x", ("Destination", "/y"), method="MOVE")
    proxy.expect(403, "/admin/x", ann.bearer, ("Destination", "/admin/y"), method="MOVE")


def received(response):
    return [value for name, value in response.seen["headers"] if name.lower() == "destination"]


def destinations_over_tls(name, application, ann, admin):
    proxy = Proxy(name, application, with_tls(name, True), tls_name=APPLICATION)
    try:
        destinations(proxy, ann, admin)
    finally:
        proxy.stop()
    print(f"proxies: {name} keeps COPY and MOVE below one rule", flush=True)
