"""Checks of changes of many users at once."""

import csv
from pathlib import Path
from tempfile import TemporaryDirectory

from groups import create_group, ends, set_end
from looks import check_view, tab_to
from page import NARROW, SMALL, WIDE
from selenium.webdriver.common.keys import Keys

PAGE_SIZE = 25


def intercept(page, method, answer):
    """Answers the page's requests with this method by a function of JavaScript. It gets the number of the request and
    the path, and returns a response, or undefined to send the request."""
    page.script(
        "const { fetch } = window; const [method] = arguments; let number = 0;"
        f"const answer = {answer};"
        "window.fetch = async (path, options) => {"
        "  if (options?.method !== method) return fetch(path, options);"
        "  return (await answer(number++, path)) ?? fetch(path, options) }",
        method,
    )


def people(server, prefix, number):
    """Creates users, and returns their ids by their names."""
    return {name: server.create(name) for name in (f"{prefix}-{it:02}" for it in range(number))}


def state(server, user):
    return server.api("GET", f"/users/{user}", token=server.token())[1]


def show(page, prefix):
    """Shows the users whose names contain the text."""
    page.open("admin", f"#/users?search={prefix}")
    page.wait(lambda: page.names() and all(prefix in name for name in page.names()), f"no {prefix}")


def select_page(page):
    page.click("thead [type=checkbox]")
    page.find(".above p", "selected")


def begin(page, action, sure=None):
    """Begins an action, and confirms it."""
    page.click(".above button", action)
    page.find("dialog .asked")
    page.click("dialog form button:last-child", sure)


def results(page):
    """Waits for the results, and returns each by the name of the user."""
    page.find("dialog [aria-label=Results]")
    return page.script(
        "return Object.fromEntries([...document.querySelectorAll('dialog tbody tr')].map("
        "(row) => [row.cells[0].textContent, row.cells[1].querySelector('p').textContent]))"
    )


def close(page):
    page.click("dialog .actions button", "Done")
    page.wait(lambda: not page.all("dialog"), "the dialog stays")


def the_page_and_all_that_match_are_selected_but_never_oneself(page):
    server = page.deployment
    page.open("admin")
    page.find("tbody tr")
    own = page.find("[aria-label='Select admin']")
    assert not own.is_enabled() and "own account" in own.get_attribute("title")
    boxes = page.all("tbody [type=checkbox]")
    boxes[1].click()
    page.find(".above p", "1 user selected")
    whole = page.find("thead [type=checkbox]")
    assert page.script("return arguments[0].indeterminate", whole)
    assert "that match" not in page.text(".above")
    whole.click()
    page.find(".above p", "24 users selected")
    assert whole.is_selected() and not own.is_selected()
    page.click(".paging button", "Next")
    page.find(".paging p", "Page 2")
    page.find(".above p", "24 users selected")
    page.click("tbody [type=checkbox]")
    page.find(".above p", "25 users selected")
    page.click(".above button", "Clear")
    page.find(".above p", " users")
    assert "selected" not in page.text(".above")
    server.create("admin-too")
    page.go("#/users?search=admin")
    page.wait(lambda: "admin-too" in page.names(), "no admins")
    select_page(page)
    others = len(page.names()) - 1
    page.click(".above button", "Disable")
    page.find("dialog .asked", f"Disable {others} user")
    page.click("dialog button", "Cancel")
    page.wait(lambda: not page.all("dialog"), "the dialog stays")
    page.go("#/users?role=author")
    page.wait(lambda: len(page.names()) == PAGE_SIZE and page.all("td.role")[0].text == "author", "no authors")
    page.wait(lambda: "selected" in page.text(".above"), "the selection is lost")
    page.click(".above button", "Clear")
    select_page(page)
    page.click(".above button", "that match")
    page.find(".above p", "that match are selected")
    assert all(box.is_selected() for box in page.all("tbody [type=checkbox]"))
    page.click(".above button", "Enable")
    total = server.api("GET", "/users?role=author&total=true&limit=1", token=server.token())[1]["total"]
    page.find("dialog .asked", f"Enable {total} users?")
    page.find("dialog", f"and {total - 10} more. Your own account is left out.")
    page.press(Keys.ESCAPE)
    page.wait(lambda: not page.all("dialog"), "the dialog stays")
    page.choose(".filters [aria-label=Role]", "user")
    page.wait(lambda: page.all("td.role")[0].text != "author", "no users")
    page.wait(lambda: "selected" not in page.text(".above"), "others than those that matched are selected")


