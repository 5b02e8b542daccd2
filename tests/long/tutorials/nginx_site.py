"""Follows docs/tutorials/nginx-site.md as it is written, on loopback and then on a host with HTTPS."""

import re
import subprocess

from blocks import blocks_of
from stage import ROOT, Stage

HOST = "app.example.org"


def check():
    with Stage("tutorials/nginx-site.md", 3000, 8080, 8000, 8002, 443) as stage:
        stage.copy("deploy/proxies")
        (on_host,) = [block.text for block in stage.blocks if "ssl_certificate" in block.text]
        stage.type(until="sudo nginx")
        serve_the_host_too(stage.folder / "site/nginx.conf", certificate(stage, on_host))
        stage.type(until="user disable")

        ada = stage.browser("ada", f"http://127.0.0.1:{stage.ports[8080]}/")
        signs_in_and_sees_the_page(ada)
        loses_access_when_disabled(ada, stage)
        signs_out_and_in(ada)
        is_led_to_the_page_by_a_script(ada)
        on_https = f"https://{HOST}:{stage.ports[443]}/"
        elsewhere = stage.browser("host", on_https, f"host-resolver-rules=MAP {HOST} 127.0.0.1", "ignore-certificate-errors")
        signs_in_and_sees_the_page(elsewhere)
        (cookie,) = elsewhere.driver.get_cookies()
        assert cookie["name"] == "__Host-rolegate" and cookie["secure"] and cookie["httpOnly"], cookie
        signs_out_and_in(elsewhere)
        stage.type()


def serve_the_host_too(file, server):
    """Adds the server of the real host beside that of loopback."""
    configuration = file.read_text()
    assert configuration.endswith("}\n")
    file.write_text(configuration.removesuffix("}\n") + server + "}\n")


def certificate(stage, server):
    """Creates a certificate for the host, and returns the server with it."""
    names = re.findall("/etc/ssl/([a-z.]+)", server)
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
               "-subj", f"/CN={HOST}", "-out", names[0], "-keyout", names[1]]
    subprocess.run(command, cwd=stage.folder, check=True, capture_output=True)
    return server.replace("/etc/ssl", str(stage.folder))


def signs_in_and_sees_the_page(browser):
    browser.signs_in("wrong")
    browser.sees("[role=alert]", "Invalid username or password.")
    browser.signs_in("open sesame")
    browser.sees("h1", "For us only")
    assert browser.driver.current_url == browser.url


def loses_access_when_disabled(browser, stage):
    stage.type(until="user enable")
    browser.reload()
    browser.signs_in("open sesame")
    browser.sees("[role=alert]", "Invalid username or password.")
    stage.type(until="-s stop")
    browser.signs_in("open sesame")
    browser.sees("h1", "For us only")


def is_led_to_the_page_by_a_script(browser):
    """Runs the script of docs/how-to/log-in-from-a-page.md."""
    guide = blocks_of((ROOT / "docs/how-to/log-in-from-a-page.md").read_text())
    (script,) = [block.text for block in guide if "/sign-in?return" in block.text]
    browser.signs_in("open sesame")
    browser.sees("h1", "For us only")
    browser.driver.delete_all_cookies()
    browser.driver.execute_script(f"(async () => {{ {script} }})()")
    browser.signs_in("open sesame")
    browser.sees("h1", "For us only")
    assert browser.driver.current_url == browser.url


def signs_out_and_in(browser):
    browser.click("a")
    browser.click("form button")
    browser.signs_in("open sesame")
    browser.sees("h1", "For us only")
    browser.click("a")
    browser.click("form button")
    browser.find("[name=password]")
    browser.driver.get(browser.url)
    # The page is reloaded, because files without Cache-Control may come from the cache.
    browser.reload()
    browser.find("[name=password]")
