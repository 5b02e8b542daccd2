"""Applications whose content is changed by programs: git, WebDAV, calendars, and registries of packages and images."""

import base64
import gzip
import hashlib
import io
import json
import os
import re
import secrets
import subprocess
import tarfile
from urllib.parse import quote, unquote

from applications_run import INSTALLED, Application

# The size of a body that is larger than what a proxy keeps in memory.
LARGE = 200 << 20


class Git(Application):
    """Runs `git http-backend` and gitweb with fcgiwrap and nginx, as the documentation of git shows. A push needs
    REMOTE_USER."""

    name, package = "git http-backend", "git"
    deep_link = "/gitweb?p=reports.git;a=summary"
    setting = ("in an nginx of its own behind the proxy: `fastcgi_param REMOTE_USER $http_remote_user;` "
               "([never in the proxy](nginx.md#fastcgi-and-uwsgi))")
    reads_user, decoding = True, "encoded"

    def start(self):
        repositories = self.folder / "repositories"
        self.git("init", "--quiet", "--bare", repositories / "reports.git")
        # The log of references tells which user pushed.
        self.git("-C", repositories / "reports.git", "config", "core.logAllRefUpdates", "true")
        (self.folder / "gitweb.conf").write_text(f'$projectroot = "{repositories}"; $projects_list = $projectroot;\n')
        socket = self.folder / "fcgiwrap.socket"
        (self.folder / "nginx.conf").write_text(f"""
            events {{}}
            http {{
                access_log off; client_max_body_size 0;
                server {{
                    listen 127.0.0.1:{self.server_port};
                    location / {{
                        include {self.folder}/git.conf;
                        fastcgi_param SCRIPT_FILENAME /usr/lib/git-core/git-http-backend;
                        fastcgi_param PATH_INFO $uri;
                        fastcgi_pass unix:{socket};
                    }}
                    location = /gitweb {{
                        include {self.folder}/git.conf;
                        fastcgi_param SCRIPT_FILENAME /usr/share/gitweb/gitweb.cgi;
                        fastcgi_pass unix:{socket};
                    }}
                    location /static/ {{ alias /usr/share/gitweb/static/; }}
                }}
            }}""")
        (self.folder / "git.conf").write_text(f"""
            fastcgi_param QUERY_STRING $query_string;
            fastcgi_param REQUEST_METHOD $request_method;
            fastcgi_param CONTENT_TYPE $content_type;
            fastcgi_param CONTENT_LENGTH $content_length;
            fastcgi_param REMOTE_ADDR $remote_addr;
            fastcgi_param REMOTE_USER $http_remote_user;
            fastcgi_param GIT_PROJECT_ROOT {repositories};
            fastcgi_param GIT_HTTP_EXPORT_ALL "";
            fastcgi_param GITWEB_CONFIG {self.folder}/gitweb.conf;""")
        self.spawn(INSTALLED / "debian/usr/sbin/fcgiwrap", "-c", "8", "-s", f"unix:{socket}")
        self.spawn("nginx", "-p", self.folder, "-e", "stderr", "-c", self.folder / "nginx.conf",
                   "-g", f"daemon off; user root; pid {self.folder}/nginx.pid;")

    def git(self, *words):
        os.spawnvpe(os.P_WAIT, "git", ["git", *map(str, words)], {"PATH": os.environ["PATH"], "HOME": str(self.folder)})

    def use(self, visitor):
        visitor.sees("reports.git")

    def use_by_program(self, program):
        remote = f"https://{quote(program.user.name)}:{program.user.key}@{program.host}/reports.git"
        settings = ["-c", f"http.sslCAInfo={program.cafile}", "-c", "user.name=bea", "-c", "user.email=bea@corp.example"]
        # git sends larger bodies in chunks, which HAProxy before 3.2 refuses, as docs/proxies.md says.
        settings += ["-c", "http.postBuffer=50000000"] if program.front.name == "haproxy" else []

        def git(*words, **options):
            return program.run("git", *settings, *words, GIT_TERMINAL_PROMPT="0", GIT_CONFIG_NOSYSTEM="1", **options)

        git("init", "--quiet", "-b", program.front.name, "work")
        (program.folder / "work/report").write_bytes(os.urandom(5 << 20))
        git("-C", "work", "add", ".")
        git("-C", "work", "commit", "--quiet", "-m", f"A report behind {program.front.name}")
        # The push is forced, because another user may have pushed this branch before.
        git("-C", "work", "push", "--force", remote, program.front.name)
        git("clone", "--quiet", "-b", program.front.name, remote, "clone")
        assert (program.folder / "clone/report").read_bytes() == (program.folder / "work/report").read_bytes()
        wrong = remote.replace(program.user.key, program.user.key[:-1] + "_")
        git("clone", "--quiet", wrong, "other", is_refused=True)

    def name_of(self, program):
        # git-http-backend writes the name of the pushing user into the log of references.
        log = self.folder / "repositories/reports.git/logs/refs/heads" / program.front.name
        self.use_by_program(program)
        return log.read_text().splitlines()[-1].partition(" ")[2].partition(" ")[2].partition(" <")[0]