def all_that_match_are_changed_on_every_page(page):
    server = page.deployment
    show(page, "person07")
    select_page(page)
    page.click(".above button", "Select all 1,000 that match")
    page.click(".above button", "Disable")
    page.find("dialog .asked", "Disable 1,000 users?")
    page.click("dialog form button:last-child")
    assert set(results(page).values()) == {"Is disabled."}
    page.find("dialog p", "1,000 done.")
    close(page)
    total = server.api("GET", "/users?search=person07&disabled=true&total=true&limit=1", token=server.token())[1]["total"]
    assert total == 1000, total
    assert page.script("return document.activeElement.tagName") == "H1", "the focus is lost"


def thirty_users_are_disabled_enabled_and_get_a_role(page):
    server = page.deployment
    users = people(server, "bulk-thirty", 30)
    show(page, "bulk-thirty")
    select_page(page)
    page.click(".above button", "Select all 30 that match")
    begin(page, "Disable", "Disable 30 users")
    assert results(page) == {name: "Is disabled." for name in users}
    close(page)
    page.wait(lambda: len(page.all("td.name .chip")) == PAGE_SIZE, "the list is not read again")
    assert "selected" not in page.text(".above")
    assert all(state(server, user)["disabled"] for user in users.values())
    select_page(page)
    begin(page, "Enable", "Enable 25 users")
    assert len(results(page)) == 25
    close(page)
    select_page(page)
    page.click(".above button", "Role")
    page.choose("dialog [name=role]", "author")
    page.click("dialog form button", "Change the role of 25 users")
    assert set(results(page).values()) == {"Has the role author."}
    close(page)
    assert [state(server, user)["role"] for user in users.values()].count("author") == 25


def many_join_a_group_with_an_end_and_leave_it(page):
    server = page.deployment
    users = people(server, "bulk-group", 6)
    members = create_group(server, "bulk-members")
    show(page, "bulk-group")
    select_page(page)
    page.click(".above button", "Add to group")
    page.find("dialog [name=group] option", "bulk-members")
    page.choose("dialog [name=group]", members.split("/")[2])
    set_end(page, "dialog", "2020-01-01T12:00")
    page.click("dialog form .primary")
    page.find("dialog .field .message.error", "End must be in the future.")
    set_end(page, "dialog", "2098-12-04T17:00")
    page.click("dialog form .primary")
    assert all(text.startswith("Is in bulk-members until ") for text in results(page).values())
    close(page)
    assert set(ends(server, members)) == set(users) and None not in ends(server, members).values()
    page.click("tbody tr:nth-child(2) [type=checkbox]")
    page.find(".above p", "1 user selected")
    select_page(page)
    # One of them has left the group meanwhile, which is what was wanted.
    assert server.api("DELETE", f"{members}/{users['bulk-group-03']}", token=server.token())[0] == 200
    page.click(".above button", "Remove from group")
    page.choose("dialog [name=group]", members.split("/")[2])
    page.click("dialog form .primary")
    assert results(page) == {name: "Is not in bulk-members." for name in users}
    close(page)
    assert ends(server, members) == {}


def deleting_many_needs_their_number_and_who_is_refused_stays_selected(page):
    server = page.deployment
    users = people(server, "bulk-delete", 3)
    server.create("bulk-boss", "admin")
    page.open("bulk-boss", "#/users?search=admin")
    page.find("[aria-label='Select admin']").click()
    page.type("[type=search]", "bulk-delete")
    page.wait(lambda: page.names() == list(users), "not found")
    select_page(page)
    page.find(".above p", "4 users selected")
    page.click(".above button", "Delete")
    page.find("dialog .asked", "Delete 4 users?")
    page.type("dialog [name=number]", "3")
    page.click("dialog form button.danger")
    page.find("dialog .field .message.error", "The number does not match.")
    assert not [it for it in page.requests() if it[0] == "DELETE"]
    # A user who is gone already is deleted, as was wanted.
    assert server.api("DELETE", f"/users/{users['bulk-delete-01']}", token=server.token())[0] == 200
    page.type("dialog [name=number]", "4")
    page.click("dialog form button.danger")
    assert results(page) == {"admin": "This user cannot be deleted.", **{name: "Is deleted." for name in users}}
    page.find("dialog p", "3 done, 1 failed.")
    close(page)
    page.find(".state", "No users match")
    page.find(".above p", "1 user selected")
    page.click(".above button", "Disable")
    page.find("dialog", "admin.")
    page.press(Keys.ESCAPE)


def limits_are_waited_for(page):
    server = page.deployment
    users = people(server, "bulk-limits", 8)
    show(page, "bulk-limits")
    intercept(page, "PATCH", """(number) => [2, 3, 6].includes(number) ? Response.json({ detail: "Wait." },
        { status: number === 3 ? 503 : 429, headers: { "Retry-After": "2" } }) : undefined""")
    select_page(page)
    begin(page, "Disable")
    page.find("dialog .progress", "The service asks to wait. Going on in")
    assert results(page) == {name: "Is disabled." for name in users}
    close(page)
    assert all(state(server, user)["disabled"] for user in users.values())
    statuses = [status for method, _, status in page.requests() if method == "PATCH"]
    assert sorted(statuses) == ["200"] * 8 + ["429"] * 2 + ["503"], statuses


