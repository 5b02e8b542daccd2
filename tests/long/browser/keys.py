"""Checks of API keys, and of ending sessions."""


def make(page, name, role=None):
    """Creates an API key by the form, and returns it."""
    page.type("[aria-label='New API key'] [name=name]", name)
    if role:
        page.choose("[aria-label='New API key'] [name=role]", role)
    page.click("[aria-label='New API key'] button")
    page.find("[aria-label='API keys'] li", name)
    return page.find(".once .secret").get_attribute("value")


def revoke(page, text, place="[aria-label='API keys']"):
    """Revokes by two clicks, of which the first only asks for a confirmation."""
    page.click(f"{place} button", text)
    page.click(f"{place} button.danger", f"{text}: sure?")


def a_key_is_made_shown_once_and_revoked(page):
    server = page.deployment
    server.create("keeper", "author")
    page.open("keeper")
    page.find("[aria-label='API keys']", "There are no API keys.")
    page.type("[aria-label='New API key'] [name=name]", " ")
    page.click("[aria-label='New API key'] button")
    page.find("[aria-label='New API key'] .message.error", "API key name must")
    key = make(page, "<b>nightly</b>", "user")
    assert key.startswith("rgk_") and len(key) == 47, key
    status, profile = server.api("GET", "/profile", token=key)
    assert (status, profile["role"]) == (200, "user"), profile
    line = page.text("[aria-label='API keys'] li")
    assert "<b>nightly</b>" in line and key[:8] in line and "at most user" in line, line
    page.browser.refresh()
    page.find("[aria-label='API keys'] li", "nightly")
    assert key not in page.script("return document.documentElement.outerHTML"), "the key is shown twice"
    other = make(page, "weekly")
    page.choose("[aria-label='New API key'] [name=days]", "30")
    make(page, "monthly")
    page.find("[aria-label='API keys'] li small", "ends ")
    revoke(page, "Revoke", "[aria-label='API keys'] li:first-child")
    page.find("[aria-label='API keys'] .message", "is revoked.")
    assert server.api("GET", "/profile", token=key)[0] == 401
    assert server.api("GET", "/profile", token=other)[0] == 200
    revoke(page, "Revoke all", "[aria-label='API keys'] > .action")
    page.find("[aria-label='API keys']", "There are no API keys.")
    assert server.api("GET", "/profile", token=other)[0] == 401


def a_new_key_is_forgotten_when_it_is_out_of_sight(page):
    server = page.deployment
    server.create("forgets", "admin")

    def is_there(key):
        return key in page.content()

    page.open("forgets", "#/account")
    page.find("dl", "forgets")
    key = make(page, "first")
    assert is_there(key)
    page.click("nav a", "Posts")
    page.find("h1", "Posts")
    page.click("nav a", "Account")
    page.find("[aria-label='API keys'] li", "first")
    assert not is_there(key), "another view shows the key again"
    key = make(page, "second")
    server.api("POST", "/logout", token=page.token())
    page.type("[name=name]", "third")
    page.click("[aria-label='New API key'] button")
    page.find("#ended")
    assert not is_there(key), "the key is behind the notice of the end"
    page.sign_in_again("forgets")
    page.wait(lambda: not page.all("#ended"), "the page does not go on")
    assert page.find("[name=name]").get_attribute("value") == "third", "what was typed is lost"


def an_admin_sees_and_revokes_the_keys_of_a_user(page):
    server = page.deployment
    server.create("has-keys")
    status, key = server.api("POST", "/profile/keys", {"name": "backup"}, server.token("has-keys"))
    assert status == 201, key
    page.open("admin")
    page.manage("has-keys")
    page.part("API keys")
    page.find("dialog [aria-label='API keys'] li", "backup")
    assert key["key"] not in page.script("return document.documentElement.outerHTML")
    revoke(page, "Revoke", "dialog [aria-label='API keys'] li")
    page.find("dialog [aria-label='API keys']", "There are no API keys.")
    assert server.api("GET", "/profile", token=key["key"])[0] == 401


def an_admin_makes_a_key_for_a_user_but_not_for_another_admin(page):
    server = page.deployment
    server.create("service-account")
    server.create("other-admin", "admin")
    page.open("admin")
    page.manage("service-account")
    page.part("API keys")
    roles = [option.text for option in page.all("dialog [aria-label='New API key'] [name=role] option")]
    assert roles == ["user", "author", "editor", "auditor"], roles
    page.type("dialog [aria-label='New API key'] [name=name]", "nightly")
    page.choose("dialog [aria-label='New API key'] [name=role]", "editor")
    page.click("dialog [aria-label='New API key'] button")
    line = page.find("dialog [aria-label='API keys'] li", "nightly").text
    assert "at most editor" in line and "made by admin" in line, line
    key = page.find("dialog .once .secret").get_attribute("value")
    # The key has the role editor but its user does not, so it acts as a user.
    assert server.api("GET", "/me", token=key)[1]["role"] == "user"
    revoke(page, "Revoke", "dialog [aria-label='API keys'] li")
    page.find("dialog [aria-label='API keys']", "There are no API keys.")
    assert server.api("GET", "/me", token=key)[0] == 401
    page.press("\ue00c")
    page.manage("other-admin")
    page.part("API keys")
    page.find("dialog [aria-label='API keys']", "There are no API keys.")
    assert not page.all("dialog [aria-label='New API key']")


def an_admin_sees_and_ends_the_sessions_and_tokens_of_a_user(page):
    server = page.deployment
    server.create("ends")
    token = server.token("ends")
    sessions = [server.session("ends") for _ in range(3)]
    statuses = lambda: [server.api("GET", "/profile", token=it)[0] for it in [token, *sessions]]
    page.open("admin")
    page.manage("ends")
    page.part("Sign-in")
    place = "dialog [aria-label=Sessions]"
    page.wait(lambda: len(page.all(f"{place} li")) == 3, "not all sessions")
    assert "this one" not in page.text(place)
    revoke(page, "End", f"{place} li:first-child")
    page.find(f"{place} .message.good", "has ended.")
    assert statuses() == [200, 401, 200, 200]
    page.click("dialog button", "End all tokens")
    page.agree("End all")
    page.find("dialog .message.good", "Tokens revoked.")
    page.find(place, "There are no sessions.")
    assert statuses() == [401] * 4


def an_admin_who_begins_with_the_account_can_choose_every_role(page):
    page.open("admin", "#/account")
    page.find("[aria-label='New API key'] option[value=editor]")
    options = [option.text for option in page.all("[aria-label='New API key'] [name=role] option")]
    assert options == ["As yours", "user", "author", "editor", "auditor"], options


CHECKS = [
    an_admin_who_begins_with_the_account_can_choose_every_role,
    a_key_is_made_shown_once_and_revoked,
    a_new_key_is_forgotten_when_it_is_out_of_sight,
    an_admin_sees_and_revokes_the_keys_of_a_user,
    an_admin_makes_a_key_for_a_user_but_not_for_another_admin,
    an_admin_sees_and_ends_the_sessions_and_tokens_of_a_user,
]

# The checks that must also pass at a sign-in host.
AT_EVERY_HOST = [
    a_key_is_made_shown_once_and_revoked,
]
