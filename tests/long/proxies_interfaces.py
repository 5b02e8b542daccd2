"""Checks which parts of a request reach applications that a proxy calls by FastCGI or uwsgi in place of HTTP."""

import json
import re
import socketserver
import struct
import threading

from proxies_cookies import SESSION, cookies_of, lines_of_cookies
from proxies_fake_rolegate import IDENTITY, FakeRolegate
from proxies_headers import forged_identities, misleading_headers, told_about_the_client
from proxies_network import until
from proxies_process import ROOT, Proxy, changed, configuration
from proxies_upgrades import FORGED

RESPONSE = "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n"
# The types of FastCGI records.
BEGIN, END, PARAMS, STDIN, STDOUT = 1, 3, 4, 5, 6
# The edits that put a FastCGI or uwsgi application behind each proxy. `SHIPPED` or `FORGOTTEN` replaces the line
# `NGINX`, and `FORGOTTEN` leaves out the shipped file. `CADDY` and `HAPROXY` are pairs of old and new text.
NGINX = "proxy_pass http://application;"
SHIPPED = "include rolegate-{0}.conf; {0}_pass 127.0.0.1:8080;"
FORGOTTEN = "{0}_param REQUEST_URI $request_uri; {0}_param REQUEST_METHOD $request_method; {0}_pass 127.0.0.1:8080;"
CADDY = ("import rolegate_application 127.0.0.1:8080\n}\n\nhttp",
         "route {\n\t\timport rolegate_before_application\n\t\tphp_fastcgi 127.0.0.1:8080 {\n\t\t\t"
         "env REMOTE_USER {http.request.header.Remote-User}\n\t\t}\n\t}\n}\n\nhttp")
HAPROXY = ("    server application 127.0.0.1:8080\n",
           "    use-fcgi-app php\n    server application 127.0.0.1:8080 proto fcgi\n\nfcgi-app php\n    docroot /\n"
           "    set-param REMOTE_USER %[req.hdr(remote-user)]\n")