def a_broken_connection_leaves_it_unknown_and_can_be_repeated(page):
    server = page.deployment
    users = people(server, "bulk-broken", 5)
    lost, refused = users["bulk-broken-01"], users["bulk-broken-03"]
    show(page, "bulk-broken")
    intercept(page, "PATCH", f"""async (number, path) => {{
        if (number > 4) return undefined;
        if (path === "/users/{lost}") throw new TypeError("Failed to fetch");
        if (path === "/users/{refused}") return Response.json({{ detail: "Upstream timed out." }}, {{ status: 504 }}); }}""")
    select_page(page)
    begin(page, "Disable")
    shown = results(page)
    for name in ("bulk-broken-01", "bulk-broken-03"):
        assert "It is not known whether the change was made" in shown[name], shown
        assert "Repeating it harms nothing." in shown[name], shown
    assert list(shown.values()).count("Is disabled.") == 3, shown
    close(page)
    page.find(".above p", "2 users selected")
    begin(page, "Disable")
    assert results(page) == {name: "Is disabled." for name in ("bulk-broken-01", "bulk-broken-03")}
    close(page)
    assert all(state(server, user)["disabled"] for user in users.values())


def without_any_answer_the_run_ends(page):
    server = page.deployment
    people(server, "bulk-silent", 20)
    show(page, "bulk-silent")
    intercept(page, "PATCH", "async () => { throw new TypeError('Failed to fetch') }")
    select_page(page)
    begin(page, "Disable")
    shown = list(results(page).values())
    assert "Not begun, because the run was stopped." in shown, shown
    page.find("dialog p", "Stopped: ")
    close(page)
    page.find(".above p", "20 users selected")


def a_run_is_stopped_and_the_others_stay_selected(page):
    server = page.deployment
    users = people(server, "bulk-stop", 20)
    show(page, "bulk-stop")
    intercept(page, "PATCH", "() => new Promise((resolve) => setTimeout(resolve, 700))")
    select_page(page)
    begin(page, "Disable")
    page.find("dialog .progress p", "of 20")
    page.press(Keys.ESCAPE, Keys.ESCAPE)
    assert leaving_asks(page), "the tab closes without a question"
    page.click("dialog button", "Stop")
    shown = results(page)
    left = [name for name, text in shown.items() if text == "Not begun, because the run was stopped."]
    assert 0 < len(left) < 20, shown
    assert not leaving_asks(page), "the page asks after the end"
    close(page)
    page.find(".above p", f"{len(left)} users selected" if len(left) > 1 else "1 user selected")
    for name, user in users.items():
        assert state(server, user)["disabled"] == (name not in left), name


def leaving_asks(page):
    return page.script("return !window.dispatchEvent(new Event('beforeunload', { cancelable: true }))")


def a_session_that_ends_stops_the_run_and_the_rest_stays_selected(page):
    server = page.deployment
    users = people(server, "bulk-ended", 20)
    show(page, "bulk-ended")
    intercept(page, "PATCH", "() => new Promise((resolve) => setTimeout(resolve, 700))")
    select_page(page)
    begin(page, "Disable")
    page.find("dialog .progress p", "of 20")
    assert server.api("POST", "/logout", token=page.token())[0] == 200
    page.find("#ended")
    page.sign_in_again("admin")
    page.wait(lambda: not page.all("#ended"), "the notice stays")
    shown = results(page)
    assert "Is disabled." in shown.values() and "Not begun, because the run was stopped." in shown.values(), shown
    page.find("dialog p", "Stopped: The session has ended.")
    close(page)
    done = [name for name, user in users.items() if state(server, user)["disabled"]]
    page.find(".above p", f"{20 - len(done)} users selected")
    assert sorted(done) == sorted(name for name, text in shown.items() if text == "Is disabled.")


def downloads(page, folder):
    page.browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": folder})


def downloaded(page, folder):
    """Waits for a file, and returns its text."""
    files = lambda: [it for it in Path(folder).glob("*.csv") if it.stat().st_size]
    page.wait(files, "no file")
    [file] = files()
    text = file.read_bytes().decode()
    file.unlink()
    return text


