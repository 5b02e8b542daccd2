"""Checks of signing in and out, of ended sessions, and of several tabs."""

from deployment import PASSWORD


def no_script_can_read_the_session(page):
    page.open("admin")
    page.find("tbody tr")
    cookie = page.browser.get_cookie("rolegate-console")
    assert cookie["httpOnly"] and cookie["sameSite"] == "Lax" and cookie["path"] == "/", cookie
    assert cookie["value"].startswith("rgs_") and cookie["value"] not in page.content()
    assert page.script("return [document.cookie, localStorage.length, sessionStorage.length]") == ["", 0, 0]
    page.browser.refresh()
    page.find("tbody tr")
    assert page.token() == cookie["value"], "a reload ends the session"


def signing_out_ends_this_session_and_no_other(page):
    server = page.deployment
    server.create("leaves")
    page.open("leaves")
    page.find("dl", "leaves")
    tokens = [page.token(), server.token("leaves"), server.session("leaves")]
    page.click("#sign-out")
    page.find("form [name=username]")
    assert [server.api("GET", "/profile", token=token)[0] for token in tokens] == [401, 200, 200]
    assert page.token() is None
    page.browser.back()
    page.find("form [name=username]")
    assert not page.all("#app"), "Back shows the page of a session that has ended"
    page.sign_in("leaves")
    page.find("dl", "leaves")


def signing_out_that_fails_says_so(page):
    page.deployment.create("stays")
    page.open("stays")
    page.find("dl", "stays")
    for outage, message in [
        ("async () => { throw new TypeError('no network'); }", "The server does not answer."),
        ("async () => Response.json({detail: 'Service temporarily unavailable.'}, {status: 503})", "Service temporarily unavailable."),
    ]:
        page.script(f"window.asked ??= window.fetch; window.fetch = {outage}")
        page.click("#sign-out")
        page.find("#notice", f"You are still signed in: {message}")
    page.script("window.fetch = window.asked")
    page.click("#sign-out")
    page.find("form [name=username]")


def the_address_is_kept_through_the_sign_in(page):
    page.open(fragment="#/users?search=person0990&page=2&after=3")
    page.sign_in("admin")
    page.wait(lambda: page.names()[:1] == ["person09900"], "another page")
    assert page.browser.current_url.endswith("/console/#/users?search=person0990&page=2&after=3")
    assert page.find("[type=search]").get_attribute("value") == "person0990"


def two_tabs_share_a_session_and_end_together(page):
    page.open("admin")
    page.find("tbody tr")
    token = page.token()
    first = page.open_tab("#/account")
    page.find("dl", "admin")
    assert page.token() == token
    page.find(".credentials li", "this one")
    second = page.browser.current_window_handle
    page.click("#sign-out")
    page.find("form [name=username]")
    page.browser.switch_to.window(first)
    page.find("#ended")
    page.browser.switch_to.window(second)
    page.sign_in("admin")
    page.browser.switch_to.window(first)
    page.wait(lambda: not page.all("#ended"), "the first tab does not go on")
    page.find("tbody tr")


def a_tab_shows_the_user_who_signed_in_in_another(page):
    page.deployment.create("second-in-tab")
    page.open("admin")
    page.click(".bar .primary")
    page.type("dialog [name=username]", "a secret plan")
    first = page.open_tab()
    page.click("#sign-out")
    page.sign_in("second-in-tab")
    page.browser.switch_to.window(first)
    page.find(".who", "second-in-tab")
    assert "a secret plan" not in page.content() and "person00001" not in page.content()


def conflicts_of_two_tabs_are_seen_where_they_happen(page):
    page.deployment.create("between-tabs")
    page.open("admin")
    page.manage("between-tabs")
    first = page.open_tab()
    page.manage("between-tabs")
    page.part("Name and deletion")
    page.type("dialog [aria-label=Delete] [name=name]", "between-tabs")
    page.click("dialog .danger", "Delete")
    page.find("#notice", "between-tabs was deleted.")
    page.browser.switch_to.window(first)
    page.change_role("author")
    page.find("dialog .message", "User not found.")
    assert page.find("dialog [aria-label=Role] select").get_attribute("value") == "user"


def a_failed_sign_in_is_explained_and_keeps_the_address(page):
    page.open(fragment="#/posts")
    page.type("form [name=username]", "admin")
    page.type("form [name=password]", "wrong")
    page.click("form button")
    page.find("main", "Invalid username or password.")
    page.sign_in("admin")
    page.find("h1", "Posts")


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
    page.find("#ended h2", "Your session has ended")
    page.press("\ue00c", "\ue00c")  # Escape, twice
    page.click("#ended button", "Go on")
    page.find("#ended .message", "You are not signed in yet.")
    page.sign_in_again("ended-boss")
    page.wait(lambda: not page.all("#ended"), "the page does not go on")
    page.find("#app dialog .message", "Not done: the session had ended.")
    assert page.find("dialog [name=username]").get_attribute("value") == "typed-before"
    assert page.find("dialog [name=password]").get_attribute("value") == "also typed"
    page.click("dialog form .primary", "Create")
    page.find("dialog", "typed-before was created")


