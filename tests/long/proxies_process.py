"""A proxy with its shipped configuration, in front of an application that reports what it receives."""

import http.server
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path
from urllib.parse import urlsplit

from proxies_network import HttpConnection, Relay, connected, exchange, free_port, until

ROOT = Path(__file__).resolve().parents[2]
NGINX = ["nginx", "-p", ".", "-e", "stderr", "-c", "nginx.conf", "-g",
         "daemon off; pid nginx.pid; error_log stderr error;"]
COMMANDS = {
    "nginx": NGINX,
    "nginx.md": NGINX,
    "caddy": ["caddy", "run", "--adapter", "caddyfile", "--config", "Caddyfile"],
    "haproxy": ["haproxy", "-db", "-f", "haproxy.cfg"],
    "envoy": ["envoy", "-c", "envoy.yaml", "-l", "error", "--use-dynamic-base-id", "--concurrency", "1"],
    "traefik": ["traefik", "--entrypoints.web.address=127.0.0.1:8088", "--providers.file.filename=dynamic.yml",
                "--experimental.localplugins.rolegate.modulename=rolegate"],
}
# The HTML pages of the application.
HTML = {
    "/page": "<!doctype html><title>page</title><h1>Of the application</h1>",
    "/outer": "<!doctype html><title>outer</title><h1>Outer</h1><iframe src='/page' width=600 height=500></iframe>",
}
# Matches every header that an application may take for an identity.
IDENTITY = re.compile("rolegate|.*(remote|webauth|forwarded.user)", re.I)


class Application(http.server.ThreadingHTTPServer):
    """Answers every request with a report of what it received. `/status/500` in the path chooses the status. Browsers
    may cache `/kept`, `/page` is HTML, and `/outer` has it in a frame."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            body = json.dumps({"path": self.path, "headers": self.headers.items()}).encode()
            self.server.received += 1
            status = re.search("/status/([0-9]+)", self.path)
            self.send_response(int(status[1]) if status else 200)
            if self.path.startswith("/kept"):
                self.send_header("Cache-Control", "max-age=60")
            if html := HTML.get(self.path.partition("?")[0]):
                self.send_header("Content-Type", "text/html; charset=utf-8")
                body = html.encode()
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_HEAD = do_MOVE = do_COPY = do_GET

        def log_message(self, *_):
            pass

    def handle_error(self, *_):
        """Ignores the error, because proxies close connections at any time."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.received = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()


def configuration(name):
    """Returns the configuration files of a proxy. For `nginx.md`, they contain the first block of
    docs/proxies/nginx.md, which is the inside of a minimal `server`."""
    folder = ROOT / "deploy/proxies" / name.removesuffix(".md")
    files = {str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*") if file.is_file()}
    if name == "nginx.md":
        block, *_ = re.findall("```nginx\n(.*?)```", (ROOT / "docs/proxies/nginx.md").read_text(), re.S)
        server = "server { listen 127.0.0.1:8088;\n" + block + "}"
        files["nginx.conf"] = "events {}\n\nhttp {\ninclude rolegate-http.conf;\n" + server + " }\n"
    return files


def changed(files, file, shipped, instead):
    """Returns the same files with another text in one of them."""
    assert shipped in files[file], (file, shipped)
    return files | {file: files[file].replace(shipped, instead)}


class Proxy:
    """A running proxy. Only the addresses differ from those of its configuration."""

    def __init__(self, name, application, files=None, urls=os.environ, port=None, tls_name=None, second=None):
        self.name, self.application, self.port, self.tls_name = name, application, port or free_port(), tls_name
        self.host = f"{tls_name}:{self.port}" if tls_name else "app.example"
        self.relay = Relay(urls["GRPC_URL" if name == "envoy" else "FORWARD_URL"])
        self.folder = Path(tempfile.mkdtemp(prefix=f"rolegate-{name}-"))
        ports = {8080: application.server_port, 8088: self.port, 8089: free_port(), 8002: self.relay.port,
                 50051: self.relay.port, 8000: urlsplit(urls["BEARER_URL"]).port, 8443: self.port}
        if second:
            ports[8081] = second.server_port

        # Without TLS, a port of nginx 1.22 speaks either HTTP/1.1 or HTTP/2, so HTTP/2 has another port.
        self.http2_port = ports[8089] if name == "nginx" else self.port

        def with_ports(text):
            return re.sub(r"\b(" + "|".join(map(str, ports)) + r")\b", lambda it: str(ports[int(it[0])]), text)

        for file, text in (files or configuration(name)).items():
            # nginx would otherwise write to a log of the system.
            text = text.replace("\nhttp {", "\nhttp { access_log off;")
            (self.folder / file).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / file).write_text(with_ports(text))
        self.log = open(self.folder / "log", "wb")
        command = [with_ports(it) for it in COMMANDS[name]]
        if name == "traefik" and tls_name:
            command.append("--entrypoints.web.http.tls=true")
        self.process = subprocess.Popen(command, cwd=self.folder,
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        env=os.environ | {"HOME": str(self.folder)})
        until(f"{name} to listen", self.is_ready, 60)

    def is_ready(self):
        # Traefik answers 404 before it has read its configuration.
        return self.exchange("GET", "/public/", []).status in (200, 401)

    def connected(self, *protocols):
        return connected(self.port, self.tls_name, protocols)

    def http(self):
        return HttpConnection(self.port, self.tls_name)

    def exchange(self, method, path, headers, host=None, body=""):
        return exchange(self.port, method, path, headers, host or self.host, body, self.tls_name)

    def ask(self, path, *headers, method="GET", **options):
        """Sends a request and returns the response. Its `seen` is what the application received, or None if it received
        nothing."""
        before = self.application.received
        response = self.exchange(method, path, headers, **options)
        # The response to HEAD has no report.
        report = response.body or b'{"headers": []}'
        response.seen = json.loads(report) if self.application.received > before else None
        return response

    def expect(self, status, path, *headers, identity=None, **options):
        response = self.ask(path, *headers, **options)
        what = f"{self.name}: {path} {headers}: {response.status} {response.headers} {response.body[:300]}"
        statuses = status if isinstance(status, (list, range)) else [status]
        assert response.status in statuses, what
        assert (response.seen is None) == (response.status != 200), what
        if response.seen:
            check_identity(response.seen, identity, what)
        return response

    def stop(self):
        # The first signal is not SIGKILL, because that would leave the workers of nginx behind.
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.relay.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def check_identity(seen, identity, what):
    """Checks that the application sees exactly this identity, and no credentials. The identity is an id, a name, a role
    and the names of the groups, joined by commas."""
    names = ["rolegate-user-id", "rolegate-username", "rolegate-role", "rolegate-groups"]
    expected = list(zip(names, map(str, identity), strict=True)) if identity else []
    if identity:
        expected += [("remote-user", identity[1]), ("remote-groups", identity[3])]
    if identity and re.fullmatch("[^@]+@[^@]+", identity[1]):
        expected.append(("remote-email", identity[1]))
    found = sorted((name.lower(), value) for name, value in seen["headers"] if IDENTITY.match(name))
    assert found == sorted(expected), f"{what}: {found} instead of {expected}"
    assert all(name.lower() != "authorization" for name, _ in seen["headers"]), what