class WsgiDav(Application):
    name, distribution, deep_link = "WsgiDAV", "wsgidav", "/reports/"
    setting = "`http_authenticator: {trusted_auth_header: HTTP_REMOTE_USER}`, and a user in `simple_dc`"
    reads_user, decoding = True, "encoded"

    def start(self):
        (self.folder / "files/reports").mkdir(parents=True)
        (self.folder / "files/reports/january.txt").write_text("a report")
        settings = {
            "host": "127.0.0.1", "port": self.server_port, "server": "cheroot",
            "provider_mapping": {"/": str(self.folder / "files")},
            "http_authenticator": {"trusted_auth_header": "HTTP_REMOTE_USER"},
            # WsgiDAV uses the name in the header only where it would otherwise ask for a password.
            "simple_dc": {"user_mapping": {"*": {"nobody": {"password": secrets.token_hex()}}}},
            "verbose": 3, "logging": {"enable": True},
        }
        (self.folder / "wsgidav.json").write_text(json.dumps(settings))
        self.spawn("wsgidav", "--config", self.folder / "wsgidav.json")

    def use(self, visitor):
        visitor.sees("january.txt")
        visitor.find("a[href$='january.txt']").click()
        visitor.sees("a report")

    def use_by_program(self, program):
        from webdav4.client import Client, HTTPError  # noqa: PLC0415

        client = Client(program.url, auth=(program.user.name, program.user.key), verify=str(program.cafile))
        place = f"reports of {program.front.name}"
        client.mkdir(place)
        (program.folder / "large").write_bytes(os.urandom(1 << 20) * (LARGE >> 20))
        client.upload_file(program.folder / "large", f"{place}/large", chunk_size=1 << 20)
        client.copy(f"{place}/large", f"{place}/copy")
        client.move(f"{place}/copy", f"{place}/moved")
        assert sorted(client.ls(place, detail=False)) == [f"{place}/large", f"{place}/moved"], client.ls(place)
        client.download_file(f"{place}/moved", program.folder / "back")
        assert digest(program.folder / "back") == digest(program.folder / "large")
        client.remove(place)
        wrong = Client(program.url, auth=(program.user.name, "wrong"), verify=str(program.cafile))
        try:
            wrong.ls("/")
            raise AssertionError("a wrong password passes")
        except HTTPError as refused:
            assert refused.status_code == 401, refused

    def name_of(self, program):
        program.request("/reports/", "PROPFIND")
        return re.findall(r"127\.0\.0\.1 - (.*) - \[.*PROPFIND /reports/", (self.folder / "log").read_text())[-1]


def digest(file):
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


class Radicale(Application):
    name, distribution, deep_link = "Radicale", "radicale", "/.web/"
    setting = ("`[auth] type = http_remote_user`; `[web] prefer_browser_login = True`, or its page asks for a name and a "
               "password again")
    reads_user, decoding = True, "encoded"

    def start(self):
        (self.folder / "config").write_text(f"""
[server]
hosts = 127.0.0.1:{self.server_port}
[auth]
type = http_remote_user
[web]
prefer_browser_login = True
[storage]
filesystem_folder = {self.folder}/collections
""")
        self.spawn("radicale", "--config", self.folder / "config")

    def use(self, visitor):
        # The page asks for no name, because the proxy sends it.
        visitor.sees(f"{visitor.user.name}'s Collections")

    def use_by_program(self, program):
        import caldav  # noqa: PLC0415

        with caldav.DAVClient(program.url, username=program.user.name, password=program.user.key,
                              ssl_verify_cert=str(program.cafile)) as client:
            principal = client.principal()
            assert unquote(principal.url.path) == f"/{program.user.name}/", principal.url
            calendar = principal.make_calendar(name=f"behind {program.front.name}")
            calendar.save_event("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//x//x//EN\r\nBEGIN:VEVENT\r\nUID:1\r\n"
                                "DTSTAMP:20260101T000000Z\r\nDTSTART:20260102T000000Z\r\nSUMMARY:Review\r\n"
                                "END:VEVENT\r\nEND:VCALENDAR\r\n")
            assert "Review" in calendar.events()[0].data
        assert program.request("/someone.else/", "PROPFIND")[0] == 403

    def name_of(self, program):
        body = b'<propfind xmlns="DAV:"><prop><current-user-principal/></prop></propfind>'
        status, answer = program.request("/", "PROPFIND", body, {"Content-Type": "text/xml"})
        assert status == 207, (status, answer)
        return unquote(re.search("<current-user-principal><href>/(.*?)/</href>", answer)[1])


