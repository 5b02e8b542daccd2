"""docs/tutorials/identity-headers.md as it is written: its commands, and its page in a browser."""

from stage import Stage


def check():
    with Stage("tutorials/identity-headers.md", 3000, 8080, 8000, 8002) as stage:
        for folder in ["clients/python", "clients/typescript", "deploy/proxies"]:
            stage.copy(folder)
        stage.type(until="'ada:open sesame'")
        ada = stage.browser("ada", f"http://127.0.0.1:{stage.ports[8080]}/")
        ada.signs_in("wrong")
        ada.sees("[role=alert]", "Invalid username or password.")
        ada.signs_in("open sesame")
        ada.sees("h1", "Hello ada")
        stage.type(until="-s stop")
        # The session goes on, in the other service.
        ada.reload()
        ada.sees("h1", "Hello ada")
        ada.click("a")
        ada.click("form button")
        ada.find("[name=password]")
        stage.type()
