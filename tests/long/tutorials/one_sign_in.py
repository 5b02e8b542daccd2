"""Follows docs/tutorials/one-sign-in.md as it is written, behind nginx and then behind Caddy."""

from stage import Stage

FIRST, SECOND = "First application", "Second application"


def check():
    with Stage("tutorials/one-sign-in.md", 8080, 8081, 8443, 8000, 8002) as stage:
        stage.copy("deploy/proxies")
        stage.type(until="-s stop")
        signs_in_once_and_out(stage, "nginx")
        stage.type(until="caddy run")
        caddy = stage.blocks.pop(0)
        stage.terminals["fourth"].start(caddy.text, "serving initial configuration")
        signs_in_once_and_out(stage, "caddy")
        stage.type()


def signs_in_once_and_out(stage, profile):
    def url(host):
        return f"https://{host}.example.test:{stage.ports[8443]}/"

    browser = stage.browser(profile, url("app"), "host-resolver-rules=MAP *.example.test 127.0.0.1",
                            "ignore-certificate-errors")
    assert browser.driver.current_url.startswith(url("auth") + "sign-in?return="), browser.driver.current_url
    browser.signs_in("open sesame")
    browser.sees("h1", FIRST)
    assert browser.driver.current_url == url("app"), browser.driver.current_url
    # The second application is for authors.
    browser.driver.get(url("app2"))
    browser.sees("h1", "No access")
    browser.find("a", "Sign in as somebody else").click()
    browser.signs_in("open sesame", "grace")
    browser.sees("h1", SECOND)
    assert browser.driver.current_url == url("app2"), browser.driver.current_url
    browser.driver.get(url("app"))
    browser.sees("h1", FIRST)
    browser.driver.get(url("auth"))
    browser.sees("h2", "API keys")
    browser.driver.get(url("app2"))
    browser.click("a")
    browser.click("form button")
    browser.find("[name=password]")
    for host in ("app", "app2"):
        browser.driver.get(url(host))
        browser.reload()
        browser.find("[name=password]")
        assert browser.driver.current_url.startswith(url("auth") + "sign-in?return="), browser.driver.current_url
