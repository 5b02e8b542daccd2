"""Starts and stops what the upgrade runs on: programs of two versions, a store, and load that counts every failure."""

import collections
import contextlib
import http.client
import itertools
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from upgrade_people import PASSWORD, Person, turn_on_second_factor

ROOT = Path(__file__).resolve().parents[2]
NEW = ROOT / "target/debug"
WORKERS = 8
# The number of people. Half of them stay signed in from the beginning to the end.
PEOPLE = 8
DEADLINE = 120


# The two addresses of a replica, as host and port: one for clients and people, and one for proxies.
Replica = collections.namedtuple("Replica", ["bearer", "forward"])


def request(connection, method, path, body=None, token=None):
    """Sends a request, and returns the status and the JSON of the response."""
    headers = {"Content-Type": "application/json"} if body is not None else {}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    response = connection.getresponse()
    answer = response.read()
    return response.status, json.loads(answer) if answer else None


class Api:
    """Calls one address, and expects a given status."""

    def __init__(self, url):
        self.address = url.removeprefix("http://")

    def __call__(self, expected, method, path, body=None, token=None):
        connection = http.client.HTTPConnection(self.address, timeout=30)
        status, answer = request(connection, method, path, body, token)
        connection.close()
        assert status == expected, (self.address, method, path, status, answer)
        return answer

    def token(self, username):
        return self(200, "POST", "/login", {"username": username, "password": PASSWORD})["access_token"]

    def session(self, username):
        return self(201, "POST", "/sessions", {"username": username, "password": PASSWORD})

    def add(self, username, role):
        """Creates a user and returns the id."""
        body = {"username": username, "password": PASSWORD, "role": role}
        return self(201, "POST", "/users", body, self.token("admin"))["id"]


class Stage:
    """All processes of the test, which are stopped at its end."""

    def __init__(self, old):
        self.programs = {"old": Path(old), "new": NEW}
        self.folder = Path(tempfile.mkdtemp(prefix="rolegate-upgrade-"))
        self.folder.chmod(0o755)
        self.children = {}
        self.cluster = None

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for child in self.children.values():
            child.kill()
            child.wait()
        if self.cluster:
            self.postgres("pg_ctl", "-D", self.cluster, "-m", "immediate", "stop")
        if kind is None:
            shutil.rmtree(self.folder)
        else:
            print(f"upgrade: logs are in {self.folder}", flush=True)

    def spawn(self, name, version, program, hosts=None, **settings):
        environment = {
            "RUST_LOG": "warn", "OPS_LISTEN_ADDR": "127.0.0.1:0", "LOGIN_FAILURE_LIMIT": "0",
            "DEFAULT_ADMIN_PASSWORD": PASSWORD, "SIGNING_SECRET": "s" * 32, "LAME_DUCK_SECONDS": "3",
            "SECOND_FACTOR_KEY": "f" * 32,
            "BEARER_LISTEN_ADDR": "127.0.0.1:0", "BASIC_LISTEN_ADDR": "off", "FORWARD_AUTH_LISTEN_ADDR": "127.0.0.1:0",
            **settings}
        command = [str(self.programs[version] / program)]
        if hosts:
            mount = 'mount --bind "$0" /etc/hosts && exec "$1"'
            command = ["unshare", "--map-root-user", "--mount", "sh", "-c", mount, str(hosts), *command]
        (self.folder / f"{name}.log").unlink(missing_ok=True)
        with open(self.folder / f"{name}.log", "wb") as output:
            self.children[name] = subprocess.Popen(command, env=environment, cwd=self.folder, stdout=output, stderr=output)
        ops = self.address(name, "ops").removeprefix("http://")
        self.until(f"{name} to be ready", lambda: self.is_ready(ops))

    def is_ready(self, address):
        connection = http.client.HTTPConnection(address, timeout=10)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def address(self, name, listener):
        def printed():
            assert self.children[name].poll() is None, (self.folder / f"{name}.log").read_text()
            for line in (self.folder / f"{name}.log").read_text().splitlines():
                words = line.split()
                if len(words) > 1 and words[0] == listener and words[1].startswith("http"):
                    return words[1]
            return None
        return self.until(f"{name} to listen", printed)

    def replica(self, name):
        return Replica(*(self.address(name, it).removeprefix("http://") for it in Replica._fields))

    def answered(self, name, method):
        """Returns how many calls of this gRPC method a program has answered."""
        ops = self.address(name, "ops").removeprefix("http://")
        connection = http.client.HTTPConnection(ops, timeout=30)
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
        connection.close()
        counters = (line for line in lines if line.startswith("rolegate_grpc_requests_total") and method in line)
        return sum(float(line.rsplit(" ", 1)[1]) for line in counters)

    def stop(self, name):
        """Stops a program as an orchestrator does, and checks that it exits with 0."""
        child = self.children.pop(name)
        child.send_signal(signal.SIGTERM)
        assert child.wait(DEADLINE) == 0, (self.folder / f"{name}.log").read_text()

    @staticmethod
    def until(what, poll):
        end = time.monotonic() + DEADLINE
        while not (value := poll()):
            assert time.monotonic() < end, f"waited {DEADLINE} seconds for {what}"
            time.sleep(0.02)
        return value

    def start_database(self):
        port = free_port("127.0.0.1")
        self.database = f"postgres://postgres@127.0.0.1:{port}/postgres?sslmode=disable"
        cluster = self.folder / "postgres"
        cluster.mkdir()
        if os.geteuid() == 0:
            owner = pwd.getpwnam("postgres")
            os.chown(cluster, owner.pw_uid, owner.pw_gid)
        self.postgres("initdb", "-D", cluster, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
        self.postgres("pg_ctl", "-D", cluster, "-w", "-o", options, "-l", cluster / "log", "start")
        self.cluster = cluster

    def postgres(self, program, *arguments):
        """Runs a program of PostgreSQL, as the user `postgres` if this process runs as root, because PostgreSQL refuses
        to run as root."""
        user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda it: int(it.parent.name))
        path = found[-1] / program if found else Path(shutil.which(program))
        subprocess.run([path, *arguments], check=True, stdout=subprocess.DEVNULL, cwd="/", **user)


