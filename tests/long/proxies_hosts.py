"""Checks one sign-in for several hosts, with the configurations of docs/tutorials/one-sign-in.md and docs/proxies: what
each host passes on, what it removes, how many lines one more host needs, and the pages in Chromium."""

import contextlib
import re
import tempfile
from urllib.parse import urlencode, urlsplit

from proxies_browser import CorsApplication, start
from proxies_deployments import APPLICATION, DOMAIN, certificate, service, with_tls
from proxies_network import call, free_port
from proxies_process import ROOT, Application, Proxy, configuration
from proxies_upgrades import FORGED
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

SECOND, PAGE = f"app2.{DOMAIN}", f"auth.{DOMAIN}"
# The most lines that the configuration of one more host may have.
LINES = {"nginx": 12, "caddy": 12, "haproxy": 12, "envoy": 30, "traefik": 30}
# The requests that the pages make, and the status of each without a session.
OF_THE_PAGE = [
    ("GET", "/", 200), ("GET", "/sign-in", 200), ("GET", "/sign-in/base.css", 200), ("GET", "/sign-out", 200),
    ("GET", "/set-password", 200), ("GET", "/password-policy", 200), ("POST", "/password-link", 400), ("PUT", "/password", 400),
    ("GET", "/account", 200), ("GET", "/account/base.css", 200), ("POST", "/account/picture", 401), ("GET", "/me", 401),
    ("GET", "/roles", 401), ("PUT", "/profile/password", 401), ("GET", "/profile/second-factor", 401),
    ("GET", "/profile/sessions", 401), ("DELETE", "/profile/sessions/1", 401), ("GET", "/profile/keys", 401),
    ("DELETE", "/profile/keys/1", 401), ("GET", "/profile/audit?limit=1", 401),
]
OF_NO_PAGE = ["/login", "/users", "/users/1", "/console/", "/register", "/authorize", "/introspect", "/openapi.json", "/docs/",
              "/public", "/audit", "/posts", "/profile", "/profile/passwords", "/accounts", "/sign-inx", "/me/x", "/logout",
              "/sign-in/../users", "//users", "/%75sers", "/sign-in%2f..%2fusers"]
# Paths with ordinary names of files.
FILES = ["/50%25%20off.txt", "/.~lock.letter.odt%23", "/a;b", "/%20x", "/...", "/what%3F", "/a%5Cb"]
# In Envoy's configuration, the first host still has the rules by path of the shipped file.
PATHS = {APPLICATION: ["/x", "/admin/x"], SECOND: ["/x", "/public/x", "/admin/x"]}
FORM = [("Sec-Fetch-Site", "same-origin"), ("Content-Type", "application/x-www-form-urlencoded")]
FETCH = """
const [url, options, done] = arguments;
fetch(url, { credentials: "include", ...options }).then(async (it) => done([it.status, await it.text()]), () => done([0, ""]));
"""
SHOWN = "return document.body.innerText + [...document.querySelectorAll('input')].map((it) => it.value).join()"
FAILED = """
return performance.getEntriesByType("resource").concat(performance.getEntriesByType("navigation"))
  .filter((it) => it.responseStatus >= 400).map((it) => [it.name, it.responseStatus]);
"""


def blocks(page, language):
    text = (ROOT / "docs" / page).read_text().replace("example.org", DOMAIN)
    section = text.partition("## Several hosts\n")[2] or text
    return re.findall(f"```{language}\n(.*?)```", section, re.S)


def one_more_host(name):
    """Returns the lines of the configuration for the second application's host."""
    if name in ("nginx", "caddy"):
        (text,) = blocks("tutorials/one-sign-in.md", name)
        pattern = r"^    server {(?:(?!^    }).)*app2(?:(?!^    }).)*^    }$" if name == "nginx" else r"^https://app2(?:.)*?^}$"
        (found,) = re.findall(pattern, text, re.M | re.S)
        return found.splitlines()
    language = "haproxy" if name == "haproxy" else "yaml"
    _, *parts = blocks(f"proxies/{name}.md", language)
    return "".join(parts).strip().splitlines()


def files_of(name):
    if name in ("nginx", "caddy"):
        (text,) = blocks("tutorials/one-sign-in.md", name)
        # The command of the test names the file for nginx's process id.
        text = text.replace("pid nginx.pid;\n", "")
        return configuration(name) | certificate() | {{"nginx": "nginx.conf", "caddy": "Caddyfile"}[name]: text}
    files = with_tls(name, name != "envoy")
    if name == "haproxy":
        rules, route, backend = blocks("proxies/haproxy.md", "haproxy")
        text = re.sub("    # Rules by path begin here(.|\n)*# Rules by path end here.\n", lambda _: rules, files["haproxy.cfg"])
        route_of_page = "    use_backend rolegate_sign_in if is_of_rolegate\n"
        assert route_of_page in text
        return files | {"haproxy.cfg": text.replace(route_of_page, route_of_page + route) + "\n" + backend}
    first, second, third = blocks(f"proxies/{name}.md", "yaml")
    if name == "envoy":
        text = files["envoy.yaml"].replace("\n  clusters:\n", "\n" + first + second + "  clusters:\n") + third
        return files | {"envoy.yaml": text}
    text = files["dynamic.yml"].replace("\n  routers:\n", "\n  routers:\n" + first + second)
    for router in ("public", "ambiguous", "preflights", "sign-in", "admins", "users"):
        text, found = re.subn(rf"^    {router}:\n      entryPoints(.*\n)*?      service: .*\n", "", text, flags=re.M)
        assert found == 1, router
    return files | {"dynamic.yml": text.replace("\n  services:\n", "\n  services:\n" + third)}


