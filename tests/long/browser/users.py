"""The list of users and the dialogs of one user."""

from deployment import PASSWORD, USERS

PAGE_SIZE = 25


def ids(page):
    return [int(cell.text) for cell in page.all("td.id")]


def pages_of_ten_thousand_users_go_both_ways(page):
    page.open("admin")
    page.wait(lambda: len(ids(page)) == PAGE_SIZE, "no full page")
    first = ids(page)
    seen = [first]
    for _ in range(3):
        page.click(".paging button", "Next")
        page.wait(lambda: ids(page)[:1] > seen[-1][-1:], "no next page")
        seen.append(ids(page))
    assert sum(seen, []) == sorted(set(sum(seen, []))), "pages overlap"
    page.browser.refresh()
    page.wait(lambda: ids(page) == seen[-1], "a reload shows another page")
    page.click(".paging button", "First page")
    page.wait(lambda: ids(page) == first, "no first page")
    page.click(".paging button", "Next")
    page.wait(lambda: ids(page) == seen[1], "no second page")
    page.click(".paging button", "Next")
    page.wait(lambda: ids(page) == seen[2], "no third page")
    page.click(".paging button", "Previous")
    page.wait(lambda: ids(page) == seen[1], "no way back")
    page.click(".paging button", "Previous")
    page.wait(lambda: ids(page) == first, "no way back to the first page")
    assert page.find(".paging button", "Previous").get_attribute("aria-disabled") == "true"


def search_and_filter_find_users_and_say_when_there_are_none(page):
    page.open("admin")
    page.find("tbody tr")
    page.type("[type=search]", "person0990")
    page.wait(lambda: page.names() == [f"person0990{digit}" for digit in range(10)], "not the prefix")
    page.choose(".filters select", "author")
    page.wait(lambda: page.names() == ["person09900"], "not the role")
    page.choose(".filters select", "admin")
    page.find(".state", "No user matches the filters.")
    page.click(".state button", "Clear the filters")
    page.wait(lambda: len(page.names()) == PAGE_SIZE, "the filters stay")
    page.type("[type=search]", f"person{USERS}")
    page.wait(lambda: page.names() == [f"person{USERS}"], "the last one is missing")
    assert all(part in page.browser.current_url for part in ("#/users?", f"username=person{USERS}"))


def a_role_is_changed_in_its_row(page):
    server = page.deployment
    user = server.create("role-changes")
    page.open("admin")
    page.search("role-changes")
    page.choose("td select", "author")
    page.find("#notice", "role-changes is now author.")
    assert server.api("GET", f"/users/{user}", token=server.token())[1]["role"] == "author"


def an_added_role_is_given_and_looked_for(page):
    server = page.deployment
    user = server.create("becomes-editor")
    page.open("admin")
    page.search("becomes-editor")
    page.choose("td select", "editor")
    page.find("#notice", "becomes-editor is now editor.")
    assert server.api("GET", f"/users/{user}", token=server.token())[1]["role"] == "editor"
    page.type("[type=search]", "becomes-")
    page.choose(".filters select", "editor")
    page.wait(lambda: page.names() == ["becomes-editor"], "not the role")
    page.browser.refresh()
    page.find(".filters select option:checked", "editor")
    page.wait(lambda: page.names() == ["becomes-editor"], "the filter is lost")
    # Without an answer of the roles, those stay that always exist, and that of a user.
    page.open()
    page.script(
        "const { fetch } = window; window.fetch = (path, ...rest) => path === '/roles'"
        " ? Response.json({detail: 'Service temporarily unavailable.'}, {status: 503}) : fetch(path, ...rest);"
    )
    page.sign_in("admin")
    page.search("becomes-editor")
    options = [option.text for option in page.all("td select option")]
    assert options == ["user", "author", "admin", "editor"], options


def a_refusal_is_shown_in_its_row_with_the_stored_role(page):
    server = page.deployment
    token = server.token()
    for user in server.api("GET", "/users?role=admin", token=token)[1]["users"]:
        if user["username"] != "admin":
            assert server.api("DELETE", f"/users/{user['id']}", token=token)[0] == 200
    page.open("admin")
    page.search("admin")
    page.choose("td select", "user")
    page.find("td .message", "The last admin cannot be removed.")
    assert page.find("td select").get_attribute("value") == "admin"


def a_user_is_created_with_a_generated_password(page):
    page.open("admin")
    page.find("tbody tr")
    page.click(".bar .primary")
    page.type("dialog [name=username]", "generated")
    page.click("dialog button", "Generate")
    password = page.find("dialog [name=password]").get_attribute("value")
    assert len(password) == 20, password
    page.choose("dialog select", "author")
    page.click("dialog form .primary")
    page.find("dialog", "generated is created")
    assert page.find("dialog .secret").get_attribute("value") == password
    page.click("dialog button", "Done")
    page.deployment.token("generated", password)
    assert password not in page.script("return document.documentElement.outerHTML")
    page.click(".bar .primary")
    page.type("dialog [name=username]", "generated")
    page.type("dialog [name=password]", "x")
    page.click("dialog form .primary")
    page.find("dialog .message", "Username already exists.")
    assert page.find("dialog [name=username]").get_attribute("value") == "generated"