def free_port(host):
    with socket.socket() as listener:
        listener.bind((host, 0))
        return listener.getsockname()[1]


class Load:
    """Clients and people who send one request after the other to the replicas, and the failures. People sign in at the
    host of the application, or with `is_domain` at the host of a domain. If `is_domain` is None, there are no
    people."""

    def __init__(self, replica, is_domain):
        threads = WORKERS + (0 if is_domain is None else PEOPLE)
        self.replicas, self.current = (replica,), [None] * threads
        self.answered, self.failures, self.is_stopped = [0] * threads, [], False
        api = Api(replica.bearer)
        self.users = []
        for number in range(WORKERS):
            name = f"worker {number}"
            user_id, token = api.add(name, "author"), api.token(name)
            key = api(201, "POST", "/profile/keys", {"name": "load", "role": "user"}, token)["key"]
            self.users.append((name, user_id, token, key))
        admin, self.people = api.token("admin"), []
        for number in range(WORKERS, threads):
            name = f"person {number}"
            user_id = api.add(name, "user")
            codes = turn_on_second_factor(api, name) if number % 4 == 3 else None
            self.people.append(Person(name, user_id, admin, is_domain, stays=number % 2 == 0, recovery_codes=codes))
        self.threads = [threading.Thread(target=self.work, args=(number,)) for number in range(WORKERS)]
        for number, person in enumerate(self.people, WORKERS):
            self.threads.append(threading.Thread(target=self.browse, args=(number, person)))
        for thread in self.threads:
            thread.start()

    @contextlib.contextmanager
    def one_replica(self, number, turn):
        """Yields the next replica for this client, and counts the request."""
        while True:
            replica = self.current[number] = self.replicas[turn % len(self.replicas)]
            if replica in self.replicas:
                break
            # The replica was retired in this moment, so another one is chosen.
        try:
            yield replica
        finally:
            self.answered[number] += 1
            self.current[number] = None

    def browse(self, number, person):
        for turn in itertools.count(number):
            if self.is_stopped:
                return
            with self.one_replica(number, turn) as replica:
                try:
                    person.go(replica)
                except (AssertionError, OSError, http.client.HTTPException) as error:
                    self.failures.append((replica, repr(error)))
                    return

    def work(self, number):
        connections, made = {}, None
        # A user may create 140 credentials in a minute, which a fast machine exceeds otherwise.
        next_key_at = 0.0
        name, user_id, token, key = self.users[number]
        welcome = {"message": f"Welcome {name}!"}
        for turn in itertools.count(number):
            if self.is_stopped:
                return
            login = {"username": name, "password": PASSWORD}
            kinds = [
                (200, "GET", "/profile", None, token, {**welcome, "role": "author"}),
                (200, "GET", "/profile", None, key, {**welcome, "role": "user"}),
                (200, "GET", "/author", None, token, {"message": "Welcome Author!"}),
                (403, "GET", "/admin", None, token, None),
                (200, "POST", "/login", login, None, None),
                (401, "POST", "/login", {**login, "password": "wrong"}, None, None),
                (201, "POST", "/profile/keys", {"name": "short", "role": "author"}, token, None),
                (200, "GET", "/profile", None, key, {**welcome, "role": "user"}),
            ]
            kind = kinds[turn // WORKERS % len(kinds)]
            if kind[0] == 201:
                if time.monotonic() < next_key_at:
                    kind = kinds[0]
                else:
                    next_key_at = time.monotonic() + 1
            if made:
                kind = (200, "DELETE", f"/profile/keys/{made}", None, token, None)
            expected, method, path, body, credential, answer = kind
            with self.one_replica(number, turn) as replica:
                address = replica.bearer
                try:
                    connection = connections.get(address) or http.client.HTTPConnection(address, timeout=30)
                    connections[address] = connection
                    status, received = request(connection, method, path, body, credential)
                    if status != expected or (answer and received != answer):
                        self.failures.append((address, method, path, status, received))
                    made = received["id"] if status == 201 else None
                except (OSError, http.client.HTTPException, ValueError) as error:
                    connections.pop(address, None)
                    made = None
                    self.failures.append((address, method, path, repr(error)))

    def add(self, replica):
        self.replicas += (replica,)

    def retire(self, replica):
        """Removes a replica and waits for its last request, as a load balancer does before the program is stopped."""
        self.replicas = tuple(it for it in self.replicas if it != replica)
        Stage.until("the last request", lambda: replica not in self.current)

    def run(self, phase, count):
        """Waits until so many more requests were answered."""
        before = sum(self.answered)
        Stage.until(f"{count} requests", lambda: sum(self.answered) >= before + count or self.failures)
        sign_ins = sum(person.sign_ins for person in self.people)
        again = sum(person.begun_again for person in self.people)
        counts = f"{sum(self.answered)} requests, {sign_ins} sign-ins at the page, {again} begun again"
        counts += f", {len(self.failures)} failed"
        print(f"upgrade: {phase}: {counts}", flush=True)
        assert not self.failures, self.failures[:5]

    def stop(self):
        self.is_stopped = True
        for thread in self.threads:
            thread.join()

    def result(self):
        assert not self.failures, self.failures[:5]
        return sum(self.answered)
