"""The two deployments of the sign-in page, over HTTPS: on the application's own host, and on one host for a domain."""

import contextlib
import os
import re
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import urlencode

from proxies_network import free_port, until
from proxies_process import ROOT, Proxy, configuration

PROGRAM = ROOT / "target/debug/fast-hash-rolegate"
DOMAIN = "example.test"
APPLICATION, OTHER, PAGE = f"app.{DOMAIN}", f"other.{DOMAIN}", f"auth.{DOMAIN}"


def https(name):
    """Returns the last code block below the heading HTTPS on the page of a proxy."""
    section = (ROOT / f"docs/proxies/{name}.md").read_text().partition("## HTTPS\n")[2].partition("\n## ")[0]
    return re.findall(r"```\w+\n(.*?)```", section, re.S)[-1]


# The changes that make each configuration one for HTTPS.
TLS = {
    "nginx": [("listen 127.0.0.1:8088;",
               "listen 127.0.0.1:8088 ssl http2; ssl_certificate cert.pem; ssl_certificate_key key.pem;")],
    "caddy": [("admin off", "admin off\n\tauto_https disable_redirects"),
              ("http://:8088 {", "https://:8088 {\n\ttls cert.pem key.pem")],
    "haproxy": [("bind 127.0.0.1:8088", https("haproxy").strip().replace(":443", "127.0.0.1:8088"))],
    "envoy": [("- filters:", https("envoy").lstrip() + "          filters:")],
    "traefik": [("http:\n", https("traefik") + "http:\n")],
}
# The change that removes the sign-in page from the host of the application.
WITHOUT_PAGE = {
    "nginx": (" *include rolegate-sign-in.conf;\n", ""),
    "caddy": ("\t*import rolegate_sign_in\n", ""),
    "haproxy": ("acl is_sign_in .*\n", "acl is_sign_in always_false\n"),
    "envoy": (r" *- match: { safe_regex: { regex: '/sign-(.|\n)*?(?= *# COPY and MOVE pass only)", ""),
    "traefik": (r"    sign-in:\n      entryPoints(.|\n)*?(?=    admins:\n)", ""),
}


# The change after which the host of the sign-in page is not that of an application.
WITHOUT_MARK = {
    "nginx": ("Rolegate-Page application;", 'Rolegate-Page "";'),
    "caddy": ("\t*header_up Rolegate-Page application\n", ""),
    "haproxy": (" *http-request set-header Rolegate-Page application .*\n", ""),
    "envoy": (r" *request_headers_to_add:\n *- { header: { key: rolegate-page.*\n", ""),
    "traefik": ("Rolegate-Page: application,", 'Rolegate-Page: "",'),
}


def certificate():
    with tempfile.TemporaryDirectory() as folder:
        names = f"subjectAltName=DNS:*.{DOMAIN}"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-subj", f"/CN={DOMAIN}", "-addext", names, "-keyout", "key.pem", "-out", "cert.pem"],
                       cwd=folder, check=True, stderr=subprocess.DEVNULL)
        cert, key = (Path(folder, name).read_text() for name in ("cert.pem", "key.pem"))
    return {"cert.pem": cert, "key.pem": key, "haproxy.pem": cert + key}


def with_tls(name, has_page, is_marked=True):
    files = configuration(name)
    for shipped, changed in TLS[name]:
        assert any(shipped in text for text in files.values()), (name, shipped)
        files = {file: text.replace(shipped, changed, 1) for file, text in files.items()}
    if not has_page:
        without = {file: re.sub(*WITHOUT_PAGE[name], text) for file, text in files.items()}
        assert sum(without[file] != files[file] for file in files) == 1, name
        files = without
    if not is_marked:
        without = {file: re.sub(*WITHOUT_MARK[name], text) for file, text in files.items()}
        assert sum(without[file] != files[file] for file in files) == 1, name
        files = without
    return files | certificate()


