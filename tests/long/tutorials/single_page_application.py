"""Follows docs/tutorials/single-page-application.md as it is written: types its commands, and opens its page in a
browser."""

import json
import urllib.error
import urllib.request
from pathlib import Path

from stage import Stage


def check():
    with Stage("tutorials/single-page-application.md", 8000, 3000) as stage:
        api, url = stage.ports[8000], f"http://127.0.0.1:{stage.ports[3000]}/"
        start = stage.blocks[0].text
        stage.type()
        one = stays_signed_in(stage, url)
        two = is_signed_out_where_the_session_was_ended(one, stage)
        knows_what_another_tab_did(two)
        token = log_in(api)
        assert answers(api, token) == 200
        stage.kill("first")
        keeps_the_token_in_an_outage(one)
        stage.open("of an hour later", **an_hour_later()).start(start, "Ctrl-C stops")
        assert answers(api, token) == 401, "an access token ends"
        one.reload()
        one.sees("#who", "ada (user)")


def stays_signed_in(stage, url):
    first = stage.browser("one", url)
    first.signs_in("wrong")
    first.sees("#message", "Invalid username or password.")
    first.signs_in("open sesame")
    first.sees("#who", "ada (user)")
    first.sees("#greeting", "Welcome ada!")
    first.reload()
    first.sees("#who", "ada (user)")
    first.driver.quit()
    again = stage.browser("one", url)
    again.sees("#who", "ada (user)")
    return again


def is_signed_out_where_the_session_was_ended(one, stage):
    two = stage.browser("two", one.url)
    two.signs_in("open sesame")
    two.has(2, "#sessions li")
    one.reload()
    one.has(2, "#sessions li")
    one.click("#sessions button")
    one.has(1, "#sessions li")
    two.reload()
    two.sees("#message", "Invalid or expired token.")
    two.signs_in("open sesame")
    two.has(2, "#sessions li")
    one.click("#end-others")
    one.has(1, "#sessions li")
    two.reload()
    two.signs_in("open sesame")
    two.has(2, "#sessions li")
    return two


def knows_what_another_tab_did(page):
    page.driver.switch_to.new_window("tab")
    page.driver.get(page.url)
    page.sees("#who", "ada (user)")
    page.click("#sign-out")
    page.find("#sign-in")
    page.driver.switch_to.window(page.driver.window_handles[0])
    page.find("#sign-in")
    assert page.driver.execute_script("return localStorage.length") == 0


def log_in(port):
    """Logs ada in, and returns an access token."""
    body = json.dumps({"username": "ada", "password": "open sesame"}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/login", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as response:
        return json.load(response)["access_token"]


def answers(port, token):
    request = urllib.request.Request(f"http://127.0.0.1:{port}/me", headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code


def an_hour_later():
    """Returns the environment of a program whose clock is an hour ahead."""
    (library, *_) = Path("/usr/lib").glob("**/faketime/libfaketime.so.1")
    return {"LD_PRELOAD": str(library), "FAKETIME": "+1h", "DONT_FAKE_MONOTONIC": "1"}


def keeps_the_token_in_an_outage(page):
    page.reload()
    page.sees("#message", "Failed to fetch")
    assert page.driver.execute_script("return localStorage.getItem('token')").startswith("rgs_")
