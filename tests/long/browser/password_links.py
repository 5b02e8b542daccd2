"""Checks of the links by which users choose their passwords."""

from deployment import PASSWORD

CHOSEN = "chosen by the user"


def open_link(page, url):
    page.browser.get("about:blank")
    page.browser.get(url)


def says_that_the_link_is_dead(page):
    """Checks that the page says so when it opens, before the user has thought of a password."""
    page.find("main", "This link was used before, or it has expired.")
    assert not page.all("[name=password]")


def choose(page, url, password):
    """Opens the page of the link, and chooses a password there."""
    open_link(page, url)
    page.type("[name=password]", password)
    page.click("form .primary")


def make_link(page):
    """Makes a link in the dialog of a user."""
    page.click("dialog button", "Make a password link")
    page.agree("Make a link")


def a_user_chooses_the_password_by_a_link_of_an_admin(page):
    server = page.deployment
    server.create("forgot")
    page.open("admin")
    page.manage("forgot")
    page.part("Sign-in")
    make_link(page)
    url = page.find("dialog .once .secret").get_attribute("value")
    address, token = url.split("#")
    assert address == f"{server.url}/set-password" and token.startswith("rgl_"), url
    page.find("dialog", "Works once, until ")
    assert token not in page.in_request_log("pane.textContent")
    page.open()
    choose(page, url, "abc")
    page.find(".field:has([name=password]) .message.error", "Password must have at least 4 bytes.")
    assert page.browser.current_url == address and token not in page.content(), "the token stays in the address"
    # The link is still valid.
    page.type("[name=password]", CHOSEN)
    page.click("form .primary")
    page.find("#message", "Your password is set.")
    assert CHOSEN not in page.content()
    page.click("main a", "Sign in")
    page.sign_in("forgot", CHOSEN)
    page.find("dl", "forgot")
    assert server.api("POST", "/login", {"username": "forgot", "password": PASSWORD})[0] == 401
    open_link(page, url)
    says_that_the_link_is_dead(page)


def a_newer_link_ends_the_one_before_and_opens_in_the_same_tab(page):
    server = page.deployment
    server.create("twice")
    page.open("admin")
    page.manage("twice")
    urls = []
    page.part("Sign-in")
    for _ in range(2):
        make_link(page)
        page.wait(lambda: page.find("dialog .once .secret").get_attribute("value") not in urls, "no new link")
        urls.append(page.find("dialog .once .secret").get_attribute("value"))
    open_link(page, urls[0])
    says_that_the_link_is_dead(page)
    # Only the fragment differs, so the browser does not load the page again by itself.
    page.browser.get(urls[1])
    page.type("[name=password]", CHOSEN)
    page.click("form .primary")
    page.find("#message", "Your password is set.")
    server.token("twice", CHOSEN)


def a_user_is_created_who_chooses_the_password(page):
    server = page.deployment
    page.open("admin")
    page.find("tbody tr")
    page.click(".bar .primary")
    page.type("dialog [name=username]", "chooses")
    page.choose("dialog [name=role]", "author")
    page.choose("dialog [name=chooser]", "user")
    assert not page.all("dialog [name=password]")
    page.click("dialog form .primary")
    page.find("dialog", "chooses was created")
    url = page.find("dialog .once .secret").get_attribute("value")
    page.click("dialog button", "Done")
    page.wait(lambda: not page.all("dialog .once"), "the dialog to close")
    assert url not in page.content()
    choose(page, url, CHOSEN)
    page.find("#message", "Your password is set.")
    server.token("chooses", CHOSEN)


def a_link_without_a_token_says_so(page):
    page.browser.get(f"{page.deployment.url}/set-password")
    page.find("#message.error", "The link is incomplete.")
    assert not page.all("form")


def a_link_leads_to_the_sign_in_once(page):
    """Checks a password link at a host that has no console."""
    server = page.deployment
    url = server.password_link(server.create("invited"))
    open_link(page, url)
    assert page.find("[name=username]").get_attribute("value") == "invited"
    page.type("[name=password]", CHOSEN)
    page.click("form .primary")
    page.find("#message", "Your password is set.")
    page.click("main a", "Sign in")
    assert page.find("form [name=username]").get_attribute("value") == "invited"
    page.type("form [name=password]", CHOSEN)
    page.click("form button")
    page.find("dl", "invited")
    open_link(page, url)
    says_that_the_link_is_dead(page)


CHECKS = [
    a_user_chooses_the_password_by_a_link_of_an_admin,
    a_newer_link_ends_the_one_before_and_opens_in_the_same_tab,
    a_user_is_created_who_chooses_the_password,
    a_link_without_a_token_says_so,
]

AT_EVERY_HOST = [
    a_link_leads_to_the_sign_in_once,
]
