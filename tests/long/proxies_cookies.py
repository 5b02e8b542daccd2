"""Checks what a proxy tells Rolegate about the requests of browsers, and which cookies the application gets."""

import json
import time

from proxies_fake_rolegate import HEADERS, IDENTITY, FakeRolegate
from proxies_network import connected, until
from proxies_process import Proxy, configuration
from proxies_streams import KEY
from proxies_upgrades import ask_http2, tunnel

SESSION = "rgs_" + "A" * 43
# The cookies of Rolegate for applications, and those of its console.
FOR_APPLICATIONS = [f"{name}={SESSION}" for name in ("__Host-rolegate", "__Secure-rolegate", "rolegate")]
OWN = FOR_APPLICATIONS + [f"{name}={SESSION}" for name in ("__Host-rolegate-console", "rolegate-console")]
# None of these is a cookie of Rolegate.
OTHERS = ["a=1", "x__Host-rolegate=2", "__host-rolegate=3", "rolegates=4", "rolegate-consoles=5", "b=rolegate=6",
          'c="7, 8"', "d=", "__Host-session=9", "e=__Host-rolegate", "=10"]
NAVIGATION = [("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Site", "cross-site"), ("Accept", "text/html,*/*;q=0.8")]
FETCH = [("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Site", "same-origin"), ("Origin", "http://app.example"),
         ("Accept", "application/json")]


def lines_of_cookies():
    """Yields lists of `Cookie` headers, with the cookies that the application must get from them."""
    few = OTHERS[:2]
    for own in OWN:
        yield [own], []
        yield [f"{own}; a=1"], ["a=1"]
        yield [f"a=1; {own}"], ["a=1"]
        yield [f"a=1; {own}; b=2"], ["a=1", "b=2"]
        yield [f"a=1;{own};b=2"], ["a=1", "b=2"]
        yield [f"{own}; a=1; {own}; {own}; b=2; {own}"], ["a=1", "b=2"]
        yield [own, "a=1"], ["a=1"]
        yield ["a=1", own, "b=2"], ["a=1", "b=2"]
        yield [f"a=1; {own}", f"{own}; b=2"], ["a=1", "b=2"]
        yield [f"a=1; {own.replace('=', ' =')}"], ["a=1"]
    between = [cookie for pair in zip(OTHERS, OWN) for cookie in pair]
    yield ["; ".join(between)], OTHERS[:len(OWN)]
    yield ["; ".join(OWN)], []
    yield ["; ".join(OTHERS)], OTHERS
    yield ["; ".join([*few, *OWN, *OTHERS])], [*few, *OTHERS]
    yield ["a=" + "x" * 5000 + "; " + OWN[0] + "; b=" + "; y=z" * 300], ["a=" + "x" * 5000, "b=", *["y=z"] * 300]


def cookies_of(seen):
    values = [value for name, value in seen["headers"] if name.lower() == "cookie"]
    return [cookie.strip() for value in values for cookie in value.split(";") if cookie.strip()], values


def only_other_cookies_arrive(proxy):
    bearer = [("Authorization", "Bearer x")]
    for lines, others in lines_of_cookies():
        sent = [("Cookie", line) for line in lines]
        for path, more, identity in (("/public/x", [], None), ("/x", [], IDENTITY), ("/x", bearer, IDENTITY),
                                     ("/admin/x", FETCH, IDENTITY)):
            seen = proxy.expect(200, path, *more, *sent, identity=identity).seen
            found, values = cookies_of(seen)
            what = (proxy.name, path, lines, values)
            assert found == others and SESSION not in str(seen), what
            # The other cookies arrive byte for byte as browsers send them. Without any, there is no header.
            as_sent = [[separator.join(others)] if others else [] for separator in ("; ", ";")]
            assert len(lines) > 1 or values in as_sent, what
    # An attacker may send more cookies than a browser has, and no session among them may arrive.
    many = "; ".join([*OWN * 5, "a=1", *OWN * 5])
    assert SESSION not in str(proxy.expect(200, "/public/x", ("Cookie", many)).seen), proxy.name
    # A pattern that started again at each blank would take 8 seconds or more.
    begun = time.monotonic()
    proxy.expect(200, "/public/x", ("Cookie", f"a=1;{' ' * 7000}x"))
    assert time.monotonic() - begun < 2, proxy.name


def crumbs(name, application):
    """Checks cookies that HTTP/2 divides among several headers."""
    files = configuration(name)
    for file, text in files.items():
        text = text.replace("listen 127.0.0.1:8088;", "listen 127.0.0.1:8088; listen 127.0.0.1:8089 http2;")
        files[file] = text.replace("\tadmin off\n", "\tadmin off\n\tservers {\n\t\tprotocols h1 h2c\n\t}\n")
    proxy, fake = Proxy(name, application, files), FakeRolegate(is_grpc=name == "envoy")
    fake.status = 200
    try:
        proxy.relay.forward(to=fake.port)
        for path in ("/public/x", "/x"):
            for order in (["a=1", OWN[0], "b=2"], [OWN[0], "a=1", "b=2"], ["a=1", "b=2", OWN[0]],
                          ["a=1", f"b=2; {OWN[0]}"]):
                pseudo = [(":method", "GET"), (":path", path), (":scheme", "http"), (":authority", "app.example")]
                status, body = ask_http2(connected(proxy.http2_port), pseudo + [("cookie", crumb) for crumb in order])
                what = (name, path, order, status, body)
                if status != 200:
                    # HAProxy 2.6 refuses HTTP/2 without TLS.
                    assert name == "haproxy" and status in (None, 400), what
                    continue
                assert cookies_of(json.loads(body))[0] == ["a=1", "b=2"] and SESSION.encode() not in body, what
                assert path == "/public/x" or SESSION in str(fake.last("cookie")), (*what, fake.asked)
    finally:
        proxy.stop()
        fake.stop()


