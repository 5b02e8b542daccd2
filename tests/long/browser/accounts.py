"""The account of the signed-in user."""

from deployment import PASSWORD


def a_user_sees_the_own_account_and_no_users(page):
    page.deployment.create("plain")
    page.open("plain")
    page.find("dl", "plain")
    assert [link.text for link in page.all("nav a")] == ["Posts", "Account"]
    page.go("#/users")
    page.find("main", "this page is for admins")


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
    """The first click only asks."""
    page.click(f"[aria-label=Sessions]{place} button", text)
    page.click(f"[aria-label=Sessions]{place} button.danger", f"{text}: sure?")


def a_role_that_changes_is_shown_at_the_next_look(page):
    server = page.deployment
    user = server.create("promoted")
    page.open("promoted")
    page.find("dl", "promoted")
    server.api("PUT", f"/users/{user}/role", {"role": "author"}, server.token())
    page.click("nav a", "Posts")
    page.find("h1", "Posts")
    page.click("nav a", "Account")
    page.find("#notice", "Your role is now author.")
    page.find(".who .chip", "author")


CHECKS = [
    a_user_sees_the_own_account_and_no_users,
    a_password_is_changed_and_other_sessions_end,
    sessions_are_listed_and_ended_and_this_one_stays,
    a_role_that_changes_is_shown_at_the_next_look,
]
