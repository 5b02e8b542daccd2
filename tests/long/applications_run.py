"""A third-party application, a proxy before it, and the people and programs that use it."""

import base64
import contextlib
import importlib.metadata
import json
import os
import re
import signal
import ssl
import subprocess
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import quote

from proxies_cookie_only import CHANGES
from proxies_deployments import APPLICATION, DOMAIN, with_tls
from proxies_network import call, free_port, until
from proxies_process import ROOT, Proxy
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

INSTALLED = ROOT / "target/long/applications"
# The ASCII characters, besides letters and digits, that arrive unencoded in a name.
AS_TYPED = " !\"#$&'()*-./;<=>?@[\\]^_`{|}~"
PASSWORD = os.environ["ADMIN_PASSWORD"]


def certificates():
    """Creates the files of a certificate for every host of the tests, and of its authority."""
    names = f"subjectAltName=DNS:*.{DOMAIN},DNS:localhost"
    new = ["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    commands = [
        [*new, "-x509", "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem"],
        [*new, "-subj", f"/CN={DOMAIN}", "-keyout", "key.pem", "-out", "request"],
        ["openssl", "x509", "-req", "-in", "request", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
         "-extfile", "names", "-out", "cert.pem"],
    ]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "names").write_text(names)
        for command in commands:
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
        ca, cert, key = (Path(folder, name).read_text() for name in ("ca.pem", "cert.pem", "key.pem"))
    return {"ca.pem": ca, "cert.pem": cert, "key.pem": key, "haproxy.pem": cert + key}


def version_of(application):
    """Returns the installed version of an application."""
    if application.distribution:
        return importlib.metadata.version(application.distribution)
    if application.npm:
        return json.loads((INSTALLED / "node_modules" / application.npm / "package.json").read_text())["version"]
    policy = subprocess.run(["apt-cache", "policy", application.package], check=True, capture_output=True, text=True)
    return re.search(r"(?:Installed|Candidate): (?!\(none\))(\S+)", policy.stdout)[1] + " (Debian)"


class Application:
    """An application in a folder of its own. A subclass says how it is started, and what people and programs do with
    it."""

    name = None
    # The name of its package in PyPI, npm or Debian.
    distribution = npm = package = None
    # The address that a person opens first.
    deep_link = "/"
    # Set if requests have an `Authorization` that is meant for the application itself.
    is_cookie_only = False
    # Set if addresses have encoded characters that the check of plain paths refuses.
    is_whole_host = False
    # `setting` is what docs/proxies/applications.md says about its settings. `reads_user` is set if one of them makes
    # it read Remote-User. `decoding` says whether it shows a name that arrives percent-encoded as `encoded` or
    # `decoded`.
    setting, reads_user, decoding = "", False, None
    # How many seconds the application may take until it answers.
    patience = 120

    def __init__(self):
        self.server_port = free_port()
        # The class of proxies reads this number, but nothing is counted here.
        self.received = 0
        self.processes = []

    def start(self):
        """Starts the application in `self.folder`."""
        raise NotImplementedError

    def use(self, visitor):
        """Checks that a person who has signed in sees the deep link, and works with the page."""
        raise NotImplementedError

    def use_by_program(self, program):
        """Uses the application as a program does, with an API key as the password."""

    def name_of(self, program):
        """Returns the name by which the application knows this program's user."""

    def is_ready(self):
        request = urllib.request.Request(f"http://127.0.0.1:{self.server_port}{self.deep_link.partition('#')[0]}")
        try:
            with urllib.request.urlopen(request, timeout=5):
                return True
        except urllib.error.HTTPError as error:
            return error.code < 500

    def spawn(self, *command, **environment):
        """Starts a program of the application. It is stopped with the application."""
        with (self.folder / "log").open("ab") as log:
            # The program must neither read nor write files of this machine's user or of Python's cache.
            env = {"PATH": f"{INSTALLED}/venv/bin:{os.environ['PATH']}", "HOME": str(self.folder), "LANG": "C.UTF-8"}
            process = subprocess.Popen(
                [str(it) for it in command], cwd=self.folder, env=env | environment, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True)
        self.processes.append(process)

    @contextlib.contextmanager
    def running(self):
        with tempfile.TemporaryDirectory(prefix="rolegate-application-", ignore_cleanup_errors=True) as folder:
            self.folder = Path(folder)
            try:
                self.start()
                until(f"{self.name} to answer", self.answers, self.patience)
                yield
            except BaseException:
                print((self.folder / "log").read_text(errors="replace")[-3000:], flush=True)
                raise
            finally:
                self.stop()

    def answers(self):
        for process in self.processes:
            assert process.poll() is None, f"{self.name} has ended"
        return self.is_ready()

    def stop(self):
        for process in reversed(self.processes):
            for which in (signal.SIGTERM, signal.SIGKILL):
                # The whole process group is signaled, because servers have workers.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, which)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=10)
        self.processes = []


# The changes that give a host one requirement for all paths, so that every path passes. docs/proxies.md describes them.
WHOLE_HOST = {
    "nginx": [("include rolegate.conf;", "include rolegate-whole-host.conf;"), (" *location (/public/|~. .*) {.*}\n", "")],
    "caddy": [("import rolegate_checks", "import rolegate_whole_host"),
              (r"\t*# Unlike \"path\"(.|\n)*?(?=\t*handle {\n)", "")],
    "haproxy": [("# Rules by path begin here(.|\n)*?# Rules by path end here.\n",
                 "acl is_public always_false\n    acl is_admin always_false\n    acl is_sign_in_host always_false\n"
                 "    acl is_sign_in path -m reg '^/sign-(in(/.*)?|out)$'\n")],
}


