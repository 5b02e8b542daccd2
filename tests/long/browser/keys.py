"""API keys and the end of sessions."""


def make(page, name, role=None):
    """Returns the key."""
    page.type("[aria-label='New API key'] [name=name]", name)
    if role:
        page.choose("[aria-label='New API key'] [name=role]", role)
    page.click("[aria-label='New API key'] button")
    page.find(".keys li", name)
    return page.find(".once .secret").get_attribute("value")


def revoke(page, text, place=".keys"):
    """The first click only asks."""
    page.click(f"{place} button", text)
    page.click(f"{place} button.danger", f"{text}: sure?")


def a_key_is_made_shown_once_and_revoked(page):
    server = page.deployment
    server.create("keeper", "author")
    page.open("keeper")
    page.find(".keys", "There are no API keys.")
    page.type("[aria-label='New API key'] [name=name]", " ")
    page.click("[aria-label='New API key'] button")
    page.find("[aria-label='New API key'] .message.error", "API key name must")
    key = make(page, "<b>nightly</b>", "user")
    assert key.startswith("rgk_") and len(key) == 47, key
    status, profile = server.api("GET", "/profile", token=key)
    assert (status, profile["role"]) == (200, "user"), profile
    line = page.text(".keys li")
    assert "<b>nightly</b>" in line and key[:8] in line and "at most user" in line, line
    page.browser.refresh()
    page.find(".keys li", "nightly")
    assert key not in page.script("return document.documentElement.outerHTML"), "the key is shown twice"
    other = make(page, "weekly")
    page.choose("[aria-label='New API key'] [name=days]", "30")
    make(page, "monthly")
    page.find(".keys li small", "ends ")
    revoke(page, "Revoke", ".keys li:first-child")
    page.find(".keys .message", "is revoked.")
    assert server.api("GET", "/profile", token=key)[0] == 401
    assert server.api("GET", "/profile", token=other)[0] == 200
    revoke(page, "Revoke all", ".keys > .action")
    page.find(".keys", "There are no API keys.")
    assert server.api("GET", "/profile", token=other)[0] == 401


def a_new_key_is_forgotten_when_it_is_out_of_sight(page):
    server = page.deployment
    server.create("forgets")

    def is_there(key):
        return key in page.script(
            "return document.documentElement.outerHTML + [...document.querySelectorAll('input')].map((it) => it.value)"
        )

    page.open("forgets")
    page.find("dl", "forgets")
    key = make(page, "first")
    assert is_there(key)
    page.click("nav a", "Posts")
    page.find("h1", "Posts")
    page.click("nav a", "Account")
    page.find(".keys li", "first")
    assert not is_there(key), "another view shows the key again"
    key = make(page, "second")
    server.api("POST", "/logout", token=page.session()["token"])
    page.type("[name=name]", "third")
    page.click("[aria-label='New API key'] button")
    page.find("#sign-in .message", "Your session has ended")
    assert not is_there(key), "the key is behind the sign-in form"
    page.sign_in("forgets")
    assert page.find("[name=name]").get_attribute("value") == "third", "what was typed is lost"


def an_admin_sees_and_revokes_the_keys_of_a_user(page):
    server = page.deployment
    server.create("has-keys")
    status, key = server.api("POST", "/profile/keys", {"name": "backup"}, server.token("has-keys"))
    assert status == 201, key
    page.open("admin")
    page.manage("has-keys")
    page.find("dialog .keys li", "backup")
    assert key["key"] not in page.script("return document.documentElement.outerHTML")
    revoke(page, "Revoke", "dialog .keys li")
    page.find("dialog .keys", "There are no API keys.")
    assert server.api("GET", "/profile", token=key["key"])[0] == 401


def an_admin_makes_a_key_for_a_user_but_not_for_another_admin(page):
    server = page.deployment
    server.create("service-account")
    server.create("other-admin", "admin")
    page.open("admin")
    page.manage("service-account")
    roles = [option.text for option in page.all("dialog [aria-label='New API key'] [name=role] option")]
    assert roles == ["user", "author", "editor", "auditor"], roles
    page.type("dialog [aria-label='New API key'] [name=name]", "nightly")
    page.choose("dialog [aria-label='New API key'] [name=role]", "editor")
    page.click("dialog [aria-label='New API key'] button")
    line = page.find("dialog .keys li", "nightly").text
    assert "at most editor" in line and "made by admin" in line, line
    key = page.find("dialog .once .secret").get_attribute("value")
    # The user is no editor.
    assert server.api("GET", "/me", token=key)[1]["role"] == "user"
    revoke(page, "Revoke", "dialog .keys li")
    page.find("dialog .keys", "There are no API keys.")
    assert server.api("GET", "/me", token=key)[0] == 401
    page.press("\ue00c")
    page.manage("other-admin")
    page.find("dialog .keys", "There are no API keys.")
    assert not page.all("dialog [aria-label='New API key']")


def an_admin_ends_the_tokens_of_a_user(page):
    server = page.deployment
    server.create("ends")
    token = server.token("ends")
    page.open("admin")
    page.manage("ends")
    page.click("dialog button", "End all tokens")
    page.find("dialog .message.good", "Tokens revoked.")
    assert server.api("GET", "/profile", token=token)[0] == 401


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
    an_admin_ends_the_tokens_of_a_user,
]
