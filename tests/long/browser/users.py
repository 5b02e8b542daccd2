"""Checks of the list of users, and of the dialogs of one user."""

from deployment import PASSWORD, USERS
from selenium.webdriver.common.keys import Keys

PAGE_SIZE = 25


def parts(page):
    """Returns the titles of the parts of the dialog of a user."""
    return [tab.text for tab in page.all("dialog [role=tab]")]


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
    assert page.text(".paging p") == "Page 4: 25 users", page.text(".paging p")
    page.go(f"#/users?after={seen[-1][0] - 1}")
    page.browser.refresh()
    page.wait(lambda: ids(page) == seen[-1], "not the page of the address")
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


def search_and_filters_find_users_and_say_what_is_shown(page):
    page.open("admin")
    page.find("tbody tr")
    page.type("[type=search]", "ERSON0990")
    page.wait(lambda: page.names() == [f"person0990{digit}" for digit in range(10)], "not what contains the text")
    assert page.text(".above p") == "10 users whose name contains “ERSON0990”", page.text(".above p")
    page.choose(".filters [aria-label=Role]", "author")
    page.wait(lambda: page.names() == ["person09900"], "not the role")
    assert page.text(".above p") == "1 user whose name contains “ERSON0990”, with the role author", page.text(".above p")
    page.choose(".filters [aria-label=Role]", "admin")
    page.find(".state", "No users match the filters.")
    page.click(".state button", "Clear the filters")
    page.wait(lambda: len(page.names()) == PAGE_SIZE, "the filters stay")
    page.type("[type=search]", f"person{USERS}")
    page.wait(lambda: page.names() == [f"person{USERS}"], "the last one is missing")
    assert all(part in page.browser.current_url for part in ("#/users?", f"search=person{USERS}"))


def a_search_that_another_one_holds_up_is_tried_again(page):
    page.open("admin")
    page.find("tbody tr")
    page.script(
        "{ const { fetch } = window; let isFree = false; window.fetch = async (path, ...rest) => {"
        " if (isFree || !path.includes('search=')) return fetch(path, ...rest); isFree = true;"
        " const headers = { 'Retry-After': '1' };"
        " return Response.json({detail: 'Service is busy, try again.'}, {status: 503, headers}) } }"
    )
    page.type("[type=search]", "person00001")
    page.wait(lambda: page.names() == ["person00001"], "no second try")
    assert [status for _, path, status in page.requests() if "search=" in path] == ["200", "503"]


def disabled_users_are_found_and_enabled_ones_left_out(page):
    server = page.deployment
    shut = server.create("filter-shut")
    server.create("filter-open")
    server.api("PATCH", f"/users/{shut}", {"disabled": True}, server.token())
    page.open("admin")
    page.find("tbody tr")
    page.type("[type=search]", "filter-")
    page.wait(lambda: page.names() == ["filter-shut", "filter-open"], "not both")
    page.choose(".filters [aria-label='Enabled or disabled']", "true")
    page.wait(lambda: page.names() == ["filter-shut"], "not the disabled one")
    page.choose(".filters [aria-label='Enabled or disabled']", "false")
    page.wait(lambda: page.names() == ["filter-open"], "not the enabled one")


def times_are_shown_and_what_is_not_known_has_a_name(page):
    server = page.deployment
    server.create("never-signed-in")
    page.open("admin", "#/users?columns=created,last_sign_in")
    page.search("never-signed-in")
    [created], [signed_in] = page.all("td.created"), page.all("td.last_sign_in")
    assert created.find_element("css selector", "time").get_attribute("datetime").endswith("Z")
    assert signed_in.get_attribute("textContent") == "–none recorded", signed_in.get_attribute("textContent")
    page.click("td.end button")
    page.find("dialog .muted", "no sign-in recorded")


