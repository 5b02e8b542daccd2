"""Deployments for the checks of the console: one process on SQLite, separate programs on PostgreSQL, or one behind
nginx."""

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parents[3] / "target/debug"
PASSWORD = "password of the browser tests"
USERS = 10_000
DEADLINE = 60


class Deployment:
    """A running deployment. Browsers use `url`, and `api_url` is the bearer address. Every user has the password
    PASSWORD."""

    start_page = "/console/"
    cookie = "rolegate-console"
    chromium_flags = []

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="rolegate-console-"))
        self.folder.chmod(0o755)
        self.children = {}
        self.port = free_port()
        self.url = self.api_url = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        try:
            self.start()
            self.wait(lambda: self.api("POST", "/login", admin())[0] == 200)
            self.add_users()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in list(self.children):
            self.kill(name)
        self.stop_database()
        shutil.rmtree(self.folder)

    def spawn(self, name, program, **settings):
        environment = {"RUST_LOG": "warn", "OPS_LISTEN_ADDR": "127.0.0.1:0", "LOGIN_FAILURE_LIMIT": "0", "PASSWORD_MIN_LENGTH": "4",
                       "DEFAULT_ADMIN_PASSWORD": PASSWORD, "EXTRA_ROLES": "editor,auditor", "LAME_DUCK_SECONDS": "0", **settings}
        log = open(self.folder / f"{name}.log", "ab")
        self.children[name] = subprocess.Popen(
            [PROGRAMS / program], env=environment, stdout=log, stderr=log, cwd=self.folder
        )

    def kill(self, name):
        child = self.children.pop(name)
        child.kill()
        child.wait()

    def api(self, method, path, body=None, token=None):
        """Returns the status and the JSON of the response. The status is 0 if there is no response."""
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.api_url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=15) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)
        except OSError:
            return 0, None

    def token(self, username="admin", password=PASSWORD):
        status, body = self.api("POST", "/login", {"username": username, "password": password})
        assert status == 200, (username, status, body)
        return body["access_token"]

    def session(self, username="admin", password=PASSWORD):
        status, body = self.api("POST", "/sessions", {"username": username, "password": password})
        assert status == 201, (username, status, body)
        return body["token"]

    def create(self, username, role="user"):
        """Creates a user and returns the id."""
        body = {"username": username, "password": PASSWORD, "role": role}
        status, user = self.api("POST", "/users", body, self.token())
        assert status == 201, (username, status, user)
        return user["id"]

    def password_link(self, user):
        """Creates a password link for the user with this id, and returns its address."""
        status, link = self.api("POST", f"/users/{user}/password-link", token=self.token())
        assert status == 201, (user, status, link)
        return f"{self.url}/set-password#{link['url'].partition('#')[2]}"

    @staticmethod
    def wait(condition):
        end = time.monotonic() + DEADLINE
        while not condition():
            assert time.monotonic() < end, "the deployment is not ready in time"
            time.sleep(0.1)

    def stop_database(self):
        pass


class Embedded(Deployment):
    """Runs `rolegate`. In an outage, nothing answers."""

    name = "embedded store"
    settings = {}

    def start(self):
        off = {f"{name}_LISTEN_ADDR": "off" for name in ("BASIC", "FORWARD_AUTH", "AUTH", "POSTS")}
        data = str(self.folder / "data")
        address = f"127.0.0.1:{self.port}"
        self.spawn("rolegate", "fast-hash-rolegate", DATA_DIR=data, BEARER_LISTEN_ADDR=address, **off, **self.settings)

    def outage(self):
        self.kill("rolegate")

    def recover(self):
        self.start()
        self.wait(lambda: self.api("GET", "/public")[0] == 200)

    def add_users(self):
        self.outage()
        with sqlite3.connect(self.folder / "data/rolegate.db") as database:
            database.execute(
                'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)'
                ' INSERT INTO "user" (username, password, role) SELECT printf(\'person%05d\', i), password,'
                " CASE i % 100 WHEN 0 THEN 'author' ELSE 'user' END FROM n, \"user\" WHERE username = 'admin'",
                (USERS,),
            )
        database.close()
        self.recover()


class Branded(Embedded):
    """Runs `rolegate` with a title of 60 letters that cannot be broken, a wide logo, and a help link."""

    name = "title, logo and help"
    title = "W" * 60
    logo = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 40"><path fill="#808080" d="M0 0h400v40h-400z"/></svg>'

    def start(self):
        logo = self.folder / "logo.svg"
        logo.write_text(self.logo)
        brand = {"SIGN_IN_TITLE": self.title, "SIGN_IN_LOGO_FILE": str(logo), "SIGN_IN_HELP": "https://help.example.org/"}
        self.settings = brand
        super().start()


