"""The pane of requests."""

import os
import subprocess

from deployment import PASSWORD


def the_pane_shows_what_the_page_asks(page):
    page.open("admin")
    page.find("tbody tr")
    assert page.requests()[::-1] == [("POST", "/login", "200"), ("GET", "/users?limit=25", "200")]
    times = [part.text for part in page.all("#requests summary .time")]
    assert all(time.endswith(" ms") for time in times), times
    page.type("[type=search]", "person00001")
    page.wait(lambda: page.requests()[0] == ("GET", "/users?limit=25&username=person00001", "200"), "no search")


def its_curl_lines_do_the_same_and_have_no_secret(page):
    server = page.deployment
    server.create("o'brien")
    page.open("admin")
    page.manage("o'brien")
    page.type("dialog [name=password]", "it's $HOME")
    page.click("dialog button", "Set password")
    page.find("dialog .message.good")
    page.press("\ue00c")
    lines = [code.get_attribute("textContent") for code in page.browser.find_elements("css selector", ".curl code")]
    token = page.session()["token"]
    everything = page.script("return document.getElementById('requests').textContent")
    assert not any(secret in everything for secret in (token, PASSWORD, "it's $HOME"))
    assert len(lines) >= 4 and all(line.startswith("curl -sS ") for line in lines), lines
    for line in lines:
        password = PASSWORD if "/login" in line else "from a shell"
        environment = {**os.environ, "TOKEN": token, "PASSWORD": password}
        command = f"{line} -o /dev/null -w '%{{http_code}}'"
        status = subprocess.run(["bash", "-c", command], env=environment, check=True, capture_output=True, text=True)
        assert status.stdout == "200", (line, status)
    server.token("o'brien", "from a shell")


def the_token_is_copied_and_the_pane_is_cleared(page):
    page.open("admin")
    page.find("tbody tr")
    origin = page.deployment.url
    grant = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"], "origin": origin}
    page.browser.execute_cdp_cmd("Browser.grantPermissions", grant)
    page.click("#requests button", "Copy token")
    page.find("#requests button", "Copied")
    copied = page.browser.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
    assert copied == page.session()["token"]
    page.click("#requests summary")
    page.click("#requests .curl button", "Copy")
    page.find("#requests .curl button", "Copied")
    page.click("#requests button", "Clear")
    assert page.requests() == []


CHECKS = [
    the_pane_shows_what_the_page_asks,
    its_curl_lines_do_the_same_and_have_no_secret,
    the_token_is_copied_and_the_pane_is_cleared,
]
