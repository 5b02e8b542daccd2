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
    own = page.session()["token"]
    page.type("[name=current]", "wrong")
    page.type("[name=password]", "a new password")
    page.click("main form .primary")
    page.find("main .message.error", "Current password is incorrect.")
    assert page.find("[name=password]").get_attribute("value") == "a new password"
    page.type("[name=current]", PASSWORD)
    page.click("main form .primary")
    page.find("main .message.good", "Password updated successfully.")
    assert [server.api("GET", "/profile", token=other)[0] for other in others] == [401, 401]
    assert server.api("GET", "/profile", token=own)[0] == 200 and page.session()["token"] == own
    server.token("changes", "a new password")


def every_other_session_is_ended_and_this_one_stays(page):
    server = page.deployment
    server.create("everywhere")
    other = server.session("everywhere")
    page.open("everywhere")
    page.find("dl", "Signed in until at most")
    page.click("main button", "Sign out everywhere else")
    page.find("main .message.good", "Sessions ended.")
    own = page.session()["token"]
    assert [server.api("GET", "/profile", token=token)[0] for token in (other, own)] == [401, 200]


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
    every_other_session_is_ended_and_this_one_stays,
    a_role_that_changes_is_shown_at_the_next_look,
]