class SignInHost(Embedded):
    """The host where the people of a domain sign in, over HTTPS behind nginx. nginx passes only the paths that
    docs/proxies.md names, and so no console."""

    name = "a host for signing in, HTTPS behind nginx"
    start_page = "/account"
    cookie = "__Host-rolegate-console"
    chromium_flags = ["ignore-certificate-errors", "host-resolver-rules=MAP *.example.test 127.0.0.1"]
    paths = r"^/(sign-(in(/.*)?|out)|set-password|password(-link|-policy)?|account(/.*)?|me|roles|profile/(password|second-factor|sessions|keys|audit)(/.*)?)?$"

    def __init__(self):
        super().__init__()
        self.tls_port = free_port()
        self.url = f"https://auth.example.test:{self.tls_port}"
        self.settings = {"COOKIE_DOMAIN": "example.test", "SIGN_IN_URL": f"{self.url}/sign-in",
                         "RETURN_ORIGINS": "https://*.example.test", "TRUSTED_PROXIES": "127.0.0.1"}

    def __enter__(self):
        super().__enter__()
        self.start_nginx()
        return self

    def start_nginx(self):
        request = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=example.test",
                   "-addext", "subjectAltName=DNS:*.example.test", "-keyout", "key.pem", "-out", "cert.pem"]
        subprocess.run(request, cwd=self.folder, check=True, stderr=subprocess.DEVNULL)
        (self.folder / "nginx.conf").write_text(f"""
            events {{}}
            http {{
                access_log off;
                server {{
                    listen 127.0.0.1:{self.tls_port} ssl;
                    ssl_certificate cert.pem;
                    ssl_certificate_key key.pem;
                    location / {{ return 404; }}
                    location ~ "{self.paths}" {{
                        proxy_pass {self.api_url};
                        proxy_set_header Host $http_host;
                        proxy_set_header X-Forwarded-For $remote_addr;
                        proxy_set_header X-Forwarded-Proto $scheme;
                    }}
                }}
            }}""")
        log = open(self.folder / "nginx.log", "ab")
        directives = f"daemon off; pid {self.folder}/nginx.pid; error_log stderr error;"
        self.children["nginx"] = subprocess.Popen(["nginx", "-p", str(self.folder), "-e", "stderr", "-c", "nginx.conf", "-g", directives],
                                                  stdout=log, stderr=log)

        def listens():
            with socket.socket() as client:
                return client.connect_ex(("127.0.0.1", self.tls_port)) == 0

        self.wait(listens)

    def kill(self, name):
        if name != "nginx":
            return super().kill(name)
        # The first signal is not SIGKILL, because that would leave the workers behind.
        child = self.children.pop(name)
        child.terminate()
        child.wait()


class Apart(Deployment):
    """Runs three programs and PostgreSQL. In an outage, auth-service is missing, so requests get a 503."""

    name = "apart on PostgreSQL"

    def start(self):
        self.start_database()
        ports = {name: free_port() for name in ("auth", "posts")}
        self.addresses = {name: f"127.0.0.1:{port}" for name, port in ports.items()}
        self.start_auth()
        auth = f"http://{self.addresses['auth']}"
        self.spawn("posts", "posts-service", DATABASE_URL=self.database, AUTH_SERVICE_URL=auth,
                   POSTS_LISTEN_ADDR=self.addresses["posts"])
        self.spawn("gateway", "gateway", AUTH_SERVICE_URL=auth, BASIC_LISTEN_ADDR="off", FORWARD_AUTH_LISTEN_ADDR="off",
                   POSTS_SERVICE_URL=f"http://{self.addresses['posts']}",
                   BEARER_LISTEN_ADDR=f"127.0.0.1:{self.port}")

    def start_auth(self):
        self.spawn("auth", "fast-hash-auth-service", DATABASE_URL=self.database,
                   AUTH_LISTEN_ADDR=self.addresses["auth"], SIGNING_SECRET="s" * 32,
                   SECOND_FACTOR_KEY="k" * 32)

    def outage(self):
        self.kill("auth")

    def recover(self):
        self.start_auth()
        self.wait(lambda: self.api("POST", "/login", admin())[0] == 200)

    def start_database(self):
        port = free_port()
        self.database = f"postgres://postgres@127.0.0.1:{port}/postgres?sslmode=disable"
        self.cluster = self.folder / "postgres"
        self.cluster.mkdir()
        if os.geteuid() == 0:
            shutil.chown(self.cluster, "postgres", "postgres")
        self.postgres("initdb", "-D", self.cluster, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
        self.postgres("pg_ctl", "-D", self.cluster, "-w", "-o", options, "-l", self.cluster / "log", "start")

    def stop_database(self):
        if getattr(self, "cluster", None) and (self.cluster / "postmaster.pid").exists():
            self.postgres("pg_ctl", "-D", self.cluster, "-m", "immediate", "stop")

    def postgres(self, program, *arguments):
        """Runs a program of PostgreSQL, as the user `postgres` if this process runs as root, because PostgreSQL refuses
        to run as root."""
        user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
        path = max(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"), key=lambda it: int(it.parts[-3]))
        subprocess.run([path, *arguments], check=True, stdout=subprocess.DEVNULL, cwd="/", **user)

    def add_users(self):
        statement = f"""
            INSERT INTO "user" (username, password, role)
            SELECT 'person' || lpad(i::text, 5, '0'), password, CASE i % 100 WHEN 0 THEN 'author' ELSE 'user' END
            FROM generate_series(1, {USERS}) AS i, "user" WHERE username = 'admin'"""
        self.postgres("psql", "-q", "-d", self.database, "-c", statement)


def admin():
    return {"username": "admin", "password": PASSWORD}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