def decisions_know_the_request(proxy, fake):
    """Checks that Rolegate gets one value of each header, and none that the browser did not send."""
    forged = [(f"X-Forwarded-{name}", value) for name, value in (
        ("Method", "GET"), ("Method", "HEAD"), ("Proto", "https"), ("Host", "evil.example"), ("Uri", "/sign-in"))]
    cookie, referer = ("Cookie", f"a=1; {OWN[0]}; b=2"), ("Referer", "http://app.example:8443/edit?c=d")
    for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
        for browser in (NAVIGATION, FETCH, [("Accept", "*/*")], [("Accept", "text/html")], []):
            proxy.ask("/x?a=1", cookie, referer, *browser, *forged, method=method, host="app.example:8443")
            what = (proxy.name, method, browser, fake.asked)
            for name, value in (("method", method), ("proto", "http"), ("host", "app.example:8443"), ("uri", "/x?a=1")):
                assert fake.last(f"x-forwarded-{name}") == [value], (name, what)
            assert "".join(fake.last("referer")) == referer[1], what
            said = dict(browser)
            origin = [said["Origin"]] if "Origin" in said else []
            assert fake.last("origin") in (origin, origin or [""]), what
            site = [said["Sec-Fetch-Site"]] if "Sec-Fetch-Site" in said else []
            assert fake.last("sec-fetch-site") in (site, site or [""]), what
            mode, accept = "".join(fake.last("sec-fetch-mode")), "".join(fake.last("accept"))
            is_page = mode == "navigate" or (not fake.last("sec-fetch-mode") and "text/html" in accept)
            is_navigation = "html" in said.get("Accept", "")
            assert is_page == is_navigation and mode != "websocket", what
            for name in ("upgrade", "sec-websocket-key", "sec-websocket-version"):
                assert not fake.last(name), what
            cookies = "".join(fake.last("cookie"))
            assert cookies.count(SESSION) == 1 and (proxy.name == "envoy" or "a=1" not in cookies), what
    # If the browser sends two session cookies, Rolegate must get both.
    for lines in ([f"{OWN[0]}; a=1; {OWN[0]}"], [OWN[0], OWN[0]]):
        fake.asked = []
        proxy.ask("/x", *(("Cookie", line) for line in lines))
        assert str(fake.last("cookie")).count(SESSION) == 2, (proxy.name, lines, fake.asked)
    # A cookie inside the value of another one does not count.
    proxy.ask("/x", ("Cookie", f"a=1,{OWN[0]}; b=({OWN[1]})"))
    names = [pair.split("=")[0].strip() for value in fake.last("cookie") for pair in value.split(";")]
    assert not {own.split("=")[0] for own in OWN} & set(names), (proxy.name, fake.asked)


def upgrades_are_changes(proxy, fake):
    """Checks that Rolegate learns about an upgrade whatever else the request says, because a page of another site could
    open a WebSocket."""
    for more in ([], [("Sec-Fetch-Mode", "navigate")], [("X-Forwarded-Method", "GET")],
                 [("Authorization", "Basic YTpi")]):
        tunnel(proxy.connected(), "GET", "/x", [("Upgrade", "websocket"), *KEY, ("Cookie", OWN[0]), *more])
        says = fake.last("upgrade") + fake.last("sec-websocket-key") + fake.last("sec-websocket-version")
        assert says or fake.last("sec-fetch-mode") == ["websocket"], (proxy.name, more, fake.asked)


def passwords_tell_the_browser(proxy, fake):
    """Checks that with `Authorization`, Rolegate gets no cookie, but every header that tells whether another site
    caused the request."""
    for credentials in (("Authorization", "Basic YTpi"), ("Authorization", "Bearer x")):
        for method in ("GET", "POST"):
            for browser in (NAVIGATION, FETCH, [("Accept", "text/html")], []):
                proxy.ask("/x?a=1", credentials, *browser, ("X-Forwarded-Method", "HEAD"), method=method)
                what = (proxy.name, method, credentials, browser, fake.asked)
                said = dict(browser)
                assert fake.last("authorization") == [credentials[1]], what
                for name, value in (("method", method), ("proto", "http"), ("host", "app.example")):
                    assert fake.last(f"x-forwarded-{name}") == [value], what
                for name in ("Sec-Fetch-Site", "Origin"):
                    assert "".join(fake.last(name.lower())) == said.get(name, ""), what
                mode, accept = "".join(fake.last("sec-fetch-mode")), "".join(fake.last("accept"))
                is_page = mode == "navigate" or (not mode and "text/html" in accept)
                assert is_page == ("html" in said.get("Accept", "")), what
                assert mode in ("", "navigate", said.get("Sec-Fetch-Mode")), what
                for name in ("upgrade", "sec-websocket-key", "sec-websocket-version"):
                    assert not fake.last(name), what
        proxy.ask("/x", credentials, ("Cookie", OWN[0]))
        assert not fake.last("cookie") or proxy.name in ("envoy", "traefik"), (proxy.name, fake.asked)


