"""Signing in and out, ended sessions, two tabs."""

from deployment import PASSWORD


def signs_in_and_out_and_keeps_the_token_only_in_this_tab(page):
    page.open("admin")
    page.find(".who", "admin")
    token = page.session()["token"]
    assert page.browser.get_cookies() == []
    assert page.script("return localStorage.length") == 0
    page.browser.refresh()
    page.find("tbody tr")
    assert page.session()["token"] == token, "a reload ends the session"
    page.click("#sign-out")
    page.find("#sign-in .message", "You are signed out.")
    assert page.script("return sessionStorage.length") == 0
    assert token not in page.script("return document.documentElement.outerHTML")


def signing_out_ends_this_session_and_no_other(page):
    server = page.deployment
    server.create("leaves")
    page.open("leaves")
    page.find("dl", "leaves")
    tokens = [page.session()["token"], server.token("leaves"), server.session("leaves")]
    assert tokens[0].startswith("rgs_"), "no session"
    page.click("#sign-out")
    page.find("#sign-in .message", "You are signed out.")
    assert [server.api("GET", "/profile", token=token)[0] for token in tokens] == [401, 200, 200]
    assert page.session() is None
    page.sign_in("leaves", PASSWORD)
    page.find("dl", "leaves")


def signing_out_forgets_the_token_whatever_the_server_answers(page):
    server = page.deployment
    server.create("stays")
    for outage, message in [
        ("window.fetch = async () => { throw new TypeError('no network'); }", "You are signed out here only: The server does not answer."),
        ("window.fetch = async () => Response.json({detail: 'Service temporarily unavailable.'}, {status: 503})", "You are signed out here only: Service temporarily unavailable."),
        ("window.fetch = async () => Response.json({detail: 'Invalid or expired token.'}, {status: 401})", "You are signed out."),
    ]:
        page.open("stays")
        page.find("dl", "stays")
        page.script(outage)
        page.click("#sign-out")
        page.find("#sign-in .message", message)
        assert page.session() is None and page.script("return sessionStorage.length") == 0
    # While no answer comes, the token is gone already, and another sign-in is not disturbed.
    page.open("stays")
    page.find("dl", "stays")
    page.script(
        "const { fetch } = window; const held = new Promise((release) => { window.release = release; });"
        "window.fetch = (path, ...rest) => path === '/logout' ? held.then(() => fetch('/nowhere')) : fetch(path, ...rest);"
    )
    page.click("#sign-out")
    page.find("#sign-in .message", "Signing out")
    assert page.session() is None
    page.sign_in("stays", PASSWORD)
    page.find("dl", "stays")
    page.script("window.release()")
    page.browser.refresh()
    page.find("dl", "stays")


def a_failed_login_is_explained_and_keeps_the_name(page):
    page.open()
    page.type("#sign-in [name=username]", "ada")
    page.type("#sign-in [name=password]", "wrong")
    page.click("#sign-in button")
    page.find("#sign-in .message", "Invalid username or password.")
    assert page.find("#sign-in [name=username]").get_attribute("value") == "ada"
    assert not page.all("#app")


def a_session_that_is_ended_asks_once_and_keeps_what_was_typed(page):
    server = page.deployment
    boss = server.create("ended-boss", "admin")
    page.open("ended-boss")
    page.find("tbody tr")
    page.click(".bar .primary")
    page.type("dialog [name=username]", "typed-before")
    page.type("dialog [name=password]", "also typed")
    server.api("PUT", f"/users/{boss}/password", {"password": PASSWORD}, server.token())
    page.click("dialog form .primary", "Create")
    page.find("#sign-in .message", "Your session has ended")
    assert "what you typed is kept" in page.text("#sign-in .message")
    assert page.find("#sign-in [name=username]").get_attribute("value") == "ended-boss"
    page.sign_in("ended-boss")
    page.find("#app dialog .message", "Not done: the session had ended.")
    assert page.find("dialog [name=username]").get_attribute("value") == "typed-before"
    page.click("dialog form .primary", "Create")
    page.find("dialog", "typed-before is created")


def a_session_that_expires_says_so_without_a_click(page):
    page.open("admin")
    page.find("tbody tr")
    page.type("[type=search]", "person00001")
    page.wait(lambda: page.names() == ["person00001"], "no search")
    page.script(
        "const user = JSON.parse(sessionStorage.getItem('rolegate.session'));"
        "sessionStorage.setItem('rolegate.session', JSON.stringify({...user, expires: Date.now() + 1500}))"
    )
    page.browser.refresh()
    page.find("#sign-in .message", "Your session has expired.")
    assert page.session() is None
    page.press("\ue00c", "\ue00c")  # Escape, twice
    page.find("#sign-in")
    page.sign_in("admin")
    assert page.find("[type=search]").get_attribute("value") == "person00001"


def a_session_that_lasts_longer_than_a_timer_can_is_not_ended(page):
    page.open("admin")
    page.find("tbody tr")
    days = (page.session()["expires"] - page.script("return Date.now()")) / 86_400_000
    assert 29.9 < days < 30.1, days
    page.click("nav a", "Account")
    page.find("dl", "Signed in until")
    assert not page.all("#sign-in") and page.session()["token"]


