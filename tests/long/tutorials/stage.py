"""What a tutorial needs to be run as it is written: its text with other ports, processes, browsers."""

import os
import re
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "target/debug/fast-hash-rolegate"


class Stage:
    """A folder for what the tutorial writes. `ports` maps the ports in the document, which may be in use
    here, to free ones."""

    def __init__(self, tutorial, *ports):
        self.ports = {port: free_port() for port in ports}
        self.root = ROOT
        self.text = self.with_ports((ROOT / "docs/tutorials" / tutorial).read_text())
        self.children, self.browsers = [], []

    def __enter__(self):
        self.directory = tempfile.TemporaryDirectory()
        self.folder = Path(self.directory.name)
        return self

    def __exit__(self, *_):
        for it in self.browsers:
            it.driver.quit()
        for child in self.children:
            # Not at once by SIGKILL, which would leave the workers of nginx behind.
            child.terminate()
            try:
                child.wait(timeout=20)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        self.directory.cleanup()

    def with_ports(self, text):
        """The same text with the free ports."""
        return re.sub(r"\b(" + "|".join(map(str, self.ports)) + r")\b", lambda it: str(self.ports[int(it[0])]), text)

    def blocks(self, language):
        """The code blocks of the tutorial, in order."""
        return re.findall(rf"```{language}\n(.*?)```", self.text, re.S)

    def environment(self, **more):
        """Other addresses than those of the tutorial must not be taken."""
        unused = {f"{name}_LISTEN_ADDR": "off" for name in ["BASIC", "AUTH", "POSTS"]}
        return unused | {"OPS_LISTEN_ADDR": "127.0.0.1:0", "RUST_LOG": "warn", "PATH": os.environ["PATH"]} | more

    def start(self, command, port, **more):
        """Runs a command of the document that goes on, until it listens."""
        command = command.replace("cargo run --release", str(PROGRAM))
        child = subprocess.Popen(["sh", "-c", f"exec env {command}"], cwd=self.folder, env=self.environment(**more),
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.children.append(child)
        WebDriverWait(None, 60).until(lambda _: is_open(port), f"nothing listens after {command}")
        return child

    def run(self, commands):
        """Runs commands of the document that end, and returns what they print."""
        commands = commands.replace("cargo run --release --", str(PROGRAM))
        command = ["sh", "-ec", commands]
        return subprocess.run(command, cwd=self.folder, env=self.environment(), check=True, stdout=subprocess.PIPE,
                              text=True).stdout

    def browser(self, profile, url, *flags):
        """A browser with a profile of its own."""
        self.browsers.append(Browser(self.folder / profile, url, flags))
        return self.browsers[-1]


class Browser:
    """The page in a browser with a profile of its own."""

    def __init__(self, profile, url, flags):
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for flag in ["headless", "no-sandbox", "disable-gpu", "no-first-run", f"user-data-dir={profile}", *flags]:
            options.add_argument(f"--{flag}")
        self.driver, self.url = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver"))), url
        self.driver.get(url)

    def find(self, selector, text=""):
        """Waits for a visible element with this text."""

        def visible(driver):
            found = driver.find_elements(By.CSS_SELECTOR, selector)
            return next((it for it in found if it.is_displayed() and text in it.text), None)

        wait = WebDriverWait(self.driver, 30, ignored_exceptions=[StaleElementReferenceException])
        return wait.until(visible, f"no {selector} {text}")

    sees = find

    def click(self, selector):
        self.find(selector).click()

    def reload(self):
        self.driver.refresh()

    def signs_in(self, password):
        for name, value in [("username", "ada"), ("password", password)]:
            field = self.find(f"[name={name}]")
            field.clear()
            field.send_keys(value)
        self.click("form button")

    def has(self, count, selector):
        """Waits for so many elements."""

        def has(driver):
            return len(driver.find_elements(By.CSS_SELECTOR, selector)) == count

        WebDriverWait(self.driver, 30).until(has, f"not {count} {selector}")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def is_open(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
