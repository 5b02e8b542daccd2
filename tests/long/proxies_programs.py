"""Checks programs that know only HTTP Basic through a proxy: curl and git, with an API key as the password."""

import functools
import http.server
import os
import subprocess
import tempfile
import threading
from pathlib import Path

from proxies_network import call
from proxies_process import Proxy


class Files(http.server.ThreadingHTTPServer):
    """An application that serves the files of a folder, and knows nothing about passwords."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.server.received += 1
            self.server.users.append(self.headers["Remote-User"])
            super().do_GET()

        def log_message(self, *_):
            pass

    def handle_error(self, *_):
        """Ignores the error, because proxies close connections at any time."""

    def __init__(self, folder):
        super().__init__(("127.0.0.1", 0), functools.partial(self.Handler, directory=folder))
        self.received, self.users = 0, []
        threading.Thread(target=self.serve_forever, daemon=True).start()


def git(*words, folder):
    """Runs a program without the settings of this machine, and without a question for a password."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_TERMINAL_PROMPT": "0",
                   "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ["-c", "user.name=ann", "-c", "user.email=ann@example.org"]
    return subprocess.run(["git", *identity, *words], cwd=folder, env=environment, capture_output=True)


def repository(folder):
    """Creates a repository below `folder`, for clients that read its files."""
    work = folder / "work"
    work.mkdir()
    (work / "report").write_text("a report")
    (folder / "public").mkdir()
    for words in (["init", "--quiet", "."], ["add", "."], ["commit", "--quiet", "-m", "A report"],
                  ["clone", "--quiet", "--bare", ".", str(folder / "reports.git")],
                  ["-C", str(folder / "reports.git"), "update-server-info"]):
        done = git(*words, folder=work)
        assert done.returncode == 0, (words, done.stderr)


def status_of_curl(proxy, username, password):
    command = ["curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_code}",
               "--user", f"{username}:{password}", f"http://127.0.0.1:{proxy.port}/reports.git/HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def programs(name, ann, bob):
    key = call("POST", "/profile/keys", {"name": "git"}, ann.token)["key"]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        repository(folder)
        application = Files(folder)
        proxy = Proxy(name, application)
        try:
            address = f"127.0.0.1:{proxy.port}/reports.git"
            assert status_of_curl(proxy, ann.name, key) == "200", name
            for username, password in ((bob.name, key), (ann.name, key[:-1] + "_"), (ann.name, "wrong"), ("", key)):
                assert status_of_curl(proxy, username, password) == "401", (name, username, password)
            application.users.clear()
            user = ann.name.replace(" ", "%20")
            cloned = git("clone", "--quiet", f"http://{user}:{key}@{address}", "clone", folder=folder)
            assert cloned.returncode == 0, (name, cloned.stderr)
            assert (folder / "clone/report").read_text() == "a report"
            assert set(application.users) == {ann.name}, (name, application.users)
            refused = git("clone", "--quiet", f"http://{bob.name}:{key}@{address}", "other", folder=folder)
            assert refused.returncode != 0 and not (folder / "other").exists(), name
        finally:
            proxy.stop()
            application.shutdown()
    print(f"proxies: {name} lets git and curl pass by an API key", flush=True)