def the_next_user_sees_nothing_of_the_one_before(page):
    server = page.deployment
    first = server.create("first-boss", "admin")
    server.create("second-user")
    page.open("first-boss")
    page.find("tbody tr")
    page.click(".bar .primary")
    page.type("dialog [name=username]", "a secret plan")
    server.api("PUT", f"/users/{first}/password", {"password": PASSWORD}, server.token())
    page.press("\ue00c")
    page.script("document.querySelector('[type=search]').dispatchEvent(new Event('input'))")
    page.find("#sign-in .message", "Your session has ended")
    page.sign_in("second-user")
    page.find(".who", "second-user")
    page.find("dl", "second-user")
    everything = page.script("return document.documentElement.outerHTML")
    assert "a secret plan" not in everything and "person00001" not in everything
    assert not [path for _, path, _ in page.requests() if path.startswith("/users")], page.requests()


def two_tabs_have_two_sessions_and_see_conflicts_where_they_happen(page):
    server = page.deployment
    server.create("between-tabs")
    page.open("admin")
    page.search("between-tabs")
    first = page.browser.current_window_handle
    page.browser.switch_to.new_window("tab")
    second = page.browser.current_window_handle
    page.go()
    page.find("#sign-in")
    page.sign_in("admin")
    page.manage("between-tabs")
    page.type("dialog [aria-label=Delete] [name=name]", "between-tabs")
    page.click("dialog .danger")
    page.find("#notice", "between-tabs is deleted.")
    page.browser.switch_to.window(first)
    page.choose("td select", "author")
    page.find("td .message", "User not found.")
    assert page.find("td select").get_attribute("value") == "user"
    # Leaving the first tab does not end the session of the second one.
    page.click("#sign-out")
    page.find("#sign-in .message", "You are signed out.")
    page.browser.switch_to.window(second)
    page.click("nav a", "Account")
    page.find("dl", "admin")
    page.browser.close()
    page.browser.switch_to.window(first)


def the_page_is_painted_before_the_api_answers(page):
    page.open("admin")
    page.find("tbody tr")
    # Requests wait until the test releases them.
    source = """{
        const { fetch } = window;
        const held = new Promise((release) => { window.release = release; });
        window.fetch = async (...request) => { await held; return fetch(...request); };
    }"""
    add, remove = "Page.addScriptToEvaluateOnNewDocument", "Page.removeScriptToEvaluateOnNewDocument"
    script = page.browser.execute_cdp_cmd(add, {"source": source})
    page.browser.refresh()
    page.browser.execute_cdp_cmd(remove, script)
    page.find("h1", "Users")
    page.find(".who", "admin")
    page.find(".loading")
    painted = "return performance.getEntriesByName('first-contentful-paint').length"
    page.wait(lambda: page.script(painted) == 1, "nothing is painted")
    assert not page.all("#sign-in") and not page.all("tbody tr")
    page.script("window.release()")
    page.find("tbody tr")


def a_proxy_that_refuses_everything_is_not_asked_for_ever(page):
    page.open("admin")
    page.find("tbody tr")
    page.script(
        "window.fetch = async () => Response.json({detail: 'Refused by the proxy.'}, {status: 403});"
        "document.querySelector('[type=search]').dispatchEvent(new Event('input'))"
    )
    page.find(".failure", "Refused by the proxy.")
    page.click(".failure button")
    page.wait(lambda: page.requests().count(("GET", "/profile", "403")) == 2, "the role is not read again")
    page.find(".failure", "Refused by the proxy.")
    refused = [path for _, path, status in page.requests() if status == "403"]
    assert sorted(refused) == ["/profile", "/profile", "/users?limit=25", "/users?limit=25"], refused


def typing_just_before_another_view_keeps_that_view(page):
    page.open("admin")
    page.find("tbody tr")
    page.script(
        "const search = document.querySelector('[type=search]'); search.value = 'person00001';"
        "search.dispatchEvent(new Event('input')); document.querySelector('nav a[href=\"#/posts\"]').click()"
    )
    page.wait(lambda: ("GET", "/users?limit=25&username=person00001", "200") in page.requests(), "no search")
    assert "#/posts" in page.browser.current_url, page.browser.current_url
    page.find("h1", "Posts")


CHECKS = [
    signs_in_and_out_and_keeps_the_token_only_in_this_tab,
    signing_out_ends_this_session_and_no_other,
    signing_out_forgets_the_token_whatever_the_server_answers,
    a_failed_login_is_explained_and_keeps_the_name,
    a_session_that_is_ended_asks_once_and_keeps_what_was_typed,
    a_session_that_expires_says_so_without_a_click,
    a_session_that_lasts_longer_than_a_timer_can_is_not_ended,
    the_next_user_sees_nothing_of_the_one_before,
    two_tabs_have_two_sessions_and_see_conflicts_where_they_happen,
    the_page_is_painted_before_the_api_answers,
    a_proxy_that_refuses_everything_is_not_asked_for_ever,
    typing_just_before_another_view_keeps_that_view,
]