def redirects(proxy, fake):
    fake.status = 303
    for path in ("/x?a=1", "/admin/x"):
        for method in ("GET", "HEAD"):
            response = proxy.expect(303, path, *NAVIGATION, method=method)
            what = (proxy.name, path, response.headers)
            assert response.all("location") == [HEADERS[303]["location"]], what
            assert response.all("cache-control") == ["no-store"], what
    fake.status = 200


def cookies_and_redirects(proxy):
    fake = FakeRolegate(is_grpc=proxy.name == "envoy")
    fake.status = 200
    proxy.relay.forward(to=fake.port)
    until(f"{proxy.name} to ask", lambda: proxy.ask("/x", ("Authorization", "Bearer x")).status == 200, 30)
    try:
        only_other_cookies_arrive(proxy)
        decisions_know_the_request(proxy, fake)
        passwords_tell_the_browser(proxy, fake)
        upgrades_are_changes(proxy, fake)
        redirects(proxy, fake)
    finally:
        fake.stop()
        proxy.relay.forward()


def schemes(response):
    return [challenge.split(" ")[0] for value in response.all("www-authenticate") for challenge in value.split(", ")]


def passwords_that_browsers_remember(proxy, ann):
    """Checks that another site cannot change anything by a remembered password, and that no password dialog opens in
    place of the sign-in page."""
    cross_site = ("Sec-Fetch-Site", "cross-site")
    for mode in ("navigate", "no-cors"):
        for method in ("POST", "PUT", "DELETE"):
            sent = (ann.basic, cross_site, ("Sec-Fetch-Mode", mode))
            refused = proxy.expect(403, "/x", *sent, method=method)
            assert refused.all("rolegate-reason") == ["CROSS_SITE"], (proxy.name, mode, method, refused.headers)
    first, _ = tunnel(proxy.connected(), "GET", "/x", [
        ("Upgrade", "websocket"), *KEY, ann.basic, cross_site, ("Sec-Fetch-Mode", "websocket")])
    assert first.startswith(b"HTTP/1.1 403"), (proxy.name, first)
    # A link on another site may lead here, and a page of the application may change something.
    proxy.expect(200, "/x", ann.basic, cross_site, ("Sec-Fetch-Mode", "navigate"), identity=ann.identity)
    own = (("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Mode", "cors"))
    proxy.expect(200, "/x", ann.basic, *own, method="POST", identity=ann.identity)
    own_cookie_twice = ("Cookie", f"{OWN[0]}; {OWN[0]}")
    # A browser that does not send Sec-Fetch-Mode accepts HTML.
    accepts_pages = ("Accept", "text/html")
    wrong = ("Authorization", "Basic YTpi")
    # Caddy says that a request is a navigation if the browser sends no Sec-Fetch-Mode and accepts HTML.
    pages, other_pages = [("Sec-Fetch-Mode", "navigate")], [accepts_pages]
    if proxy.name == "caddy":
        pages, other_pages = [*pages, accepts_pages], []
    for sent in ([own_cookie_twice, *NAVIGATION], [own_cookie_twice, accepts_pages]):
        # There must be no Basic challenge, although nginx passes on the challenge that it gets.
        assert "Basic" not in schemes(proxy.expect(303, "/x", *sent)), (proxy.name, sent)
    for sent in ([own_cookie_twice], [own_cookie_twice, *FETCH], FETCH, *([wrong, it] for it in other_pages)):
        refused = proxy.expect(401, "/x", *sent)
        assert schemes(refused) == ["Bearer"], (proxy.name, sent, refused.headers)
        assert not refused.all("location"), (proxy.name, sent, refused.headers)
    # A browser with an outdated password is still redirected to the sign-in page.
    for page in pages:
        led = proxy.expect(303, "/x", wrong, page)
        assert "".join(led.all("location")).startswith("/sign-in?return="), (proxy.name, led.headers)
    # Programs learn from the challenge that they can use HTTP Basic.
    for sent in ([], [wrong], [wrong, *FETCH], [("Accept", "*/*")]):
        refused = proxy.expect(401, "/x", *sent)
        assert schemes(refused) == ["Basic", "Bearer"], (proxy.name, sent, refused.headers)
    refused = proxy.expect(401, "/x", ("Authorization", "Bearer nonsense"))
    challenges = refused.all("www-authenticate")
    assert challenges == ['Basic realm="Rolegate"', 'Bearer error="invalid_token"'], (proxy.name, challenges)
