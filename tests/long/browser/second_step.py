"""Checks of the second factor: turning it on, signing in with it, signing in without the phone, and turning it off."""

from urllib.parse import urlsplit

from deployment import PASSWORD
from one_time_codes import Phone

PLACE = "[aria-label='Second step']"


def enrol(server, username):
    """Turns the second factor on by the API, and returns the phone and the recovery codes."""
    token = server.token(username)
    status, begun = server.api("POST", "/profile/second-factor", {"current_password": PASSWORD}, token)
    assert status == 201, begun
    phone = Phone(begun["secret"])
    status, answer = server.api("PUT", "/profile/second-factor", {"otp": phone.code()}, token)
    assert status == 200, answer
    return phone, begun["recovery_codes"]


def begin(page):
    """Turns the second factor on in the page, and returns the secret and the recovery codes that it shows."""
    page.type(f"{PLACE} [name=current]", PASSWORD)
    page.click(f"{PLACE} button", "Begin")
    secret = page.find(f"{PLACE} .secret").get_attribute("value")
    return secret, [code.text for code in page.all(f"{PLACE} .sheet code")]


def a_user_turns_it_on_and_signs_in_with_a_code(page):
    server = page.deployment
    server.create("careful-user")
    other = server.session("careful-user")
    page.open("careful-user")
    page.type(f"{PLACE} [name=current]", "wrong")
    page.click(f"{PLACE} button", "Begin")
    page.find(f"{PLACE} .field .message.error", "Current password is incorrect.")
    secret, codes = begin(page)
    assert len(secret) == 32 and len(set(codes)) == 10, (secret, codes)
    link = page.find(f"{PLACE} a").get_attribute("href")
    host = urlsplit(page.deployment.url).hostname
    assert link.startswith(f"otpauth://totp/{host}:careful-user?") and secret in link, link
    picture = page.find("svg.picture")
    assert picture.size["width"] == picture.size["height"] > 100, picture.size
    page.click(f"{PLACE} button", "Copy")
    token = page.token()
    assert server.api("GET", "/profile", token=token)[0] == 200, "what is only begun ends a session"
    page.type(f"{PLACE} [name=otp]", "12345")
    page.click(f"{PLACE} button", "Turn on")
    page.find(f"{PLACE} .field .message.error", "One-time code is incorrect.")
    phone = Phone(secret)
    page.type(f"{PLACE} [name=otp]", phone.code())
    page.click(f"{PLACE} button", "Turn on")
    page.find("#notice", "The second step is on")
    page.find(PLACE, "10 of 10 recovery codes are left")
    assert not any(it in page.content() for it in (secret, *codes)), "the secret is still there"
    assert [server.api("GET", "/profile", token=it)[0] for it in (token, other)] == [200, 401]
    page.open()
    page.sign_in("careful-user", code=phone.code())
    page.find(PLACE, "10 of 10 recovery codes are left")
    assert server.api("POST", "/login", {"username": "careful-user", "password": PASSWORD})[0] == 401


def the_pane_of_requests_has_nothing_of_it(page):
    page.deployment.create("careful-admin", "admin")
    page.open("careful-admin", "#/account")
    secret, codes = begin(page)
    page.find("svg.picture")
    requests = page.in_request_log("pane.textContent")
    assert "/profile/second-factor" in requests
    assert not any(it in requests for it in (secret, PASSWORD, *codes)), requests


def the_page_asks_for_a_code_only_after_the_password(page):
    server = page.deployment
    server.create("asked")
    phone, _ = enrol(server, "asked")
    page.open()
    page.type("form [name=username]", "asked")
    page.type("form [name=password]", "wrong")
    page.click("form button")
    page.find("main", "Invalid username or password.")
    assert not page.all("[name=otp]"), "a wrong password tells who has a second step"
    page.type("form [name=password]", PASSWORD)
    page.click("form button")
    page.find("main", "You are signing in as asked.")
    assert page.script("return document.activeElement.name") == "otp"
    assert not page.all("[name=password]"), "the password is typed once"
    page.add_code("12345")
    page.find("main", "Invalid one-time code.")
    assert not page.all("[name=password]")
    page.add_code(phone.code())
    page.find(".who", "asked")


def a_sign_in_that_has_ended_begins_again(page):
    server = page.deployment
    server.create("begins-again")
    phone, codes = enrol(server, "begins-again")
    page.open()
    page.type("form [name=username]", "begins-again")
    page.type("form [name=password]", PASSWORD)
    page.click("form button")
    page.find("main", "You are signing in as begins-again.")
    page.click("main a", "Begin again")
    page.find("form [name=password]")
    page.type("form [name=username]", "begins-again")
    page.type("form [name=password]", PASSWORD)
    page.click("form button")
    page.find("[name=otp]")
    page.script("document.querySelector('[name=pending_sign_in]').value = 'rgp_'")
    page.add_code(phone.code())
    page.find("main", "This sign-in has ended. Sign in again.")
    assert page.find("form [name=username]").get_attribute("value") == "begins-again"
    page.type("form [name=password]", PASSWORD)
    page.click("form button")
    page.click("summary", "Use a recovery code")
    page.type("form [name=recovery_code]", codes[0])
    page.click("form button", "Sign in")
    page.find(".who", "begins-again")