class Front(Proxy):
    """A proxy with its shipped files, over TLS, before a third-party application."""

    def __init__(self, proxy, application, pem):
        files = with_tls(proxy, True) | pem
        if application.is_cookie_only:
            for shipped, instead in CHANGES[proxy]:
                files = {file: text.replace(shipped, instead) for file, text in files.items()}
        if application.is_whole_host:
            for pattern, instead in WHOLE_HOST[proxy]:
                before = files
                files = {file: re.sub(pattern, lambda _: instead, text) for file, text in files.items()}
                assert files != before, (proxy, pattern)
        super().__init__(proxy, application, files, tls_name=APPLICATION)

    def is_ready(self):
        return self.exchange("GET", "/sign-in", []).status == 200


class User:
    """A user of Rolegate who has an API key."""

    def __init__(self, name, role):
        body = {"username": name, "password": PASSWORD}
        call("POST", "/register", body)
        admin = call("POST", "/login", {"username": "admin", "password": PASSWORD})["access_token"]
        token = call("POST", "/login", body)["access_token"]
        claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
        call("PUT", f"/users/{claims['sub']}/role", {"role": role}, admin)
        self.name, self.arriving_name = name, quote(name, safe=AS_TYPED)
        self.key = call("POST", "/profile/keys", {"name": "programs"}, token)["key"]


class Visitor:
    """A person who uses an application in Chromium."""

    def __init__(self, browser, front, user):
        self.browser, self.front, self.user = browser, front, user
        self.url = f"https://{front.host}"

    def wait(self, what, condition, seconds=40):
        def is_met(_):
            try:
                return condition()
            except WebDriverException:
                return False
        return WebDriverWait(self.browser, seconds).until(is_met, f"{what}, at {self.browser.current_url}")

    def find(self, selector, seconds=40):
        """Waits until a matching element is shown, and returns it."""
        def shown():
            return [it for it in self.browser.find_elements(By.CSS_SELECTOR, selector) if it.is_displayed()]
        return self.wait(selector, shown, seconds)[0]

    def sees(self, text, selector="body", seconds=40):
        # The comparison ignores case, because styles may show other letters than those of the text.
        def is_shown():
            return any(text.lower() in it.text.lower() for it in self.browser.find_elements(By.CSS_SELECTOR, selector))
        self.wait(f"'{text}' in {selector}", is_shown, seconds)

    def script(self, code, *arguments):
        """Runs JavaScript that ends with a call of `done`, and returns the value of that call. The script reads the
        arguments from `args`."""
        code = f"const args = [...arguments], done = args.pop();\n{code}"
        return self.browser.execute_async_script(code, *arguments)

    def is_at_the_form(self):
        return self.browser.current_url.startswith(f"{self.url}/sign-in?")

    def sign_in(self, path):
        self.browser.get(self.url + path)
        assert self.is_at_the_form(), (self.front.name, self.browser.current_url)
        self.find("[name=username]").send_keys(self.user.name)
        self.find("[name=password]").send_keys(PASSWORD)
        self.find("form button").click()
        # The application may redirect from the deep link by itself.
        self.wait(f"to arrive at {path}", lambda: "/sign-in" not in self.browser.current_url)

    def sign_out(self, path):
        """Signs out, and checks that the next request is refused: of a page, and of a script in a page that is still
        open."""
        left = self.browser.current_window_handle
        self.browser.switch_to.new_window("tab")
        self.browser.get(f"{self.url}/sign-out")
        self.find("form button").click()
        self.wait("to be signed out", lambda: "/sign-in" in self.browser.current_url)
        self.browser.close()
        self.browser.switch_to.window(left)
        status = self.script("fetch(args[0]).then((it) => done(it.status), (error) => done(String(error)));", path)
        assert status == 401, (self.front.name, path, status)
        # The blank page makes sure that a request is sent, because a change of the fragment alone sends none.
        self.browser.get("about:blank")
        self.browser.get(self.url + path)
        assert self.is_at_the_form(), (self.front.name, self.browser.current_url)


class Program:
    """A program with an API key and a folder of its own. It trusts the certificate of the proxy."""

    def __init__(self, front, user, folder):
        self.front, self.user, self.folder = front, user, folder
        self.host = f"localhost:{front.port}"
        self.url = f"https://{self.host}"
        self.cafile = front.folder / "ca.pem"

    def request(self, path, method="GET", body=None, headers=None):
        """Sends a request with the API key, and returns the status and the body."""
        basic = base64.b64encode(f"{self.user.name}:{self.user.key}".encode()).decode()
        request = urllib.request.Request(self.url + path, body, {"Authorization": f"Basic {basic}"} | (headers or {}),
                                         method=method)
        context = ssl.create_default_context(cafile=self.cafile)
        try:
            with urllib.request.urlopen(request, context=context, timeout=60) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(errors="replace")

    def run(self, *command, is_refused=False, **environment):
        """Runs a command without the settings of this machine's user, and returns its output."""
        env = {"PATH": f"{INSTALLED}/venv/bin:{os.environ['PATH']}", "HOME": str(self.folder), "LANG": "C.UTF-8"}
        with subprocess.Popen(
                [str(it) for it in command], cwd=self.folder, env=env | environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True) as process:
            try:
                output, _ = process.communicate(timeout=120)
            except subprocess.TimeoutExpired:
                # This also kills what the command has started, such as the programs of git.
                os.killpg(process.pid, signal.SIGKILL)
                raise
        assert (process.returncode != 0) == is_refused, (command, output[-1500:])
        return output