def back_leads_to_the_page_before(page):
    page.open("admin")
    page.wait(lambda: len(ids(page)) == PAGE_SIZE, "no full page")
    first = ids(page)
    page.click(".paging button", "Next")
    page.wait(lambda: ids(page)[0] > first[-1], "no second page")
    second = ids(page)
    page.click("nav a", "Account")
    page.find("dl", "admin")
    page.browser.back()
    page.wait(lambda: ids(page) == second, "not the second page")
    page.browser.back()
    page.wait(lambda: ids(page) == first, "not the first page")
    page.browser.forward()
    page.wait(lambda: ids(page) == second, "not the second page again")
    page.type("[type=search]", "person0990")
    page.wait(lambda: len(page.names()) == 10, "not the search")
    page.choose(".filters [aria-label=Role]", "author")
    page.wait(lambda: page.names() == ["person09900"], "not the role")
    page.browser.back()
    page.wait(lambda: len(page.names()) == 10, "not the search without the role")
    assert page.find(".filters [aria-label=Role]").get_attribute("value") == ""
    page.browser.back()
    page.wait(lambda: ids(page) == second, "not the page before the search")
    assert page.find("[type=search]").get_attribute("value") == ""
    # A search is one step of the history, however many pauses there were while typing.
    for part in ("person", "0990"):
        page.find("[type=search]").send_keys(part)
        page.wait(lambda: page.browser.current_url.endswith(part), f"no search for {part}")
    page.browser.back()
    page.wait(lambda: ids(page) == second, "not the page before the search")
    page.click("td.end button")
    page.find("dialog")
    page.browser.back()
    page.wait(lambda: ids(page) == first and not page.all("dialog"), "the dialog stays over another page")


def two_arrow_keys_make_no_admin(page):
    server = page.deployment
    user = server.create("stays-a-user")
    page.open("admin")
    page.search("stays-a-user")
    assert not page.all("td select"), "a role can be changed in the list"
    page.click("td.end button")
    page.find("dialog [aria-label=Role] select").send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert page.find("dialog [aria-label=Role] select").get_attribute("value") == "admin"
    page.press(Keys.TAB, Keys.ESCAPE)
    page.wait(lambda: not page.all("dialog"), "the dialog stays")
    page.manage("stays-a-user")
    assert page.find("dialog [aria-label=Role] select").get_attribute("value") == "user"
    assert server.api("GET", f"/users/{user}", token=server.token())[1]["role"] == "user"
    assert not [it for it in page.requests() if it[0] == "PUT"]


def a_role_is_changed_by_a_button_and_taken_back(page):
    server = page.deployment
    user = server.create("role-changes")
    role = lambda: server.api("GET", f"/users/{user}", token=server.token())[1]["role"]
    page.open("admin")
    page.manage("role-changes")
    page.change_role("author")
    page.find("#notice", "role-changes now has the role author.")
    page.find("td.role", "author")
    assert role() == "author" and not page.all("dialog")
    covered = page.script(
        "const [notice, pages] = ['#notice', '.paging'].map((it) => document.querySelector(it).getBoundingClientRect());"
        "return notice.top < pages.bottom && pages.top < notice.bottom"
    )
    assert not covered, "the notice covers the buttons of the pages"
    page.click("#notice button", "Undo")
    page.find("#notice", "role-changes now has the role user.")
    page.find("td.role", "user")
    assert role() == "user"
    # The page must not overwrite what another admin has changed meanwhile.
    page.click("td.end button")
    page.change_role("author")
    page.find("#notice button", "Undo")
    server.api("PUT", f"/users/{user}/role", {"role": "editor"}, server.token())
    page.click("#notice button", "Undo")
    page.find("#notice", "Not undone: the role of role-changes has since been changed.")
    page.find("td.role", "editor")