def links_are_shown_once_saved_and_not_lost_without_a_question(page):
    server = page.deployment
    users = people(server, "bulk-links", 3)
    show(page, "bulk-links")
    select_page(page)
    begin(page, "Password links")
    assert results(page) == {name: "Link made." for name in users}
    shown = {code.text for code in page.all("dialog code.once")}
    assert len(shown) == 3 and all("/set-password#rgl_" in link for link in shown), shown
    page.press(Keys.ESCAPE)
    page.find("dialog h2", "Links are not saved")
    page.find("dialog", "you can make a new one")
    page.press(Keys.ESCAPE)
    page.find("dialog [aria-label=Results]")
    assert leaving_asks(page), "the tab closes without a question"
    with TemporaryDirectory() as folder:
        downloads(page, folder)
        page.click("dialog .actions button", "Done")
        page.click("dialog button", "Save the links")
        page.wait(lambda: not page.all("dialog"), "the dialog stays")
        header, *rows = csv.reader(downloaded(page, folder).removeprefix("\ufeff").splitlines())
    assert header == ["username", "link", "expires"], header
    assert {row[0] for row in rows} == set(users) and {row[1] for row in rows} == shown, rows
    assert all(row[2].endswith("Z") for row in rows)
    assert not any(link in page.content() for link in shown), "the page still has a link"
    begin_again(page)
    page.click("dialog button", "Close without saving")
    page.wait(lambda: not page.all("dialog"), "the dialog stays")
    begin_again(page, "URL.createObjectURL = () => { throw new Error() }")
    page.click("dialog button", "Save the links")
    page.find("dialog .message.error", "The file could not be saved. Copy the links from the list, or make new ones later.")
    page.click("dialog .actions button", "Done")
    page.click("dialog button", "Close without saving")


def begin_again(page, script=""):
    """Makes new links, and closes the result without saving them."""
    select_page(page)
    begin(page, "Password links")
    page.find("dialog [aria-label=Results]")
    page.script(script)
    page.click("dialog .actions button", "Done")


def views(page):
    """Shows one view after the other, and yields the name of each."""
    server = page.deployment
    people(server, "bulk-view-of-a-user-with-a-rather-long-name-of-sixty", 4)
    create_group(server, "v" * 32)
    show(page, "bulk-view")
    select_page(page)
    page.click(".above button", "Add to group")
    page.find("dialog .asked")
    yield "group"
    page.press(Keys.ESCAPE)
    page.click(".above button", "Delete")
    page.find("dialog .asked")
    page.click("dialog form button.danger")
    page.type("dialog [name=number]", "7")
    page.click("dialog form button.danger")
    page.find("dialog .message.error")
    yield "delete"
    page.press(Keys.ESCAPE)
    begin(page, "Password links")
    results(page)
    yield "links"
    page.press(Keys.ESCAPE)
    page.find("dialog h2", "Links are not saved")
    yield "not saved"
    page.click("dialog button", "Close without saving")
    page.wait(lambda: not page.all("dialog"), "the dialog stays")
    intercept(page, "PATCH", "(number) => number === 2 ? new Promise((resolve) => { window.goOn = resolve }) :"
              " number === 1 ? Response.json({ detail: 'Refused.' }, { status: 400 }) : undefined")
    select_page(page)
    begin(page, "Disable")
    page.find("dialog .progress p", "3 of 4")
    yield "progress"
    page.script("goOn()")
    results(page)
    yield "results"


def changes_of_many_are_accessible_and_fit_down_to_320_pixels(page):
    for name in views(page):
        check_view(page, name, (WIDE, NARROW, SMALL))


def changes_of_many_need_no_mouse(page):
    server = page.deployment
    users = people(server, "bulk-keyboard", 2)
    show(page, "bulk-keyboard")
    tab_to(page, "Select all users of this page")
    page.press(Keys.SPACE)
    page.find(".above p", "2 users selected")
    page.script("document.querySelector('h1').focus()")
    tab_to(page, "Delete")
    page.press(Keys.ENTER)
    page.wait(lambda: page.script("return document.activeElement.name") == "number", "no focus")
    page.press("2", Keys.ENTER)
    results(page)
    page.wait(lambda: page.script("return document.activeElement.textContent") == "Done", "no focus")
    page.press(Keys.ENTER)
    page.wait(lambda: not page.all("dialog"), "the dialog stays")
    assert page.script("return document.activeElement.tagName") == "H1", "the focus is lost"
    assert all(state(server, user) == {"detail": "User not found."} for user in users.values())


CHECKS = [
    the_page_and_all_that_match_are_selected_but_never_oneself,
    thirty_users_are_disabled_enabled_and_get_a_role,
    many_join_a_group_with_an_end_and_leave_it,
    deleting_many_needs_their_number_and_who_is_refused_stays_selected,
    limits_are_waited_for,
    a_broken_connection_leaves_it_unknown_and_can_be_repeated,
    without_any_answer_the_run_ends,
    a_run_is_stopped_and_the_others_stay_selected,
    a_session_that_ends_stops_the_run_and_the_rest_stays_selected,
    links_are_shown_once_saved_and_not_lost_without_a_question,
    changes_of_many_are_accessible_and_fit_down_to_320_pixels,
    changes_of_many_need_no_mouse,
    all_that_match_are_changed_on_every_page,
]
