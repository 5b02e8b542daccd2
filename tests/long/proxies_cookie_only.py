"""Checks applications that use `Authorization` themselves, so that only the cookie of a sign-in decides."""

from proxies_fake_rolegate import IDENTITY, FakeRolegate
from proxies_network import until
from proxies_process import IDENTITY as IDENTITY_HEADER
from proxies_process import Proxy, configuration

# The changes of docs/proxies/applications.md after which only the cookie decides on the route for any user.
CHANGES = {
    "nginx": [("location / { auth_request", "location / { include rolegate-cookie-only.conf; auth_request")],
    "caddy": [('import rolegate "?"', 'import rolegate_cookie_only "?"')],
    "haproxy": [("lua.rolegate /authorize if", "lua.rolegate /authorize?credentials=cookie if")],
    "envoy": [('{ roles: "*" }', '{ roles: "*", credentials: cookie }'),
              ("request_headers_to_remove: [authorization]", "")],
    "traefik": [("[rolegate, users, private, no-credentials]", "[rolegate, users-by-cookie, private, other-cookies]")],
}
COOKIE = ("Cookie", "a=1; __Host-rolegate=rgs_" + "A" * 43)
NAVIGATION = ("Sec-Fetch-Mode", "navigate")


def changed(name):
    files = configuration(name)
    for shipped, instead in CHANGES[name]:
        assert any(shipped in text for text in files.values()), (name, shipped)
        files = {file: text.replace(shipped, instead) for file, text in files.items()}
    return files


def seen_by_application(proxy, *headers):
    """Sends a request that Rolegate lets pass, and returns the credentials and the identity that the application
    gets."""
    response = proxy.ask("/x", *headers)
    assert response.status == 200, (proxy.name, headers, response.status, response.headers)
    headers = response.seen["headers"]
    credentials = [value for name, value in headers if name.lower() == "authorization"]
    identity = {name.lower(): value for name, value in headers if IDENTITY_HEADER.match(name)}
    return credentials, identity.get("rolegate-username")


def cookie_only(name, application, ann):
    proxy = Proxy(name, application, changed(name))
    try:
        # With the real Rolegate, its own credentials in `Authorization` do not count, and no challenge invites a
        # password.
        for header in ([ann.bearer], [ann.basic], []):
            for more in ([], [("Cookie", "__Host-rolegate=x")]):
                challenges = proxy.expect(401, "/x", *header, *more).all("www-authenticate")
                assert [it.split(" ")[0] for it in challenges] == ["Bearer"], (name, challenges)
        led = proxy.expect(303, "/x", ann.bearer, NAVIGATION)
        assert "/sign-in?return=%2Fx" in "".join(led.all("location")), (name, led.headers)
        # The other routes still accept credentials. In Envoy, the change is for the whole virtual host.
        proxy.expect(403, "/admin/x", ann.bearer)
        if name != "envoy":
            proxy.expect(200, "/public/x", ann.bearer)
        decisions(proxy)
    finally:
        proxy.stop()
    print(f"proxies: {name} leaves Authorization to an application whose users have a cookie", flush=True)


def decisions(proxy):
    fake = FakeRolegate(is_grpc=proxy.name == "envoy")
    fake.status = 200
    proxy.relay.forward(to=fake.port)
    try:
        until(f"{proxy.name} to ask", lambda: proxy.ask("/x", COOKIE).status == 200, 30)
        for own in ("Basic YTpi", "Bearer of-the-application", "token x, y"):
            sent = ("Authorization", own)
            fake.asked = []
            assert seen_by_application(proxy, sent, COOKIE) == ([own], IDENTITY[1]), (proxy.name, own)
            what = (proxy.name, own, fake.asked)
            assert "rgs_" in "".join(fake.last("cookie")) and fake.last("x-forwarded-uri") == ["/x"], what
            # Envoy sends `Authorization` to Rolegate, which does not read it on such a route.
            assert proxy.name == "envoy" or not "".join(fake.last("authorization")), what
        assert seen_by_application(proxy, COOKIE)[0] == [], proxy.name
        # On other routes, only Rolegate gets `Authorization`.
        if proxy.name != "envoy":
            proxy.expect(200, "/admin/x", ("Authorization", "Basic YTpi"), identity=IDENTITY)
    finally:
        fake.stop()
        proxy.relay.forward()