def without_the_phone_a_recovery_code_is_good_once(page):
    server = page.deployment
    server.create("lost-the-phone")
    _, (first, second, *_) = enrol(server, "lost-the-phone")
    page.open()
    page.sign_in("lost-the-phone", code=first.upper().replace("-", " "))
    page.find(PLACE, "9 of 10 recovery codes are left")
    page.type(f"{PLACE} [name=otp]", first)
    page.click(f"{PLACE} button", "Turn off")
    page.find(f"{PLACE} .field .message.error", "One-time code is incorrect.")
    page.type(f"{PLACE} [name=otp]", second)
    page.click(f"{PLACE} button", "Turn off")
    page.find("#notice", "The second step is off.")
    page.find(f"{PLACE} button", "Begin")
    page.open("lost-the-phone")
    page.find("dl", "lost-the-phone")


def what_is_shown_once_is_gone_with_another_view(page):
    page.deployment.create("looks-away", "admin")
    page.open("looks-away", "#/account")
    secret, codes = begin(page)
    page.click("nav a", "Posts")
    page.find("h1", "Posts")
    page.click("nav a", "Account")
    page.find(f"{PLACE} button", "Begin")
    assert not any(it in page.content() for it in (secret, *codes))
    again, _ = begin(page)
    assert again != secret


def the_recovery_codes_are_printed_and_nothing_else(page):
    page.deployment.create("prints")
    page.open("prints")
    begin(page)
    page.script("window.print = () => { window.printed = true; }")
    page.click(f"{PLACE} button", "Print")
    assert page.script("return window.printed")
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        codes = page.text(".sheet")
        assert page.text().split() == codes.split() and codes.startswith("Recovery codes of prints at "), page.text()
        assert len(page.all(".sheet code")) == 10
    finally:
        page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def an_admin_helps_who_has_neither_phone_nor_codes(page):
    server = page.deployment
    server.create("has-nothing")
    enrol(server, "has-nothing")
    page.open("admin")
    page.manage("has-nothing")
    page.part("Sign-in")
    page.click("dialog button", "Remove second factor")
    page.find("dialog.question", "Remove the second factor of has-nothing?")
    page.press("\ue00c")
    page.wait(lambda: not page.all("dialog.question"), "the question stays")
    assert server.api("POST", "/login", {"username": "has-nothing", "password": PASSWORD})[0] == 401
    page.click("dialog button", "Remove second factor")
    page.agree("Remove")
    page.find("dialog .message.good", "The second factor of has-nothing was removed.")
    server.token("has-nothing")


def removing_is_offered_only_where_a_second_factor_is_on(page):
    server = page.deployment
    for name in ("with-factor", "without-factor"):
        server.create(name)
    enrol(server, "with-factor")
    offers = lambda: [it.text for it in page.all("dialog button") if it.text == "Remove second factor"]
    page.open("admin")
    page.manage("without-factor")
    page.part("Sign-in")
    page.find("dialog", "No second factor is on.")
    assert not offers()
    page.press("\ue00c")
    page.manage("with-factor")
    page.part("Sign-in")
    page.click("dialog button", "Remove second factor")
    page.agree("Remove")
    page.find("dialog", "No second factor is on.")
    assert not offers() and page.script("return document.activeElement.tagName") == "SECTION"
    page.press("\ue00c")
    # An older server does not say who has one.
    stop = page.inject(
        "{ const { parse } = JSON; JSON.parse = (...text) => { const it = parse(...text);"
        " for (const user of it?.users ?? []) delete user.second_factor; return it; } }"
    )
    page.browser.refresh()
    stop()
    page.manage("without-factor")
    page.part("Sign-in")
    page.click("dialog button", "Remove second factor")
    page.agree("Remove")
    page.find("dialog .message.error", "Second factor is not on.")


CHECKS = [
    a_user_turns_it_on_and_signs_in_with_a_code,
    the_pane_of_requests_has_nothing_of_it,
    the_page_asks_for_a_code_only_after_the_password,
    a_sign_in_that_has_ended_begins_again,
    without_the_phone_a_recovery_code_is_good_once,
    what_is_shown_once_is_gone_with_another_view,
    the_recovery_codes_are_printed_and_nothing_else,
    an_admin_helps_who_has_neither_phone_nor_codes,
    removing_is_offered_only_where_a_second_factor_is_on,
]

# The checks that must also pass at a sign-in host.
AT_EVERY_HOST = [
    a_user_turns_it_on_and_signs_in_with_a_code,
    without_the_phone_a_recovery_code_is_good_once,
]