class Interface(socketserver.ThreadingTCPServer):
    """An application that answers with its parameters. It reports the HTTP headers among them under their names in
    HTTP."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.server_port, self.received = self.server_address[1], 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        """Ignores the error, because proxies close connections at any time."""

    def report(self, params):
        self.received += 1
        headers = [[name[5:].replace("_", "-").lower(), value] for name, value in params if name.startswith("HTTP_")]
        if "HTTP_ROLEGATE_USER_ID" not in dict(params):
            # nginx also sends the groups without a decision. They are empty then, and say nothing about a user.
            headers = [it for it in headers if it not in (["rolegate-groups", ""], ["remote-groups", ""])]
        body = json.dumps({"path": dict(params).get("REQUEST_URI"), "headers": headers, "params": params})
        return (RESPONSE.format(len(body)) + body).encode()

    def shutdown(self):
        super().shutdown()
        self.server_close()


class FastCgi(Interface):
    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            params = b""
            while head := self.rfile.read(8):
                _, kind, request, length, padding = struct.unpack(">BBHHBx", head)
                content = self.rfile.read(length)
                self.rfile.read(padding)
                if kind == BEGIN:
                    params, keeps = b"", content[2] & 1
                elif kind == PARAMS:
                    params += content
                elif kind == STDIN and not content:
                    answer = self.server.report(list(pairs_of(params)))
                    for at in range(0, len(answer), 60_000):
                        self.send(STDOUT, request, answer[at:at + 60_000])
                    self.send(STDOUT, request, b"")
                    self.send(END, request, bytes(8))
                    if not keeps:
                        return

        def send(self, kind, request, content):
            self.wfile.write(struct.pack(">BBHHBx", 1, kind, request, len(content), 0) + content)


def pairs_of(params):
    """Yields the names and values of FastCGI, whose lengths take one byte or four."""
    at = 0

    def length():
        nonlocal at
        size = 4 if params[at] & 0x80 else 1
        number = int.from_bytes(params[at:at + size], "big") & 0x7FFFFFFF
        at += size
        return number

    while at < len(params):
        name, value = length(), length()
        yield params[at:at + name].decode("latin-1"), params[at + name:at + name + value].decode("latin-1")
        at += name + value


class Uwsgi(Interface):
    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            _, size, _ = struct.unpack("<BHB", self.rfile.read(4))
            content, params = self.rfile.read(size), []
            while content:
                pair = []
                for _ in ("name", "value"):
                    (length,) = struct.unpack("<H", content[:2])
                    pair.append(content[2:2 + length].decode("latin-1"))
                    content = content[2 + length:]
                params.append(tuple(pair))
            # The body is read, because otherwise the connection would be reset before nginx has read the answer.
            self.rfile.read(int(dict(params).get("CONTENT_LENGTH") or 0))
            self.wfile.write(b"HTTP/1.1 200 OK\r\n" + self.server.report(params))


class InterfaceProxy(Proxy):
    """A proxy whose checks include REMOTE_USER, which is a parameter but no header."""

    def expect(self, status, path, *headers, identity=None, **options):
        response = super().expect(status, path, *headers, identity=identity, **options)
        if response.seen:
            users = [value for name, value in response.seen["params"] if name == "REMOTE_USER" and value]
            expected = [identity[1]] if identity else []
            assert users == expected, (self.name, path, headers, response.seen["params"])
        return response


def applications(name):
    """Yields each kind of application, with the files that put it behind this proxy."""
    files = configuration(name)
    if name == "nginx":
        for application, kind in ((FastCgi, "fastcgi"), (Uwsgi, "uwsgi")):
            yield application, changed(files, "nginx.conf", NGINX, SHIPPED.format(kind))
    if name == "caddy":
        # `php_fastcgi` of Caddy looks for a file to run.
        yield FastCgi, changed(files, "Caddyfile", *CADDY) | {"index.php": ""}
    if name == "haproxy":
        yield FastCgi, changed(files, "haproxy.cfg", *HAPROXY)


def interfaces(name, ann, admin, joiner):
    for make, files in applications(name):
        application = make()
        proxy = InterfaceProxy(name, application, files)
        try:
            forged_identities(proxy, ann)
            proxy.expect(200, "/admin/x", admin.basic, ("Remote-User", "eve"), identity=admin.identity)
            proxy.expect(200, "/x", ann.bearer, identity=ann.identity, method="POST", body="a=b")
            # This user is in as many groups as possible.
            proxy.expect(200, "/x", joiner.bearer, ("Rolegate-Groups", "staff"), identity=joiner.identity)
            misleading_headers(proxy, ann)
            told_about_the_client(proxy)
            cookies(proxy)
            assert name != "nginx" or "HTTP_PROXY" not in str(proxy.expect(200, "/public/x", ("Proxy", FORGED)).seen)
        except BaseException:
            print((proxy.folder / "log").read_text(errors="replace")[-3000:])
            raise
        finally:
            proxy.stop()
            application.shutdown()
        print(f"proxies: {name} lets no client choose its name by {make.__name__}", flush=True)
    if name == "nginx":
        names_are_the_same()
        forgotten_files(ann)


def cookies(proxy):
    fake = FakeRolegate(is_grpc=False)
    fake.status = 200
    proxy.relay.forward(to=fake.port)
    try:
        until(f"{proxy.name} to ask", lambda: proxy.ask("/x", ("Authorization", "Bearer x")).status == 200, 30)
        for lines, others in lines_of_cookies():
            for path, identity in (("/public/x", None), ("/x", IDENTITY)):
                seen = proxy.expect(200, path, *(("Cookie", line) for line in lines), identity=identity).seen
                found, values = cookies_of(seen)
                # Caddy joins two lines by a comma. This does not matter, because no browser sends two lines.
                assert SESSION not in str(seen) and (len(lines) > 1 or found == others), (proxy.name, lines, values)
    finally:
        fake.stop()
        proxy.relay.forward()


def names_are_the_same():
    """Checks that the files for FastCGI and uwsgi have every name of the file for proxy_pass."""
    def names(file, pattern):
        text = (ROOT / "deploy/proxies/nginx" / file).read_text()
        return {name.upper().replace("-", "_") for name in re.findall(pattern, text, re.M)}

    # `Host` is not among them, because it is passed unchanged.
    expected = names("rolegate-headers.conf", r"^proxy_set_header (\S+)") - {"HOST"} | {"PROXY"}
    for kind in ("fastcgi", "uwsgi"):
        found = names(f"rolegate-{kind}.conf", rf"^{kind}_param HTTP_(\S+) .*;$")
        assert found == expected, (kind, found ^ expected)


def forgotten_files(ann):
    """Checks that no header of a client reaches the application if these files are not included."""
    for make, kind in ((FastCgi, "fastcgi"), (Uwsgi, "uwsgi")):
        application = make()
        files = changed(configuration("nginx"), "nginx.conf", NGINX, FORGOTTEN.format(kind))
        proxy = Proxy("nginx", application, files)
        try:
            for path, credentials in (("/public/x", []), ("/x", [ann.bearer])):
                seen = proxy.expect(200, path, *credentials, ("Remote-User", FORGED), ("Cookie", "a=1")).seen
                assert seen["headers"] == [], (kind, seen)
        finally:
            proxy.stop()
            application.shutdown()
    print("proxies: nginx sends no header by FastCGI or uwsgi where a file was forgotten", flush=True)
