"""The pane of requests."""

import os
import subprocess

from deployment import PASSWORD


def the_pane_shows_what_the_page_asks(page):
    page.open("admin")
    page.find("tbody tr")
    assert page.requests()[::-1] == [
        ("POST", "/sessions", "201"), ("GET", "/me", "200"), ("GET", "/roles", "200"), ("GET", "/users?limit=25", "200")
    ]
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
        password = PASSWORD if "/sessions" in line else "from a shell"
        assert shell(line, TOKEN=token, PASSWORD=password) in ("200", "201"), line
    server.token("o'brien", "from a shell")


def a_curl_line_carries_any_text_and_hides_no_character(page):
    text = "it's \"$HOME\" `id` \\ \u202eright to left\u2028 \U0001f680\nnew line"
    page.open("admin", "#/posts")
    page.click(".bar .primary")
    page.type("dialog [name=title]", "Any text")
    page.script("document.querySelector('dialog textarea').value = arguments[0]", text)
    page.click("dialog form .primary")
    page.find("article .content")
    post = int(page.browser.current_url.rsplit("/", 1)[1])
    code = page.browser.find_elements("css selector", ".curl code")
    line = next(it for it in (one.get_attribute("textContent") for one in code) if "Any text" in it)
    assert line.isprintable() and "\\u202e" in line, line
    assert shell(line, TOKEN=page.session()["token"]) == "201", line
    server = page.deployment
    posts = [server.api("GET", f"/posts/{number}")[1] for number in (post, post + 1)]
    assert [it["content"] for it in posts] == [text, text], posts
    for it in posts:
        server.api("DELETE", f"/posts/{it['id']}", token=server.token())


def shell(line, **variables):
    """Runs it, and returns the status of the response."""
    command = f"{line} -o /dev/null -w '%{{http_code}}'"
    environment = {**os.environ, **variables}
    done = subprocess.run(["bash", "-c", command], env=environment, check=True, capture_output=True, text=True)
    return done.stdout


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
    a_curl_line_carries_any_text_and_hides_no_character,
    the_token_is_copied_and_the_pane_is_cleared,
]