def making_and_unmaking_an_admin_asks(page):
    server = page.deployment
    user = server.create("perhaps-an-admin")
    role = lambda: server.api("GET", f"/users/{user}", token=server.token())[1]["role"]
    page.open("admin")
    page.manage("perhaps-an-admin")
    page.change_role("admin")
    page.find("dialog.question", "Make perhaps-an-admin an admin?")
    page.press(Keys.ENTER)  # The focus is on Cancel.
    page.wait(lambda: not page.all("dialog.question"), "the question stays")
    assert role() == "user" and page.find("dialog [aria-label=Role] select").get_attribute("value") == "user"
    page.change_role("admin")
    page.click("dialog.question button", "Make admin")
    page.find("#notice", "perhaps-an-admin now has the role admin.")
    assert role() == "admin"
    page.click("td.end button")
    page.change_role("user")
    page.find("dialog.question", "perhaps-an-admin will no longer be an admin.")
    page.press(Keys.ESCAPE)
    page.wait(lambda: not page.all("dialog.question"), "the question stays")
    assert role() == "admin"
    page.change_role("user")
    page.click("dialog.question button", "Make user")
    page.find("#notice", "perhaps-an-admin now has the role user.")


def an_own_change_asks_and_what_is_refused_is_not_offered(page):
    server = page.deployment
    user = server.create("careful", "admin")
    page.open("careful")
    page.manage("careful")
    assert parts(page) == ["Role", "Groups", "Access", "Sign-in", "API keys", "Name"], parts(page)
    page.part("Sign-in")
    page.find("dialog a", "Your password and your sessions")
    page.part("Access")
    page.click("dialog button", "Disable")
    page.find("dialog.question", "You are about to disable yourself.")
    page.click("dialog.question button", "Cancel")
    page.change_role("author")
    page.find("dialog.question", "You are about to give up the role admin.")
    page.press(Keys.ESCAPE)
    page.wait(lambda: not page.all("dialog.question"), "the question stays")
    assert server.api("GET", f"/users/{user}", token=server.token())[1] == {
        "id": user, "username": "careful", "role": "admin", "disabled": False
    }
    page.press(Keys.ESCAPE)
    page.manage("admin")
    assert parts(page)[-1] == "API keys", parts(page)
    page.press(Keys.ESCAPE)
    page.manage("careful")
    page.change_role("author")
    page.click("dialog.question button", "Make author")
    page.find("dl", "careful")
    page.find(".who .chip", "author")
    assert page.browser.current_url == f"{server.url}/account", page.browser.current_url


def an_added_role_is_given_and_looked_for(page):
    server = page.deployment
    user = server.create("becomes-editor")
    page.open("admin")
    page.manage("becomes-editor")
    page.change_role("editor")
    page.find("#notice", "becomes-editor now has the role editor.")
    assert server.api("GET", f"/users/{user}", token=server.token())[1]["role"] == "editor"
    page.type("[type=search]", "becomes-")
    page.choose(".filters [aria-label=Role]", "editor")
    page.wait(lambda: page.names() == ["becomes-editor"], "not the role")
    page.browser.refresh()
    page.find(".filters [aria-label=Role] option:checked", "editor")
    page.wait(lambda: page.names() == ["becomes-editor"], "the filter is lost")
    # If the list of roles does not arrive, the built-in roles and the user's own role can still be chosen.
    stop = page.inject(
        "{ const { fetch } = window; window.fetch = (path, ...rest) => path === '/roles'"
        " ? Response.json({detail: 'Service temporarily unavailable.'}, {status: 503}) : fetch(path, ...rest) }"
    )
    page.open("admin")
    stop()
    page.manage("becomes-editor")
    options = [option.text for option in page.all("dialog [aria-label=Role] option")]
    assert options == ["user", "author", "admin", "editor"], options