def a_password_is_set(page):
    server = page.deployment
    server.create("new-password")
    page.open("admin")
    page.manage("new-password")
    page.type("dialog [name=password]", "n" * 73)
    page.click("dialog button", "Set password")
    page.find("dialog .message.error", "Password must")
    page.type("dialog [name=password]", "typed by an admin")
    page.click("dialog button", "Set password")
    page.find("dialog .message.good", "Password updated successfully.")
    server.token("new-password", "typed by an admin")


def a_user_is_disabled_and_enabled(page):
    server = page.deployment
    server.create("shut")
    credentials = {"username": "shut", "password": PASSWORD}
    page.open("admin")
    page.manage("shut")
    page.click("dialog button", "Disable")
    page.find("dialog .message", "shut is disabled.")
    assert server.api("POST", "/login", credentials)[0] == 401
    page.press("\ue00c")
    page.find("td .chip", "disabled")
    page.click("td.end button")
    page.click("dialog button", "Enable")
    page.find("dialog .message", "shut is enabled.")
    assert server.api("POST", "/login", credentials)[0] == 200


def a_user_is_deleted_by_typing_the_name(page):
    server = page.deployment
    user = server.create("to delete")
    page.open("admin")
    page.manage("to delete")
    page.type("dialog [aria-label=Delete] [name=name]", "to delet")
    page.click("dialog button.danger")
    page.find("dialog .message", "The name is not the same.")
    assert not [it for it in page.requests() if it[0] == "DELETE"]
    page.type("dialog [aria-label=Delete] [name=name]", "to delete")
    page.click("dialog button.danger")
    page.find("#notice", "to delete is deleted.")
    assert server.api("GET", f"/users/{user}", token=server.token())[0] == 404
    page.wait(lambda: page.script("return document.activeElement.tagName") == "H1", "the focus is lost")
    page.manage("admin")
    page.type("dialog [aria-label=Delete] [name=name]", "admin")
    page.click("dialog button.danger")
    page.find("dialog .message", "This user cannot be deleted.")


def a_name_that_looks_like_html_is_text(page):
    name = "<img src=x onerror=alert(1)>"
    page.deployment.create(name)
    page.open("admin")
    page.manage(name)
    page.press("\ue00c")
    page.choose("td select", "author")
    page.find("#notice", name)
    assert page.script("return document.querySelectorAll('img[onerror], [src=x]').length") == 0


def a_demoted_admin_sees_the_refusal_and_no_more_users(page):
    server = page.deployment
    boss = server.create("demoted-boss", "admin")
    server.create("demotion-target")
    page.open("demoted-boss")
    page.manage("demotion-target")
    server.api("PUT", f"/users/{boss}/role", {"role": "user"}, server.token())
    page.click("dialog button", "Disable")
    page.find("dialog .message.error", "Insufficient privileges.")
    page.press("\ue00c")
    page.find("main", "Your role is user; this page is for admins.")
    assert [link.text for link in page.all("nav a")] == ["Posts", "Account"]
    assert not page.all("td.name")
    server.api("PUT", f"/users/{boss}/role", {"role": "admin"}, server.token())
    page.click("nav a", "Account")
    page.find("nav a", "Users")


def an_outage_in_the_middle_of_an_action_is_explained_and_loses_nothing(page):
    server = page.deployment
    server.create("outage")
    page.open("admin")
    page.manage("outage")
    page.type("dialog [name=password]", "typed before the outage")
    server.outage()
    try:
        page.click("dialog button", "Set password")
        page.find("dialog .message.error", "It is not known whether the change was made")
        page.press("\ue00c")
        page.choose("td select", "author")
        page.find("td .message.error", "It is not known")
        assert page.find("td select").get_attribute("value") == "user"
        page.type("[type=search]", "out")
        page.find(".failure button", "Try again")
    finally:
        server.recover()
    page.click(".failure button")
    page.wait(lambda: page.names() == ["outage"], "the list does not come back")
    page.choose("td select", "author")
    page.find("#notice", "outage is now author.")


CHECKS = [
    pages_of_ten_thousand_users_go_both_ways,
    search_and_filter_find_users_and_say_when_there_are_none,
    a_role_is_changed_in_its_row,
    an_added_role_is_given_and_looked_for,
    a_refusal_is_shown_in_its_row_with_the_stored_role,
    a_user_is_created_with_a_generated_password,
    a_password_is_set,
    a_user_is_disabled_and_enabled,
    a_user_is_deleted_by_typing_the_name,
    a_name_that_looks_like_html_is_text,
    a_demoted_admin_sees_the_refusal_and_no_more_users,
    an_outage_in_the_middle_of_an_action_is_explained_and_loses_nothing,
]