class PyPiServer(Application):
    name, distribution, deep_link = "pypiserver", "pypiserver", "/simple/"
    setting = "`-P . -a .`: no passwords of its own"

    def start(self):
        (self.folder / "packages").mkdir()
        self.spawn("pypi-server", "run", "-p", self.server_port, "-i", "127.0.0.1", "-P", ".", "-a", ".", "packages")

    def use(self, visitor):
        visitor.find(f"a[href*='reports-of-{visitor.front.name}']").click()
        visitor.sees(f"reports_of_{visitor.front.name}-1.0", "a")

    def use_by_program(self, program):
        """Uploads a package with twine, and installs it with pip."""
        package = f"reports_of_{program.front.name}"
        source = program.folder / "source"
        source.mkdir()
        (source / f"{package}.py").write_text("answer = 42\n")
        (source / "setup.py").write_text(
            f"from setuptools import setup\nsetup(name='{package}', version='1.0', py_modules=['{package}'])\n")
        program.run("python", "-m", "build", "--no-isolation", "--wheel", source)
        wheel = next((source / "dist").glob("*.whl"))
        login = ["--non-interactive", "--disable-progress-bar", "--username", program.user.name]
        address = ["--cert", program.cafile, "--repository-url", program.url]
        program.run("twine", "upload", *login, "--password", "wrong", *address, wheel, is_refused=True)
        program.run("twine", "upload", *login, "--password", program.user.key, *address, wheel)
        index = f"https://{quote(program.user.name)}:{program.user.key}@{program.host}/simple/"
        program.run("pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--cert", program.cafile,
                    "--index-url", index, "--target", program.folder / "here", package)
        assert (program.folder / f"here/{package}.py").exists()


class DockerRegistry(Application):
    name, package, deep_link = "docker-registry", "docker-registry", "/v2/_catalog"

    def start(self):
        (self.folder / "registry.yml").write_text(f"""
version: 0.1
storage: {{ filesystem: {{ rootdirectory: {self.folder}/images }} }}
http: {{ addr: 127.0.0.1:{self.server_port} }}
""")
        self.spawn(INSTALLED / "debian/usr/bin/docker-registry", "serve", self.folder / "registry.yml")

    def use(self, visitor):
        visitor.sees(f"reports/{visitor.front.name}")

    def use_by_program(self, program):
        """Uploads an image with a large layer by skopeo, and downloads it again."""
        image(program.folder / "image")
        (program.folder / "certificates").mkdir()
        (program.folder / "certificates/ca.crt").write_text(program.cafile.read_text())
        there = f"docker://{program.host}/reports/{program.front.name}:1"
        copy = ["skopeo", "--insecure-policy", "copy", "--quiet"]

        def login(side, password):
            return [f"--{side}-cert-dir", program.folder / "certificates", f"--{side}-creds",
                    f"{program.user.name}:{password}"]

        program.run(*copy, *login("dest", "wrong"), f"oci:{program.folder}/image:1", there, is_refused=True)
        program.run(*copy, *login("dest", program.user.key), f"oci:{program.folder}/image:1", there)
        program.run(*copy, *login("src", program.user.key), there, f"oci:{program.folder}/back:1")
        blobs = [{file.name for file in (program.folder / it / "blobs/sha256").iterdir()} for it in ("image", "back")]
        assert blobs[0] <= blobs[1], blobs