class Hosts:
    """A proxy before three hosts, and the Rolegate that it asks."""

    def __init__(self, proxy, urls, second, user, admin):
        self.proxy, self.urls, self.second, self.user, self.admin = proxy, urls, second, user, admin
        self.name = f"{proxy.name}, several hosts"

    def url(self, name):
        return f"https://{name}:{self.proxy.port}"

    def ask(self, name, method, path, *headers, body=""):
        return self.proxy.exchange(method, path, headers, f"{name}:{self.proxy.port}", body)

    def sign_in(self, username, password):
        """Signs in, and returns the cookies in one header."""
        body = urlencode({"username": username, "password": password, "return": f"{self.url(SECOND)}/x"})
        response = self.ask(PAGE, "POST", "/sign-in", *FORM, body=body)
        assert response.status == 303, (self.name, response.status, response.body[:500])
        assert response.all("location") == [f"{self.url(SECOND)}/x"], (self.name, response.headers)
        pairs = [it.split("; ")[0] for it in response.all("set-cookie")]
        names = sorted(it.split("=")[0] for it in pairs)
        assert names == ["__Host-rolegate-console", "__Secure-rolegate"], (self.name, names)
        return ("Cookie", "; ".join([*pairs, "theme=dark"]))


@contextlib.contextmanager
def several_hosts(name, make_user, password, make_application=Application):
    port = free_port()
    first, second = Application(), make_application(port)
    settings = {
        "COOKIE_DOMAIN": DOMAIN, "SIGN_IN_URL": f"https://{PAGE}:{port}/sign-in", "TRUSTED_PROXIES": "127.0.0.1/32",
        "RETURN_ORIGINS": f"https://{APPLICATION}:{port},https://{SECOND}:{port}",
    }
    with service(settings) as urls:
        proxy = Proxy(name, first, files_of(name), urls, port, APPLICATION, second)
        try:
            admin = make_user("admin", password, "admin", urls)
            yield Hosts(proxy, urls, second, make_user("ann of two hosts", password, "user", urls), admin)
        except BaseException:
            print((proxy.folder / "log").read_text(errors="replace")[-3000:])
            raise
        finally:
            proxy.stop()


def seen_of(hosts, name, *headers, method="GET", path="/x"):
    """Sends a request, checks that only the application of this host received it, and returns the response."""
    application = hosts.second if name == SECOND else hosts.proxy.application
    other = hosts.proxy.application if name == SECOND else hosts.second
    before, before_other = application.received, other.received
    response = hosts.ask(name, method, path, *headers)
    what = (hosts.name, name, method, path, headers, response.status, response.headers, response.body[:300])
    assert (application.received, other.received) == (before + 1, before_other), what
    return response


def no_host_gets_credentials(hosts, password):
    cookie = hosts.sign_in("admin", password)
    for name in (APPLICATION, SECOND):
        for sent in ([cookie], [hosts.admin.bearer], [hosts.admin.basic], [cookie, hosts.admin.bearer]):
            for path in PATHS[name]:
                seen = seen_of(hosts, name, *sent, path=path).body.decode()
                assert "rolegate=" not in seen and "console=" not in seen and "uthorization" not in seen, (hosts.name, seen)
                assert '"admin"' in seen and ("theme=dark" in seen) == (cookie in sent), (hosts.name, seen)
        for path in [*PATHS[name], "/sign-in", "/account", "/me"]:
            # Without credentials, every path is refused, even `/sign-in`, because the sign-in page exists only at its
            # own host.
            assert hosts.ask(name, "GET", path).status == 401, (hosts.name, name, path)


def the_host_of_the_page(hosts):
    for method, path, status in OF_THE_PAGE:
        body = "{}" if method != "GET" else ""
        headers = [("Content-Type", "application/json"), ("X-Request-Id", FORGED), ("Traceparent", FORGED)]
        response = hosts.ask(PAGE, method, path, *headers, body=body)
        what = (hosts.name, method, path, response.status, response.headers, response.body[:200])
        assert response.status == status, what
        assert all(FORGED not in value for _, value in response.headers), what
    for path in OF_NO_PAGE:
        for sent in ([], [hosts.admin.bearer]):
            response = hosts.ask(PAGE, "GET", path, *sent)
            assert response.status in (400, 403, 404), (hosts.name, path, response.status, response.body[:200])
    assert hosts.ask(PAGE, "POST", "/login", body="{}").status in (403, 404), hosts.name