class Deployment:
    """A deployment for one kind of sign-in. `app` is the proxy before the application, `page` is the one before the
    sign-in page, and `urls` are the addresses of Rolegate."""

    def __init__(self, kind, app, page, urls, cookie):
        self.kind, self.app, self.page, self.urls, self.cookie = kind, app, page, urls, cookie
        self.name = f"{app.name}, {kind}"

    def sign_in(self, username, password):
        """Signs in by the form, and returns the cookie as `name=value`."""
        body = urlencode({"username": username, "password": password, "return": f"https://{self.app.host}/x"})
        headers = [("Sec-Fetch-Site", "same-origin"), ("Content-Type", "application/x-www-form-urlencoded")]
        response = self.page.exchange("POST", "/sign-in", headers, body=body)
        assert response.status == 303, (self.name, response.status, response.body[:500])
        line, *more = response.all("set-cookie")
        # At a host that has only the sign-in page, the console gets a cookie, too.
        consoles = [] if self.app is self.page else ["__Host-rolegate-console"]
        assert [it.split("=")[0] for it in more] == consoles, (self.name, more)
        cookie, *attributes = line.split("; ")
        assert cookie.startswith(f"{self.cookie}="), (self.name, line)
        assert {"HttpOnly", "Secure", "SameSite=Lax", "Path=/"} <= set(attributes), (self.name, line)
        return cookie

    def sign_out(self, cookie):
        headers = [("Sec-Fetch-Site", "same-origin"), ("Content-Type", "application/x-www-form-urlencoded")]
        response = self.page.exchange("POST", "/sign-out", [*headers, ("Cookie", cookie)])
        assert response.status == 303, (self.name, response.status, response.body[:500])


@contextlib.contextmanager
def own_host(name, application):
    proxy = Proxy(name, application, with_tls(name, True), tls_name=APPLICATION)
    try:
        yield Deployment("own host", proxy, proxy, os.environ, "__Host-rolegate")
    finally:
        proxy.stop()


@contextlib.contextmanager
def domain(name, application):
    ports = {"app": free_port(), "page": free_port()}
    settings = {
        "COOKIE_DOMAIN": DOMAIN, "SIGN_IN_URL": f"https://{PAGE}:{ports['page']}/sign-in",
        "RETURN_ORIGINS": f"https://{APPLICATION}:{ports['app']},https://{OTHER}:{ports['app']}",
    }
    with service(settings) as urls:
        app = Proxy(name, application, with_tls(name, False), urls, ports["app"], APPLICATION)
        try:
            page = Proxy(name, application, with_tls(name, True, False), urls, ports["page"], PAGE)
            try:
                yield Deployment("whole domain", app, page, urls, "__Secure-rolegate")
            finally:
                page.stop()
        finally:
            app.stop()


@contextlib.contextmanager
def service(settings):
    """Starts Rolegate with these settings, and yields its addresses."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "output")
        names = ["AUTH", "BEARER", "BASIC", "FORWARD_AUTH", "OPS", "POSTS"]
        environment = {f"{name}_LISTEN_ADDR": "127.0.0.1:0" for name in names} | settings
        environment |= {"RUST_LOG": "warn", "DATA_DIR": f"{folder}/data", "LOGIN_FAILURE_LIMIT": "0",
                        "DEFAULT_ADMIN_PASSWORD": os.environ["ADMIN_PASSWORD"]}
        with output.open("wb") as file, Path(folder, "log").open("wb") as log:
            process = subprocess.Popen([PROGRAM], env=environment, stdout=file, stderr=log)
        try:
            until("Rolegate to start", lambda: "\n  ops " in output.read_text(), 60)
            lines = [line.split() for line in output.read_text().splitlines() if line.startswith("  ")]
            urls = {line[0]: line[1] for line in lines if len(line) > 1}
            yield {"BEARER_URL": urls["bearer"], "FORWARD_URL": urls["forward"], "GRPC_URL": urls["grpc"]}
        finally:
            process.kill()
            process.wait()