def a_refusal_is_shown_at_its_field_with_the_stored_role(page):
    server = page.deployment
    token = server.token()
    for user in server.api("GET", "/users?role=admin", token=token)[1]["users"]:
        if user["username"] != "admin":
            assert server.api("DELETE", f"/users/{user['id']}", token=token)[0] == 200
    page.open("admin")
    page.manage("admin")
    page.find("dialog", "You are the only enabled admin")
    assert parts(page) == ["Groups", "Sign-in", "API keys"], parts(page)
    page.press(Keys.ESCAPE)
    other = server.create("leaves-meanwhile", "admin")
    page.manage("admin")
    page.find("dialog [aria-label=Role] select")
    assert server.api("DELETE", f"/users/{other}", token=token)[0] == 200
    page.change_role("user")
    page.click("dialog.question button", "Make user")
    page.find("dialog .field .message", "The last admin cannot be removed.")
    assert page.find("dialog [aria-label=Role] select").get_attribute("value") == "admin"


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
    page.find("dialog", "generated was created")
    assert page.find("dialog .secret").get_attribute("value") == password
    page.click("dialog button", "Done")
    page.deployment.token("generated", password)
    assert password not in page.script("return document.documentElement.outerHTML")
    page.click(".bar .primary")
    page.type("dialog [name=username]", "generated")
    page.type("dialog [name=password]", "long enough")
    page.click("dialog form .primary")
    page.find("dialog .field:has([name=username]) .message", "Username already exists.")
    name = page.find("dialog [name=username]")
    assert name.get_attribute("value") == "generated" and name == page.browser.switch_to.active_element
    assert name.get_attribute("aria-invalid") == "true"
    name.send_keys("x")
    assert not page.all("dialog .message.error"), "the error stays while it is mended"


def a_password_is_set(page):
    server = page.deployment
    server.create("new-password")
    page.open("admin")
    page.manage("new-password")
    page.part("Sign-in")
    # The rule is shown before the first attempt, because the page has asked for it.
    page.find("dialog .new-password small", "4 to 72 bytes.")
    page.type("dialog [name=password]", "n" * 73)
    page.click("dialog button", "Set password")
    page.agree("Set password")
    page.find("dialog .field:has([name=password]) .message.error", "Password must have at most 72 bytes.")
    page.type("dialog [name=password]", "abc")
    page.click("dialog button", "Set password")
    page.agree("Set password")
    page.find("dialog .field:has([name=password]) .message.error", "Password must have at least 4 bytes.")
    page.type("dialog [name=password]", "typed by an admin")
    page.click("dialog button", "Set password")
    page.agree("Set password")
    page.find("dialog .message.good", "Password updated successfully.")
    server.token("new-password", "typed by an admin")


def a_user_gets_another_name_and_admin_does_not(page):
    server = page.deployment
    user = server.create("born-as-ann")
    server.create("has-the-name")
    page.open("admin")
    page.manage("admin")
    assert "Name" not in " ".join(parts(page))
    page.press(Keys.ESCAPE)
    page.manage("born-as-ann")
    page.part("Name")
    page.type("dialog [aria-label=Name] [name=username]", "has-the-name")
    page.click("dialog button", "Rename")
    page.find("dialog .message", "Username already exists.")
    page.type("dialog [aria-label=Name] [name=username]", "now eve é")
    page.click("dialog button", "Rename")
    page.find("#notice", "born-as-ann was renamed to now eve é.")
    page.manage("now eve é")
    page.press(Keys.ESCAPE)
    assert server.api("GET", f"/users/{user}", token=server.token())[1]["username"] == "now eve é"
    page.go(f"#/audit?user_id={user}&event=user_renamed")
    page.find("td.event", "from: born-as-ann, to: now eve é")


def a_user_is_disabled_and_enabled(page):
    server = page.deployment
    server.create("leaves-for-a-while")
    credentials = {"username": "leaves-for-a-while", "password": PASSWORD}
    page.open("admin")
    page.manage("leaves-for-a-while")
    page.part("Access")
    page.click("dialog button", "Disable")
    page.find("#notice", "leaves-for-a-while is now disabled.")
    assert server.api("POST", "/login", credentials)[0] == 401
    page.find("td .chip", "disabled")
    page.click("td.end button")
    page.part("Access")
    page.click("dialog button", "Enable")
    page.find("#notice", "leaves-for-a-while is now enabled.")
    assert server.api("POST", "/login", credentials)[0] == 200