def the_first_host(hosts):
    """Checks that the first host has one requirement, too, unless it still has the rules by path of the shipped
    file."""
    if hosts.proxy.name == "envoy":
        return
    for path in ("/public/x", "/sign-in", *FILES):
        assert hosts.ask(APPLICATION, "GET", path).status == 401, (hosts.name, path)
        seen_of(hosts, APPLICATION, hosts.user.bearer, path=path)


def ordinary_files(hosts):
    """Checks that a host with one requirement passes every path, and COPY and MOVE between its own paths."""
    here, elsewhere = hosts.url(SECOND), hosts.url(APPLICATION)
    for path in FILES:
        response = seen_of(hosts, SECOND, hosts.admin.bearer, path=path)
        assert f'"path": "{path}"' in response.body.decode().replace("\\\\", "\\"), (hosts.name, path, response.body[:200])
        for target in (path, here + path):
            moved = seen_of(hosts, SECOND, hosts.admin.bearer, ("Destination", target), method="MOVE")
            assert f'["destination", "{target}"]' in moved.body.decode().lower().replace(path.lower(), path), moved.body
        for target in (elsewhere + path, here.replace("https", "http") + path, f"//{SECOND}{path}", f"{here}.evil.example{path}"):
            response = hosts.ask(SECOND, "MOVE", path, hosts.admin.bearer, ("Destination", target))
            assert response.status == 403, (hosts.name, target, response.status)
        assert hosts.ask(SECOND, "GET", path).status == 401, (hosts.name, path)


def hosts_in_chromium(name, make_user, password):
    def make_application(port):
        application = CorsApplication(f"https://{APPLICATION}:{port}")
        application.allows_credentials = True
        return application

    with several_hosts(name, make_user, password, make_application) as hosts, tempfile.TemporaryDirectory() as folder:
        browser = start(folder, f"host-resolver-rules=MAP *.{DOMAIN} 127.0.0.1", "ignore-certificate-errors")
        try:
            signs_in_once(browser, hosts, password)
            no_page_lacks_anything(browser, hosts)
            uses_the_other_application(browser, hosts)
        finally:
            browser.quit()


def wait(browser, condition, what):
    WebDriverWait(browser, 20).until(condition, f"{what}: {browser.current_url}")


def signs_in_once(browser, hosts, password):
    target = f"{hosts.url(APPLICATION)}/x?a=1"
    browser.get(target)
    wait(browser, lambda it: it.current_url.startswith(f"{hosts.url(PAGE)}/sign-in?return="), hosts.name)
    browser.find_element(By.NAME, "username").send_keys("admin")
    browser.find_element(By.NAME, "password").send_keys(password)
    browser.find_element(By.CSS_SELECTOR, "form button").click()
    wait(browser, lambda it: it.current_url == target, hosts.name)
    browser.get(f"{hosts.url(SECOND)}/x")
    assert browser.current_url == f"{hosts.url(SECOND)}/x", (hosts.name, browser.current_url)
    assert '"admin"' in browser.find_element(By.TAG_NAME, "body").text, hosts.name


def no_page_lacks_anything(browser, hosts):
    """Checks that the host of the page serves everything that the account page and the page of a password link ask
    for."""
    link = call("POST", f"/users/{hosts.user.id}/password-link", {}, hosts.admin.token, hosts.urls)["url"]
    fragment = urlsplit(link).fragment
    for path, text in (("/", "API keys"), (f"/set-password#{fragment}", hosts.user.name), ("/sign-out", "Sign out")):
        browser.get(f"{hosts.url(PAGE)}{path}")
        wait(browser, lambda it: text in it.execute_script(SHOWN), f"{text} at {path}, {hosts.name}")
        failed = [it for it in browser.execute_script(FAILED) if not it[0].endswith("/console/")]
        assert failed == [], (hosts.name, path, failed)


def uses_the_other_application(browser, hosts):
    """Checks that only the application decides which pages may use it, also with the cookie and behind every proxy."""
    there = hosts.url(SECOND)
    browser.get(f"{hosts.url(APPLICATION)}/x")
    for options in ({}, {"method": "PUT", "headers": {"Content-Type": "application/json"}}, {"method": "POST"}):
        status, text = browser.execute_async_script(FETCH, f"{there}/x", options)
        assert status == 200 and '"admin"' in text and "rolegate=" not in text, (hosts.name, options, status, text)
    hosts.second.allows_credentials = False
    for options in ({}, {"method": "PUT", "headers": {"Content-Type": "application/json"}}):
        status, text = browser.execute_async_script(FETCH, f"{there}/x", options)
        assert (status, text) == (0, ""), (hosts.name, options, status, text)


def hosts(name, make_user, password):
    lines = one_more_host(name)
    assert 0 < len(lines) <= LINES[name], (name, len(lines))
    with several_hosts(name, make_user, password, lambda _: Application()) as deployed:
        no_host_gets_credentials(deployed, password)
        the_host_of_the_page(deployed)
        the_first_host(deployed)
        ordinary_files(deployed)
    print(f"proxies: {name} has several hosts for one sign-in, {len(lines)} lines each", flush=True)
