"""Checks of the account page, to which the console redirects all users but admins."""

from deployment import PASSWORD

PANES = ["You", "Password", "Second step", "Sessions", "Where you signed in", "API keys"]


def everybody_has_an_account_and_no_administration(page):
    server = page.deployment
    for role in ("user", "author", "editor"):
        server.create(f"plain-{role}", role)
        page.open(f"plain-{role}")
        page.find("dl", f"plain-{role}")
        assert page.browser.current_url == f"{server.url}/account", page.browser.current_url
        assert [heading.text for heading in page.all(".cards h2")] == PANES
        assert not page.all("nav, nav a, #requests")
        for view in ("#/users", "#/posts", "#/audit", "#/account", ""):
            page.browser.get("about:blank")
            page.go(view)
            page.find("dl", f"plain-{role}")
            assert page.browser.current_url == f"{server.url}/account", view
        # The back button leads to the page before the console. The console itself would only redirect here again.
        page.browser.back()
        page.wait(lambda: page.browser.current_url == "about:blank", "Back does not lead away")


def the_root_leads_to_the_account(page):
    server = page.deployment
    server.create("types-the-address")
    page.open()
    page.browser.get(f"{server.url}/")
    page.find("form [name=username]")
    assert page.browser.current_url == f"{server.url}/sign-in?return=%2Faccount", page.browser.current_url
    page.sign_in("types-the-address")
    page.find("dl", "types-the-address")
    assert page.browser.current_url == f"{server.url}/account"
    page.browser.get(f"{server.url}/")
    page.find("dl", "types-the-address")
    answer = "const done = arguments[0]; fetch('/').then((it) => it.json()).then((it) => done(it.message))"
    assert page.browser.execute_async_script(answer) == "Role-Based Authorization API"


def admins_find_the_console_and_others_do_not(page):
    server = page.deployment
    user = server.create("rises")
    page.open("rises")
    page.find("[aria-label='Where you signed in'] li")
    assert not page.all("nav a")
    # A page that was hidden for a minute asks again.
    come_back = (
        "const { now } = Date; const tell = (hidden) => { Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });"
        " document.dispatchEvent(new Event('visibilitychange')) };"
        " tell(true); Date.now = () => now() + 60000; tell(false); Date.now = now"
    )
    for role, links in (("author", []), ("admin", ["Console"]), ("user", []), ("admin", ["Console"])):
        server.api("PUT", f"/users/{user}/role", {"role": role}, server.token())
        page.script(come_back)
        page.find("#notice", f"Your role is now {role}.")
        page.find(".who .chip", role)
        page.wait(lambda: [link.text for link in page.all("nav a")] == links, links)
    page.click("nav a", "Console")
    page.find("tbody tr")
    assert page.browser.current_url.startswith(f"{server.url}/console/")


def admins_find_no_console_where_it_is_not_passed(page):
    """Checks that a sign-in host has no console. The answer is the same with CONSOLE=off."""
    page.open("admin")
    page.find("dl", "admin")
    asked = "return performance.getEntriesByName(arguments[0] + '/console/').map((it) => it.responseStatus)"
    page.wait(lambda: page.script(asked, page.deployment.url) == [404], "the page does not look for the console")
    page.find("[aria-label='Where you signed in'] li")
    assert not page.all("nav a")


def a_session_that_ends_leads_back_to_the_account(page):
    server = page.deployment
    server.create("comes-back")
    page.open("comes-back")
    page.find("dl", "comes-back")
    page.type("[aria-label='New API key'] [name=name]", "typed before")
    assert server.api("POST", "/logout", token=page.token())[0] == 200
    page.click("[aria-label='New API key'] button")
    page.find("#ended h2", "Your session has ended")
    page.sign_in_again("comes-back")
    page.wait(lambda: not page.all("#ended"), "the page does not go on")
    assert page.find("[aria-label='New API key'] [name=name]").get_attribute("value") == "typed before"
    page.click("#sign-out")
    page.find("form [name=username]")
    page.sign_in("comes-back")
    page.find("dl", "comes-back")
    assert page.browser.current_url == f"{server.url}/account"


def a_password_is_changed_and_other_sessions_end(page):
    server = page.deployment
    server.create("changes")
    page.open("changes")
    page.find("dl", "changes")
    others = [server.token("changes"), server.session("changes")]
    own = page.token()
    page.type("[name=current]", "wrong")
    page.type("[name=password]", "a new password")
    page.click("main form .primary")
    page.find("main .field:has([name=current]) .message", "Current password is incorrect.")
    assert page.find("[name=password]").get_attribute("value") == "a new password"
    page.type("[name=current]", PASSWORD)
    page.click("main form .primary")
    page.find("main .message.good", "Password updated successfully.")
    assert [server.api("GET", "/profile", token=other)[0] for other in others] == [401, 401]
    assert server.api("GET", "/profile", token=own)[0] == 200 and page.token() == own
    server.token("changes", "a new password")


def sessions_are_listed_and_ended_and_this_one_stays(page):
    server = page.deployment
    server.create("everywhere")
    others = [server.session("everywhere") for _ in range(3)]
    page.open("everywhere")
    page.find("dl", "Signed in until at most")
    page.wait(lambda: len(page.all("[aria-label=Sessions] li")) == 4, "not all sessions")
    own = page.find(".credentials li", "this one")
    assert "Chrome on Linux" in own.text and "from 127.0.0.1" in own.text, own.text
    assert not own.find_elements("css selector", "button"), "this session is ended by Sign out"
    end(page, "End", " li:first-child")
    page.find(".credentials .message.good", "has ended.")
    statuses = lambda: [server.api("GET", "/profile", token=token)[0] for token in [*others, page.token()]]
    assert statuses() == [401, 200, 200, 200]
    end(page, "End all others", " > .action")
    page.find(".credentials .message.good", "All other sessions have ended.")
    assert statuses() == [401, 401, 401, 200]
    assert len(page.all("[aria-label=Sessions] li")) == 1


def end(page, text, place):
    """Ends sessions by two clicks, of which the first only asks for a confirmation."""
    page.click(f"[aria-label=Sessions]{place} button", text)
    page.click(f"[aria-label=Sessions]{place} button.danger", f"{text}: sure?")


CHECKS = [
    everybody_has_an_account_and_no_administration,
    the_root_leads_to_the_account,
    admins_find_the_console_and_others_do_not,
    a_session_that_ends_leads_back_to_the_account,
    a_password_is_changed_and_other_sessions_end,
    sessions_are_listed_and_ended_and_this_one_stays,
]

# The checks that must also pass at a sign-in host.
AT_EVERY_HOST = [
    the_root_leads_to_the_account,
    admins_find_no_console_where_it_is_not_passed,
    a_session_that_ends_leads_back_to_the_account,
    a_password_is_changed_and_other_sessions_end,
    sessions_are_listed_and_ended_and_this_one_stays,
]
