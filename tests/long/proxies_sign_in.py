"""People who sign in at the page: attacks on their sessions, and Chromium through each proxy in both deployments."""

import json
import tempfile
from urllib.parse import quote

from proxies_browser import start
from proxies_deployments import APPLICATION, DOMAIN, OTHER, domain, own_host
from proxies_network import call
from proxies_process import Application, check_identity
from proxies_streams import KEY
from proxies_upgrades import head
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

NAVIGATION = [("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Site", "cross-site"), ("Accept", "text/html")]
SAME = ("Sec-Fetch-Site", "same-origin")
# Of each proxy in each deployment; 1,000 of all five.
DECISIONS = 100
STATUS = """
const [path, options, done] = arguments;
fetch(path, { redirect: "manual", ...options }).then((it) => done(it.status || it.type), (it) => done(String(it)));
"""


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
    # Somebody else has set one of them.
    other = deployment.sign_in("admin", password)
    for lines in ([f"{pair}; {other}"], [f"{other}; {pair}"], [pair, other], [pair, pair], [f"{pair}; a=1", other]):
        for more in ([], [SAME], NAVIGATION):
            expect(deployment, 401, *(("Cookie", line) for line in lines), *more)
    for size in (5_000, 60_000, 200_000):
        for large in (pair + "A" * size, f"{pair}; a=" + "x" * size, "; ".join([pair] * (size // 60))):
            response = deployment.app.ask("/admin/x", ("Cookie", large))
            assert response.seen is None and 400 <= response.status < 504, (deployment.name, size, response.status)
    # A cookie of another name could be set by others, and is no session here.
    for name in ("__Host-rolegate", "__Secure-rolegate", "rolegate", "__Host-rolegate-console"):
        if name != deployment.cookie:
            expect(deployment, 401, ("Cookie", f"{name}={session}"))
    bearer_tokens(deployment, session)
    led_to_the_page(deployment, user, cookie)
    # Credentials come before cookies.
    expect(deployment, 401, cookie, ("Authorization", "Bearer x"))
    expect(deployment, 200, cookie, admin.bearer, identity=admin.identity)
    deployment.sign_out(other)
    expect(deployment, 200, cookie, identity=user.identity)
    deployment.sign_out(pair)
    # It was stolen before.
    expect(deployment, 401, cookie)
    expect(deployment, 401, cookie, SAME, method="POST")


def cross_site_requests(deployment, user, cookie):
    app = deployment.app
    own, port = f"https://{app.host}", app.port
    forged = [[], [("X-Forwarded-Method", "GET")], [("X-Forwarded-Method", "HEAD"), ("X-HTTP-Method-Override", "GET")],
              [("X-Forwarded-Host", "evil.example"), ("X-Forwarded-Proto", "https"), ("X-Forwarded-Uri", "/")],
              [("X_Forwarded_Method", "GET")]]
    wrong = [[], *([("Sec-Fetch-Site", site)] for site in ("cross-site", "same-site", "none", "")),
             *([("Origin", it)] for it in ("https://evil.example", "null", own.replace("https", "http"), f"{own}.evil.example",
                                           f"https://{APPLICATION}", f"https://evil.{DOMAIN}:{port}"))]
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
        for headers in wrong:
            for more in forged:
                response = app.ask("/x", cookie, *headers, *more, method=method)
                # Envoy refuses names with "_".
                assert response.seen is None and response.status in (403, 400 if more == forged[-1] else 403), (
                    deployment.name, method, headers, more, response.status)
        for headers in ([SAME], [("Origin", own)], [SAME, ("Origin", own)]):
            expect(deployment, 200, cookie, *headers, method=method, identity=user.identity)
    if deployment.cookie == "__Secure-rolegate":
        expect(deployment, 200, cookie, ("Sec-Fetch-Site", "same-site"), ("Origin", f"https://{OTHER}:{port}"),
               method="POST", identity=user.identity)
    for method in ("GET", "HEAD"):
        for headers in wrong:
            expect(deployment, 200, cookie, *headers, method=method, **({"identity": user.identity} if method == "GET" else {}))
    # A WebSocket begins with GET.
    upgrade = [("Upgrade", "websocket"), *KEY]
    for headers in (*wrong, [("X-Forwarded-Method", "GET")], [("Sec-Fetch-Mode", "navigate")]):
        before = app.application.received
        status = upgrade_status(app, [cookie, *upgrade, *headers])
        assert (status, app.application.received) == (403, before), (deployment.name, headers, status)
    before = app.application.received
    upgrade_status(app, [cookie, *upgrade, ("Origin", own), ("Sec-Fetch-Mode", "websocket")])
    assert app.application.received == before + 1, deployment.name


def upgrade_status(app, headers):
    from proxies_network import connected
    lines = head("GET", "/x", headers).replace(b"app.example", app.host.encode())
    with connected(app.port, app.tls_name) as connection:
        connection.sendall(lines + b"\r\n")
        return int((connection.recv(65536) or b"x 0 x").split(b" ")[1])


def bearer_tokens(deployment, session):
    """Every host of a domain receives the cookie, so it is no token."""
    if deployment.cookie == "__Secure-rolegate":
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
    # A person who may not see a page is told so.
    expect(deployment, 403, cookie, *NAVIGATION, path="/admin/x")
    # Only the page passes without a decision, and nothing else of Rolegate.
    for path in ("/sign-in", "/sign-in?return=/x", "/sign-out"):
        response = app.ask(path)
        assert response.status == (200 if app is page else 401) and response.seen is None, (deployment.name, path)
    for path in ("/console/", "/login", "/users", "/me", "/sign-inn", "/sign-outs", "/sign-out/x", "/docs"):
        expect(deployment, 401, path=path)
        assert expect(deployment, 200, cookie, path=path, identity=user.identity).seen["path"] == path


class Person:
    """A user in Chromium."""

    def __init__(self, browser, deployment, user, password):
        self.browser, self.deployment, self.user, self.password = browser, deployment, user, password
        self.url = f"https://{deployment.app.host}"
        browser.get(f"{self.url}/public/x")
        browser.execute_script("document.cookie = 'theme=dark; path=/'")

    def fill(self):
        """The form of the page, to which the browser was led."""
        wait = WebDriverWait(self.browser, 20)
        field = wait.until(lambda it: it.find_element(By.NAME, "username"))
        field.send_keys(self.user.name)
        self.browser.find_element(By.NAME, "password").send_keys(self.password)
        self.press()

    def press(self):
        self.browser.find_element(By.CSS_SELECTOR, "form button").click()

    def sees(self, url):
        WebDriverWait(self.browser, 20).until(lambda it: it.current_url == url, f"{url} in {self.deployment.name}")
        return json.loads(self.browser.find_element(By.TAG_NAME, "body").text)

    def sign_in(self, url=None):
        url = url or f"{self.url}/admin/x?a=1"
        self.browser.get(url)
        self.fill()
        return self.sees(url)

    def is_led_to_the_page(self, url):
        self.browser.get(url)
        page = f"https://{self.deployment.page.host}/sign-in?"
        assert self.browser.current_url.startswith(page), (self.deployment.name, self.browser.current_url)

    def status(self, path="/admin/x", **options):
        return self.browser.execute_async_script(STATUS, path, options)

    def sign_out_elsewhere(self):
        """In another tab, on the page."""
        tab = self.browser.current_window_handle
        self.browser.switch_to.new_window("tab")
        self.browser.get(f"https://{self.deployment.page.host}/sign-out")
        self.press()
        WebDriverWait(self.browser, 20).until(lambda it: "/sign-in" in it.current_url)
        self.browser.close()
        self.browser.switch_to.window(tab)


def loses_access_at_once(person, admin):
    """Demoted, disabled and signed out elsewhere: no request later than that passes."""
    deployment, user, late, urls = person.deployment, person.user, [], person.deployment.urls

    def role(name):
        call("PUT", f"/users/{user.id}/role", {"role": name}, admin.token, urls)

    def disabled(value):
        call("PATCH", f"/users/{user.id}", {"disabled": value}, admin.token, urls)

    def decide(what, expected):
        status = person.status()
        if status != expected:
            late.append((what, status))

    decided = 0
    while decided < DECISIONS - 20:
        role("user")
        decide("demoted", 403)
        role("admin")
        decide("promoted", 200)
        decided += 1
    for _ in range(10):
        disabled(True)
        decide("disabled", 401)
        disabled(False)
        if person.status() != 200:
            person.sign_in()
        decided += 1
    for _ in range(10):
        person.sign_out_elsewhere()
        decide("signed out elsewhere", 401)
        person.sign_in()
        decided += 1
    assert not late, (deployment.name, late)
    return decided


def in_chromium(browser, deployment, user, admin, password):
    person = Person(browser, deployment, user, password)
    call("PUT", f"/users/{user.id}/role", {"role": "admin"}, admin.token, deployment.urls)
    seen = person.sign_in()
    check_identity(seen, (*user.identity[:2], "admin"), deployment.name)
    cookies = [value for name, value in seen["headers"] if name.lower() == "cookie"]
    assert cookies == ["theme=dark"], (deployment.name, cookies)
    assert browser.execute_script("return document.cookie") == "theme=dark", deployment.name
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert person.status(method=method) == 200, (deployment.name, method)
    if deployment.page is not deployment.app:
        # The other hosts of the domain know the person too.
        other = f"https://{OTHER}:{deployment.app.port}"
        browser.get(f"{other}/x")
        person.sees(f"{other}/x")
        # A page there may not cause changes here, unless RETURN_ORIGINS names it, as here.
        browser.get(f"{person.url}/x")
    decided = loses_access_at_once(person, admin)
    person.sign_out_elsewhere()
    for path in ("/admin/x", "/x?a=1"):
        person.is_led_to_the_page(person.url + path)
    browser.get(f"{person.url}/public/x")
    assert person.status("/x") == 401 and person.status("/x", method="POST") == 401, deployment.name
    browser.delete_all_cookies()
    return decided


def people(names, make_user, password):
    application, decided = Application(), 0
    with tempfile.TemporaryDirectory() as folder:
        browser = start(folder, f"host-resolver-rules=MAP *.{DOMAIN} 127.0.0.1", "ignore-certificate-errors")
        try:
            for name in names:
                for kind in (own_host, domain):
                    with kind(name, application) as deployment:
                        admin = make_user("admin", password, "admin", deployment.urls)
                        user = make_user(f"ann behind {name}", password, "user", deployment.urls)
                        sessions_are_safe(deployment, user, admin, password)
                        decided += in_chromium(browser, deployment, user, admin, password)
                    print(f"proxies: people sign in and lose access at once: {deployment.name}", flush=True)
        finally:
            browser.quit()
    print(f"proxies: 0 of {decided} decisions in Chromium came late", flush=True)
