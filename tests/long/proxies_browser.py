"""Checks in Chromium how a page of another origin uses a protected application."""

import http.server
import json
import shutil
import tempfile
import threading

from proxies_preflight import PAGE
from proxies_process import Application, Proxy, configuration
from selenium import webdriver

FETCH = """
const [url, options, done] = arguments;
fetch(url, options).then(
  async (response) => done([response.status, response.headers.get("WWW-Authenticate"), await response.text()]),
  (error) => done([0, null, String(error)]));
"""


class Pages(http.server.ThreadingHTTPServer):
    """Serves an origin that has an empty page."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()

        def log_message(self, *_):
            pass

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.origin = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class CorsApplication(Application):
    """An application that allows the pages of one origin, as CORS libraries do, with their cookies if
    `allows_credentials` is set."""

    allows_credentials = False

    class Handler(Application.Handler):
        def end_headers(self):
            if self.headers.get("Origin") == self.server.origin:
                self.send_header("Access-Control-Allow-Origin", self.server.origin)
                self.send_header("Access-Control-Allow-Headers", "Authorization, Content-Type")
                self.send_header("Access-Control-Allow-Methods", "PUT")
                if self.server.allows_credentials:
                    self.send_header("Access-Control-Allow-Credentials", "true")
            super().end_headers()

    def __init__(self, origin):
        self.origin = origin
        super().__init__()


def start(folder, *more):
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    flags = "headless no-sandbox disable-gpu disable-quic no-first-run disable-sync"
    flags += " disable-background-networking disable-component-update"
    for flag in [*flags.split(), *more, f"user-data-dir={folder}"]:
        options.add_argument(f"--{flag}")
    return webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))


def pages_of_other_origins(names, ann):
    own, foreign = Pages(), Pages()
    application = CorsApplication(own.origin)
    with tempfile.TemporaryDirectory() as folder:
        browser = start(folder)
        try:
            for name in names:
                files = {file: text.replace(PAGE, own.origin) for file, text in configuration(name).items()}
                proxy = Proxy(name, application, files)
                try:
                    fetch_everything(browser, proxy, own, foreign, ann)
                finally:
                    proxy.stop()
                print(f"proxies: a page of another origin uses the application behind {name}", flush=True)
        finally:
            browser.quit()


def fetch_everything(browser, proxy, own, foreign, ann):
    def fetch(path, authorization, **options):
        headers = {"Authorization": authorization} | options.pop("headers", {})
        url = f"http://127.0.0.1:{proxy.port}{path}"
        return browser.execute_async_script(FETCH, url, {"headers": headers} | options)

    token = ann.bearer[1]
    browser.get(own.origin)
    for options in ({}, {"method": "POST", "headers": {"Content-Type": "application/json"}}):
        status, _, body = fetch("/x", token, **options)
        assert status == 200, (proxy.name, options, status, body)
        seen = {name.lower(): value for name, value in json.loads(body)["headers"]}
        assert seen["rolegate-user-id"] == str(ann.id), (proxy.name, seen)
    status, _, body = fetch("/admin/x", token)
    assert status == 403, (proxy.name, body)
    status, challenge, body = fetch("/x", "Bearer nonsense")
    assert status == 401 and "Basic" in challenge, (proxy.name, challenge, body)
    browser.get(foreign.origin)
    for path, authorization in (("/x", token), ("/admin/x", token), ("/x", "Bearer nonsense")):
        status, _, body = fetch(path, authorization)
        assert (status, "TypeError" in body) == (0, True), (proxy.name, path, status, body)