def each_part_has_one_main_button_and_arrow_keys_lead_to_it(page):
    page.deployment.create("in-parts")
    page.open("admin")
    page.manage("in-parts")
    titles = parts(page)
    assert titles == ["Role", "Groups", "Access", "Sign-in", "API keys", "Name and deletion"], titles
    focused = lambda: page.script("return document.activeElement.textContent")
    shown = []
    for title in titles:
        assert focused() == title, focused()
        assert [it.text for it in page.all("dialog [aria-selected=true]")] == [title]
        page.wait(lambda: page.all("dialog [role=tabpanel] .primary"), f"no main button in {title}")
        shown.append([it.text for it in page.all("dialog [role=tabpanel] .primary")])
        page.press(Keys.ARROW_RIGHT)
    assert shown == [["Change role"], ["Add to a group"], ["Disable"], ["Make a password link"], ["Create key"], ["Rename"]], shown
    assert focused() == "Role"
    page.press(Keys.ARROW_LEFT)
    assert focused() == "Name and deletion"
    page.press(Keys.HOME, Keys.END, Keys.HOME, Keys.TAB)
    assert page.script("return document.activeElement.name") == "role", "Tab does not lead into the part"


def every_change_that_can_be_taken_back_offers_it(page):
    server = page.deployment
    user = server.create("taken-back")
    end = "2098-12-04T17:00:00Z"
    assert server.api("PATCH", f"/users/{user}", {"until": end}, server.token())[0] == 200
    stored = lambda: server.api("GET", f"/users?limit=1&after={user - 1}&include=groups", token=server.token())[1]["users"][0]

    def undo(said, undone):
        page.find("#notice", said)
        page.click("#notice button", "Undo")
        page.find("#notice", undone)

    page.open("admin")
    page.manage("taken-back")
    page.part("Access")
    page.click("dialog button", "Disable")
    page.find("td .chip", "disabled")
    undo("taken-back is now disabled.", "taken-back is now enabled.")
    page.wait(lambda: not page.all("td .chip"), "the row shows a disabled user")
    page.click("td.end button")
    page.part("Access")
    page.script("document.querySelector('dialog [name=until]').value = ''")
    page.click("dialog button", "Set end")
    undo("The account of taken-back has no end.", "The account of taken-back ends on")
    assert stored()["until"].startswith(end[:19]) and not stored()["disabled"], stored()
    page.click("td.end button")
    page.part("Name")
    page.type("dialog [aria-label=Name] [name=username]", "taken-back-2")
    page.click("dialog button", "Rename")
    page.wait(lambda: page.names() == ["taken-back-2"], "the row has the old name")
    undo("taken-back was renamed to taken-back-2.", "taken-back-2 was renamed to taken-back.")
    page.wait(lambda: page.names() == ["taken-back"], "the row has the new name")
    # The page must not overwrite what another admin has changed meanwhile.
    page.click("td.end button")
    page.part("Name")
    page.type("dialog [aria-label=Name] [name=username]", "taken-back-3")
    page.click("dialog button", "Rename")
    page.find("#notice", "taken-back was renamed to taken-back-3.")
    assert server.api("PATCH", f"/users/{user}", {"username": "taken-back-4"}, server.token())[0] == 200
    page.click("#notice button", "Undo")
    page.find("#notice", "Not undone: the name of taken-back-3 has since been changed.")
    assert stored()["username"] == "taken-back-4"


def what_cannot_be_taken_back_is_asked_before(page):
    server = page.deployment
    user = server.create("asked-before")
    page.open("admin")
    page.manage("asked-before")
    page.part("Sign-in")
    page.type("dialog [name=password]", "another password")
    for action, question in {
        "Make a password link": "Make a password link for asked-before?",
        "Set password": "Set the password of asked-before?",
        "End all tokens": "End all sessions and access tokens of asked-before?",
    }.items():
        page.click("dialog button", action)
        page.find("dialog.question", question)
        page.press(Keys.ENTER)  # The focus is on Cancel.
        page.wait(lambda: not page.all("dialog.question"), "the question stays")
        assert page.script("return document.activeElement.textContent") == action, "the focus is lost"
    assert not [it for it in page.requests() if it[0] != "GET"], page.requests()
    events = [it["event"] for it in server.api("GET", f"/audit?user_id={user}", token=server.token())[1]["entries"]]
    assert events == ["user_created"], events


