"""Starts and stops what the failovers run on: etcd, three nodes of Patroni, HAProxy, auth-services and gateways."""

import json
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONFIGURATION = Path(__file__).resolve().parent / "patroni"
NET = "127.0.7."
NODES = {f"node{number}": f"{NET}1{number}" for number in (1, 2, 3)}
PROXY = f"{NET}10"
PASSWORD = "password of the failover tests"
SECRET = "a signing secret of more than 32 bytes"


def programs_of_postgresql():
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda it: int(it.parent.name))
    return found[-1]


def log(text):
    print(f"failover: {text}", flush=True)


class Stage:
    """All processes of the test, which are stopped at its end."""

    def __init__(self, reads):
        self.reads = reads
        self.folder = Path(tempfile.mkdtemp(prefix="rolegate-failover-"))
        self.folder.chmod(0o755)
        self.children = {}
        self.urls = {}
        self.forward_urls = {}
        self.user = pwd.getpwnam("postgres") if os.geteuid() == 0 else None

    def spawn(self, name, command, env=None, as_postgres=False):
        output = open(self.folder / f"{name}.log", "ab")
        if as_postgres and self.user:
            # PostgreSQL refuses to run as root. Patroni keeps the capability to read, because it may be in a folder
            # that only root can read.
            command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups",
                       "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search", "--", *command]
        self.children[name] = subprocess.Popen(
            command, env=env, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            start_new_session=True)
        return self.children[name]

    def start_databases(self):
        self.spawn("etcd", [
            "etcd", "--name", "etcd", "--data-dir", str(self.folder / "etcd"), "--log-level", "error",
            "--listen-client-urls", f"http://{PROXY}:2379", "--advertise-client-urls", f"http://{PROXY}:2379",
            "--listen-peer-urls", f"http://{PROXY}:2380",
            "--initial-advertise-peer-urls", f"http://{PROXY}:2380",
            "--initial-cluster", f"etcd=http://{PROXY}:2380"])
        template = (CONFIGURATION / "patroni.yml").read_text()
        for name, address in NODES.items():
            data = self.folder / name
            data.mkdir()
            if self.user:
                os.chown(data, self.user.pw_uid, self.user.pw_gid)
            values = {"NAME": name, "ADDRESS": address, "ETCD": f"{PROXY}:2379",
                      "DIRECTORY": str(data), "PROGRAMS": str(programs_of_postgresql())}
            text = template
            for key, value in values.items():
                text = text.replace(f"@{key}@", value)
            (self.folder / f"{name}.yml").write_text(text)
        for name in NODES:
            self.start_patroni(name)
            if name == "node1":
                self.until("a primary", lambda: self.primary(), 120)
        self.until("two standbys that stream", lambda: len(self.streaming()) == 2, 120)
        self.until("a synchronous standby", self.has_synchronous, 60)
        files = [str(CONFIGURATION / name) for name in ("haproxy.cfg", "haproxy-kept-sessions.cfg")]
        self.spawn("haproxy", ["haproxy", "-db", "-f", files[0], "-f", files[1]])

    def start_patroni(self, name):
        patroni = shutil.which("patroni") or str(ROOT / "target/long/venv/bin/patroni")
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder / name), "LANG": "C.UTF-8"}
        self.spawn(name, [patroni, str(self.folder / f"{name}.yml")], env, as_postgres=True)

    def start_services(self):
        hosts = ",".join(f"{address}:5432" for address in NODES.values())
        targets = {
            "hosts": f"{hosts}/postgres?target_session_attrs=read-write&sslmode=disable",
            "proxy": f"{PROXY}:5432/postgres?sslmode=disable",
            "sessions": f"{PROXY}:5433/postgres?sslmode=disable"}
        for name, target in targets.items():
            env = {"DATABASE_URL": f"postgres://postgres:postgres@{target}", "DATABASE_READS": self.reads,
                   "SIGNING_SECRET": SECRET, "DEFAULT_ADMIN_PASSWORD": PASSWORD, "RUST_LOG": "warn",
                   "AUTH_LISTEN_ADDR": "127.0.0.1:0", "OPS_LISTEN_ADDR": "127.0.0.1:0",
                   "LOGIN_FAILURE_LIMIT": "0"}
            self.spawn(f"auth-{name}", [str(ROOT / "target/debug/fast-hash-auth-service")], env)
            grpc = self.address(f"auth-{name}", "grpc")
            env = {"AUTH_SERVICE_URL": grpc, "BEARER_LISTEN_ADDR": "127.0.0.1:0", "RUST_LOG": "off",
                   "BASIC_LISTEN_ADDR": "off", "FORWARD_AUTH_LISTEN_ADDR": "127.0.0.1:0",
                   "OPS_LISTEN_ADDR": "127.0.0.1:0"}
            self.spawn(f"gateway-{name}", [str(ROOT / "target/debug/gateway")], env)
            self.urls[name] = self.address(f"gateway-{name}", "bearer")
            self.forward_urls[name] = self.address(f"gateway-{name}", "forward")

    def address(self, name, listener):
        def printed():
            for line in (self.folder / f"{name}.log").read_text().splitlines():
                words = line.split()
                if len(words) > 1 and words[0] == listener and words[1].startswith("http"):
                    return words[1]
            return None
        return self.until(f"{name} to listen", printed, 60)

    def until(self, what, poll, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = poll()
            if value:
                return value
            time.sleep(0.05)
        raise SystemExit(f"failover: waited {seconds} seconds for {what}; logs are in {self.folder}")

    # -- the cluster as Patroni reports it --

    def cluster(self):
        for address in NODES.values():
            try:
                with urllib.request.urlopen(f"http://{address}:8008/cluster", timeout=0.5) as answer:
                    return json.load(answer)["members"]
            except (OSError, ValueError, KeyError):
                continue
        return []

    def primary(self, other_than=None):
        """Returns the node whose Patroni says that it is the primary and has the lock."""
        for name, address in NODES.items():
            if name == other_than:
                continue
            try:
                with urllib.request.urlopen(f"http://{address}:8008/primary", timeout=0.5) as answer:
                    if answer.status == 200:
                        return name
            except OSError:
                continue
        return None

    def streaming(self):
        members = self.cluster()
        return [it["name"] for it in members if it.get("role") != "leader" and it.get("state") == "streaming"]

    def has_synchronous(self):
        return any(it.get("role") == "sync_standby" for it in self.cluster())

    # -- processes --

    def family(self, name):
        """Returns the process ids of a node's Patroni and PostgreSQL."""
        patroni = self.children[name].pid
        pids = [patroni]
        pid_file = self.folder / name / "data" / "postmaster.pid"
        if pid_file.exists():
            postmaster = int(pid_file.read_text().split()[0])
            children = Path(f"/proc/{postmaster}/task/{postmaster}/children")
            pids.append(postmaster)
            pids += [int(pid) for pid in children.read_text().split()] if children.exists() else []
        return pids

    def signal(self, pids, number):
        for pid in pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def stop(self, keep):
        for name, child in self.children.items():
            pids = self.family(name) if name in NODES else [child.pid]
            self.signal(pids, signal.SIGKILL)
        for child in self.children.values():
            child.wait()
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)