def a_session_that_expires_says_so_without_a_click(page):
    page.open("admin")
    page.search("person00001")
    stop = page.inject(
        "{ const { fetch } = window; window.fetch = async (path, ...rest) => {"
        " const answer = await fetch(path, ...rest); if (path !== '/me') return answer;"
        " const body = await answer.json(); body.credential.expires_at = new Date(Date.now() + 1500).toISOString();"
        " return Response.json(body, { headers: { Date: new Date().toUTCString() } }); } }"
    )
    page.browser.refresh()
    stop()
    page.find("#ended h2", "Your session has ended")
    assert page.find("[type=search]").get_attribute("value") == "person00001"


def a_session_that_lasts_longer_than_a_timer_can_is_not_ended(page):
    page.open("admin", "#/account")
    page.find("dl", "Signed in until")
    days = page.browser.execute_async_script(
        "const done = arguments[0]; fetch('/me').then((answer) => answer.json())"
        ".then((me) => done((Date.parse(me.credential.expires_at) - Date.now()) / 86_400_000))"
    )
    assert 29.9 < days < 30.1, days
    assert not page.all("#ended")


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
    page.type("[type=search]", "x")
    page.find("#ended")
    page.sign_in_again("second-user")
    page.find(".who", "second-user")
    page.find("dl", "second-user")
    assert "a secret plan" not in page.content() and "person00001" not in page.content()
    asked = page.script("return performance.getEntriesByType('resource').map((it) => new URL(it.name).pathname)")
    assert "/me" in asked and "/users" not in asked, asked


def the_page_is_painted_before_the_api_answers(page):
    page.open("admin")
    page.find("tbody tr")
    # Requests wait until the test releases them.
    stop = page.inject("""{
        const { fetch } = window;
        const held = new Promise((release) => { window.release = release; });
        window.fetch = async (...request) => { await held; return fetch(...request); };
    }""")
    page.browser.refresh()
    stop()
    page.find(".brand", "Rolegate")
    page.find(".loading")
    painted = "return performance.getEntriesByName('first-contentful-paint').length"
    page.wait(lambda: page.script(painted) == 1, "nothing is painted")
    assert not page.all("#sign-out") and not page.all("tbody tr")
    page.script("window.release()")
    page.find("tbody tr")


def an_outage_at_the_start_can_be_tried_again(page):
    page.open("admin")
    page.find("tbody tr")
    stop = page.inject(
        "{ const { fetch } = window; let count = 0; window.fetch = async (...request) => count++ ? fetch(...request)"
        " : Response.json({detail: 'Service temporarily unavailable.'}, {status: 503}) }"
    )
    page.browser.refresh()
    stop()
    page.find(".failure", "Service temporarily unavailable.")
    page.click(".failure button", "Try again")
    page.find("tbody tr")


def a_proxy_that_refuses_everything_is_not_asked_for_ever(page):
    page.open("admin")
    page.find("tbody tr")
    page.script(
        "window.fetch = async () => Response.json({detail: 'Refused by the proxy.'}, {status: 403});"
        "const search = document.querySelector('[type=search]'); search.value = 'x'; search.dispatchEvent(new Event('input'))"
    )
    page.find(".failure", "Refused by the proxy.")
    page.click(".failure button")
    page.wait(lambda: page.requests().count(("GET", "/me", "403")) == 2, "the role is not read again")
    page.find(".failure", "Refused by the proxy.")
    refused = [path.split("?")[0] for _, path, status in page.requests() if status == "403"]
    assert sorted(refused) == ["/me", "/me", "/users", "/users"], refused


def typing_just_before_another_view_keeps_that_view(page):
    page.open("admin")
    page.find("tbody tr")
    page.script(
        "const search = document.querySelector('[type=search]'); search.value = 'person00001';"
        "search.dispatchEvent(new Event('input')); document.querySelector('nav a[href=\"#/posts\"]').click()"
    )
    page.find("h1", "Posts")
    page.browser.execute_async_script("setTimeout(arguments[0], 500)")
    assert page.browser.current_url.endswith("#/posts"), page.browser.current_url
    assert not [path for _, path, _ in page.requests() if "person00001" in path]


CHECKS = [
    no_script_can_read_the_session,
    signing_out_ends_this_session_and_no_other,
    signing_out_that_fails_says_so,
    the_address_is_kept_through_the_sign_in,
    two_tabs_share_a_session_and_end_together,
    a_tab_shows_the_user_who_signed_in_in_another,
    conflicts_of_two_tabs_are_seen_where_they_happen,
    a_failed_sign_in_is_explained_and_keeps_the_address,
    a_session_that_is_ended_asks_once_and_keeps_what_was_typed,
    a_session_that_expires_says_so_without_a_click,
    a_session_that_lasts_longer_than_a_timer_can_is_not_ended,
    the_next_user_sees_nothing_of_the_one_before,
    the_page_is_painted_before_the_api_answers,
    an_outage_at_the_start_can_be_tried_again,
    a_proxy_that_refuses_everything_is_not_asked_for_ever,
    typing_just_before_another_view_keeps_that_view,
]
