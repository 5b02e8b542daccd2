"""Follows docs/tutorials/identity-headers.md as it is written: types its commands, and opens its page in a browser."""

from stage import Stage


def check():
    with Stage("tutorials/identity-headers.md", 3000, 8080, 8000, 8002) as stage:
        for folder in ["clients/python", "clients/typescript", "deploy/proxies"]:
            stage.copy(folder)
        stage.type(until="'grace:open sesame'")
        grace = stage.browser("grace", f"http://127.0.0.1:{stage.ports[8080]}/")
        grace.signs_in("wrong", "grace")
        grace.sees("[role=alert]", "Invalid username or password.")
        grace.signs_in("open sesame", "grace")
        grace.sees("h1", "Hello grace")
        stage.type(until="-s stop")
        # The session is also valid at the other service.
        grace.reload()
        grace.sees("h1", "Hello grace")
        grace.click("a")
        grace.click("form button")
        grace.find("[name=password]")
        stage.type()