def a_user_is_deleted_by_typing_the_name(page):
    server = page.deployment
    user = server.create("to delete")
    page.open("admin")
    page.manage("to delete")
    page.part("Name and deletion")
    page.type("dialog [aria-label=Delete] [name=name]", "to delet")
    page.click("dialog button.danger", "Delete")
    page.find("dialog .field .message", "The name does not match.")
    assert not [it for it in page.requests() if it[0] == "DELETE"]
    page.type("dialog [aria-label=Delete] [name=name]", "to delete")
    page.click("dialog button.danger")
    page.find("#notice", "to delete was deleted.")
    assert server.api("GET", f"/users/{user}", token=server.token())[0] == 404
    page.wait(lambda: page.script("return document.activeElement.tagName") == "H1", "the focus is lost")


def a_name_that_looks_like_html_is_text(page):
    name = "<img src=x onerror=alert(1)>"
    page.deployment.create(name)
    page.open("admin")
    page.manage(name)
    page.change_role("author")
    page.find("#notice", name)
    assert page.script("return document.querySelectorAll('img[onerror], [src=x]').length") == 0


def a_demoted_admin_is_led_to_the_account_and_sees_no_more_users(page):
    server = page.deployment
    boss = server.create("demoted-boss", "admin")
    server.create("demotion-target")
    page.open("demoted-boss")
    page.manage("demotion-target")
    page.part("Access")
    server.api("PUT", f"/users/{boss}/role", {"role": "user"}, server.token())
    page.click("dialog button", "Disable")
    page.find("dl", "demoted-boss")
    assert page.browser.current_url == f"{server.url}/account", page.browser.current_url
    assert "demotion-target" not in page.content() and not page.all("nav a")
    server.api("PUT", f"/users/{boss}/role", {"role": "admin"}, server.token())
    page.browser.refresh()
    page.click("nav a", "Console")
    page.find("tbody tr")


def an_outage_in_the_middle_of_an_action_is_explained_and_loses_nothing(page):
    server = page.deployment
    server.create("outage")
    page.open("admin")
    page.manage("outage")
    page.part("Sign-in")
    page.type("dialog [name=password]", "typed before the outage")
    server.outage()
    try:
        page.click("dialog button", "Set password")
        page.agree("Set password")
        page.find("dialog .message.error", "It is not known whether the change was made")
        page.change_role("author")
        page.find("dialog [aria-label=Role] .message.error", "It is not known")
        assert page.find("dialog [aria-label=Role] select").get_attribute("value") == "user"
        page.press("\ue00c")
        page.type("[type=search]", "out")
        page.find(".failure button", "Try again")
    finally:
        server.recover()
    page.click(".failure button")
    page.wait(lambda: page.names() == ["outage"], "the list does not come back")
    page.click("td.end button")
    page.change_role("author")
    page.find("#notice", "outage now has the role author.")


CHECKS = [
    pages_of_ten_thousand_users_go_both_ways,
    search_and_filters_find_users_and_say_what_is_shown,
    a_search_that_another_one_holds_up_is_tried_again,
    disabled_users_are_found_and_enabled_ones_left_out,
    times_are_shown_and_what_is_not_known_has_a_name,
    back_leads_to_the_page_before,
    two_arrow_keys_make_no_admin,
    a_role_is_changed_by_a_button_and_taken_back,
    making_and_unmaking_an_admin_asks,
    an_own_change_asks_and_what_is_refused_is_not_offered,
    an_added_role_is_given_and_looked_for,
    a_refusal_is_shown_at_its_field_with_the_stored_role,
    a_user_is_created_with_a_generated_password,
    a_password_is_set,
    a_user_gets_another_name_and_admin_does_not,
    a_user_is_disabled_and_enabled,
    each_part_has_one_main_button_and_arrow_keys_lead_to_it,
    every_change_that_can_be_taken_back_offers_it,
    what_cannot_be_taken_back_is_asked_before,
    a_user_is_deleted_by_typing_the_name,
    a_name_that_looks_like_html_is_text,
    a_demoted_admin_is_led_to_the_account_and_sees_no_more_users,
    an_outage_in_the_middle_of_an_action_is_explained_and_loses_nothing,
]
