"""Checks of the pane that shows the requests of the page."""

import os
import subprocess

from deployment import PASSWORD


def the_pane_shows_what_the_page_asks(page):
    page.open("admin")
    page.find("tbody tr")
    assert not page.all("#requests li, #requests h2") and page.text("#requests") == "Requests", "it is drawn before it is opened"
    assert page.script("return document.querySelectorAll('#requests *').length") == 1
    users = "/users?limit=25&include=times%2Cgroups%2Csign_in"
    assert page.requests()[::-1] == [("GET", "/me", "200"), ("GET", "/roles", "200"), ("GET", f"{users}&total=true", "200")]
    assert not page.all("#request-list"), "the pane is open at the start"
    page.click("#requests .toggle")
    times = [part.text for part in page.all("#requests summary .time")]
    assert all(time.endswith(" ms") for time in times), times
    page.type("[type=search]", "person00001")
    page.wait(lambda: page.requests()[0] == ("GET", f"{users}&search=person00001&total=true", "200"), "no search")


def its_curl_lines_do_the_same_and_have_no_secret(page):
    server = page.deployment
    server.create("o'brien")
    page.open("admin")
    page.manage("o'brien")
    page.part("Sign-in")
    page.type("dialog [name=password]", "it's $HOME")
    page.click("dialog button", "Set password")
    page.agree("Set password")
    page.find("dialog .message.good")
    page.press("\ue00c")
    page.click("#requests .toggle")
    lines = [code.get_attribute("textContent") for code in page.browser.find_elements("css selector", ".curl code")]
    everything = page.script("return document.getElementById('requests').textContent")
    assert not any(secret in everything for secret in (page.token(), PASSWORD, "it's $HOME"))
    lines.remove(sign_in_line(page))
    assert len(lines) >= 4 and all(line.startswith("curl -sS ") for line in lines), lines
    for line in lines:
        assert shell(line, TOKEN=server.token(), PASSWORD="from a shell") in ("200", "201"), line
    server.token("o'brien", "from a shell")


def a_line_signs_in_for_the_others(page):
    server = page.deployment
    name = "it's \"me\""
    server.create(name, "admin")
    page.open(name)
    page.find("tbody tr")
    page.click("#requests .toggle")
    script = f'{sign_in_line(page)}; printf %s "$TOKEN"'
    done = subprocess.run(["bash", "-c", script], input=f"{PASSWORD}\n", check=True, capture_output=True, text=True)
    status, user = server.api("GET", "/me", token=done.stdout)
    assert (status, user["username"], user["credential"]["kind"]) == (200, name, "session"), user


def sign_in_line(page):
    return page.script("return document.querySelector('#request-list > .curl code').textContent")


def a_curl_line_carries_any_text_and_hides_no_character(page):
    text = "it's \"$HOME\" `id` \\ \u202eright to left\u2028 \U0001f680\nnew line"
    page.open("admin", "#/posts")
    page.click(".bar .primary")
    page.type("dialog [name=title]", "Any text")
    page.script("document.querySelector('dialog textarea').value = arguments[0]", text)
    page.click("dialog form .primary")
    page.find("article .content")
    post = int(page.browser.current_url.rsplit("/", 1)[1])
    page.click("#requests .toggle")
    code = page.browser.find_elements("css selector", ".curl code")
    line = next(it for it in (one.get_attribute("textContent") for one in code) if "Any text" in it)
    assert line.isprintable() and "\\u202e" in line, line
    assert shell(line, TOKEN=page.token()) == "201", line
    server = page.deployment
    posts = [server.api("GET", f"/posts/{number}")[1] for number in (post, post + 1)]
    assert [it["content"] for it in posts] == [text, text], posts
    for it in posts:
        server.api("DELETE", f"/posts/{it['id']}", token=server.token())


def shell(line, **variables):
    """Runs a copied curl command, and returns the status of the response."""
    command = f"{line} -o /dev/null -w '%{{http_code}}'"
    environment = {**os.environ, **variables}
    done = subprocess.run(["bash", "-c", command], env=environment, check=True, capture_output=True, text=True)
    return done.stdout


def a_line_is_copied_and_the_pane_is_cleared(page):
    page.open("admin")
    page.find("tbody tr")
    origin = page.deployment.url
    grant = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"], "origin": origin}
    page.browser.execute_cdp_cmd("Browser.grantPermissions", grant)
    page.click("#requests .toggle")
    page.click("#requests summary")
    line = page.find("#requests details[open] code").text
    page.click("#requests details[open] button", "Copy")
    page.find("#requests details[open] button", "Copied")
    assert page.browser.execute_async_script("navigator.clipboard.readText().then(arguments[0])") == line
    page.click("#requests button", "Clear")
    assert page.requests() == []


def only_the_last_hundred_requests_are_remembered_and_the_log_stays_open(page):
    page.open("admin")
    page.find("tbody tr")
    page.click("#requests .toggle")
    assert page.script("return document.activeElement.textContent") == "Requests", "the focus is lost"
    page.click("nav a", "Groups")
    page.find("#request-list .path", "/groups?limit=25")
    page.script("for (let turn = 0; turn < 110; turn += 1) document.querySelector('nav a[href=\"#/posts\"]').click(),"
                " dispatchEvent(new HashChangeEvent('hashchange'))")
    page.wait(lambda: len(page.requests()) == 100 and not page.script("return document.getElementById('requests').innerText.includes('…')"), "not 100")
    page.click("#requests .toggle")
    assert page.text("#requests") == "Requests"
    assert page.script("return document.activeElement.getAttribute('aria-expanded')") == "false"


CHECKS = [
    the_pane_shows_what_the_page_asks,
    its_curl_lines_do_the_same_and_have_no_secret,
    a_line_signs_in_for_the_others,
    a_curl_line_carries_any_text_and_hides_no_character,
    a_line_is_copied_and_the_pane_is_cleared,
    only_the_last_hundred_requests_are_remembered_and_the_log_stays_open,
]