def image(folder):
    """Writes an image of one layer in the OCI layout."""
    blobs = folder / "blobs/sha256"
    blobs.mkdir(parents=True)

    def put(content, kind):
        name = hashlib.sha256(content).hexdigest()
        (blobs / name).write_bytes(content)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{name}", "size": len(content)}

    with io.BytesIO() as file:
        with tarfile.open(fileobj=file, mode="w") as archive:
            entry = tarfile.TarInfo("report")
            entry.size = LARGE
            archive.addfile(entry, io.BytesIO(os.urandom(1 << 20) * (LARGE >> 20)))
        plain = file.getvalue()
    # The layer is compressed here, because skopeo would do it otherwise.
    layer = put(gzip.compress(plain, 1), "layer.v1.tar+gzip")
    config = {"architecture": "amd64", "os": "linux", "config": {},
              "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(plain).hexdigest()}"]}}
    manifest = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "config": put(json.dumps(config).encode(), "config.v1+json"), "layers": [layer]}
    index = put(json.dumps(manifest).encode(), "manifest.v1+json") | {
        "annotations": {"org.opencontainers.image.ref.name": "1"}}
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [index]}))


class Mercurial(Application):
    name, distribution, deep_link = "Mercurial hgweb", "mercurial", "/log?rev=all()"
    setting = "`web.allow-push = *`, `web.push_ssl = False`"

    def start(self):
        subprocess.run([INSTALLED / "venv/bin/hg", "init", "reports"], cwd=self.folder, check=True)
        self.spawn("hg", "serve", "-R", "reports", "--address", "127.0.0.1", "--port", self.server_port,
                   "--config", "web.allow-push=*", "--config", "web.push_ssl=False", HGPLAIN="1")

    def use(self, visitor):
        visitor.sees(f"Report behind {visitor.front.name}")

    def use_by_program(self, program):
        settings = ["--config", "auth.x.prefix=*", "--config", f"auth.x.username={program.user.name}",
                    "--config", f"web.cacerts={program.cafile}", "--config", "ui.username=bea"]

        def hg(*words, key=program.user.key, **options):
            return program.run("hg", *words, *settings, "--config", f"auth.x.password={key}", HGPLAIN="1", **options)

        hg("clone", "--noupdate", program.url, "work")
        (program.folder / "work" / program.front.name).write_bytes(os.urandom(2 << 20))
        hg("-R", "work", "commit", "-A", "-m", f"Report behind {program.front.name}")
        hg("-R", "work", "push", "--force")
        hg("clone", program.url, "clone")
        assert (program.folder / "clone" / program.front.name).exists()
        hg("clone", program.url, "other", key="wrong", is_refused=True)


class Verdaccio(Application):
    """Runs Verdaccio, a registry of npm packages. The address of a package with a scope contains `%2f`."""

    name, npm, deep_link, is_whole_host = "Verdaccio", "verdaccio", "/", True
    setting = "`publish: $all` and no `auth`"

    def start(self):
        (self.folder / "config.yaml").write_text(f"""
storage: {self.folder}/storage
auth: {{ htpasswd: {{ file: {self.folder}/htpasswd, max_users: -1 }} }}
packages: {{ "**": {{ access: $all, publish: $all, unpublish: $all }} }}
log: {{ type: stdout, format: json, level: warn }}
""")
        self.spawn(INSTALLED / "node_modules/.bin/verdaccio", "--config", self.folder / "config.yaml",
                   "--listen", f"127.0.0.1:{self.server_port}")

    def use(self, visitor):
        visitor.sees(f"reports-of-{visitor.front.name}")

    def use_by_program(self, program):
        """Publishes a package with npm, and installs it."""
        name = f"@corp/reports-of-{program.front.name}"
        (program.folder / "source").mkdir()
        (program.folder / "source/package.json").write_text(json.dumps({"name": name, "version": "1.0.0"}))
        (program.folder / "here").mkdir()
        credentials = base64.b64encode(f"{program.user.name}:{program.user.key}".encode()).decode()
        settings = [f"registry={program.url}/", f"cafile={program.cafile}", f"//{program.host}/:_auth={credentials}"]
        (program.folder / ".npmrc").write_text("\n".join(settings))
        program.run("npm", "publish", "./source")
        program.run("npm", "install", "--no-audit", "--no-fund", "--prefix", "here", name)
        assert (program.folder / f"here/node_modules/{name}/package.json").exists()
        (program.folder / ".npmrc").write_text("\n".join(settings[:2]))
        program.run("npm", "view", name, is_refused=True)
