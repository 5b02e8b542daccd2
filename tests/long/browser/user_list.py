"""Checks of the columns, the order, the filters and the total of the list of users, all of which are in the address."""

from deployment import USERS
from groups import add, create_group, in_zone
from looks import check_view, tab_to
from page import NARROW, SMALL, WIDE
from selenium.webdriver.common.keys import Keys

PAGE_SIZE = 25


def headings(page):
    return [heading.text.split(" ")[0] for heading in page.all("table.users th")]


def asked(page):
    """Returns the path of the newest request for users."""
    return next(path for _, path, _ in page.requests() if path.startswith("/users?"))


def the_first_view_makes_three_requests_and_counts_all_users(page):
    page.open("admin")
    page.find("tbody tr")
    paths = sorted(path.split("?")[0] for _, path, _ in page.requests())
    assert paths == ["/me", "/roles", "/users"], paths
    page.find(".above p", " users")
    assert int(page.text(".above p").split(" ")[0].replace(",", "")) > USERS, page.text(".above p")
    assert "," in page.text(".above p"), "the number has no separator"
    page.click(".paging button", "Next")
    page.find(".paging p", "Page 2")
    assert "total" not in asked(page), "users are counted again for the second page"


def headings_sort_and_pages_of_a_sorted_list_go_both_ways(page):
    server = page.deployment
    for name in ("zzz-last", "Zzz-LATER", "!first"):
        server.create(name)
    page.open("admin")
    page.find("tbody tr")
    assert page.find("th[aria-sort=ascending]").text.startswith("Id")
    page.click("th.name button")
    page.wait(lambda: page.names()[:1] == ["!first"], "not sorted by name")
    assert page.find("th[aria-sort=ascending]").text.startswith("Name")
    assert page.script("return document.activeElement.textContent") == "Name", "the focus is lost"
    first = page.names()
    page.click(".paging button", "Next")
    page.wait(lambda: page.names() and not set(page.names()) & set(first), "no second page")
    second = page.names()
    page.browser.refresh()
    page.wait(lambda: page.names() == second, "a reload shows another page")
    page.click(".paging button", "Previous")
    page.wait(lambda: page.names() == first, "no way back")
    page.click("th.name button")
    page.wait(lambda: page.names()[:2] == ["Zzz-LATER", "zzz-last"], "not sorted backwards")
    assert page.find("th[aria-sort=descending]").text.startswith("Name")
    page.browser.back()
    page.wait(lambda: page.names() == first, "Back does not restore the order")
    page.click("th.id button")
    page.wait(lambda: page.names()[0] == "admin" and "sort" not in page.browser.current_url, "not sorted by id")
    page.go("#/users?columns=last_sign_in,ends")
    page.wait(lambda: len(headings(page)) == 4, "not these columns")
    for column, order in {"last_sign_in": "last_sign_in_at", "ends": "until"}.items():
        for direction in ("", "-"):
            page.click(f"th.{column} button")
            page.find(f"th.{column}[aria-sort={'descending' if direction else 'ascending'}]")
            assert f"sort={direction}{order}&" in asked(page), asked(page)


def columns_are_chosen_and_kept_in_the_address(page):
    page.open("admin")
    page.find("tbody tr")
    assert headings(page) == ["Id", "Name", "Role", "Groups", "Last", "Actions"], headings(page)
    page.click("button", "Columns")
    for name in ("groups", "second_factor", "password", "ends", "created"):
        page.click(f".choices [name={name}]")
    expected = ["Id", "Name", "Role", "Second", "Password", "Last", "End", "Created", "Actions"]
    page.wait(lambda: headings(page) == expected, "not the chosen columns")
    page.click(".paging button", "Next")
    page.find(".paging p", "Page 2")
    page.browser.refresh()
    page.wait(lambda: headings(page) == expected, "the columns are lost")
    assert "Page 2" in page.text(".paging p")
    page.click("button", "Columns")
    for box in page.all(".choices input:checked"):
        box.click()
    page.wait(lambda: headings(page) == ["Name", "Actions"], "not the name alone")
    page.browser.refresh()
    page.wait(lambda: headings(page) == ["Name", "Actions"], "the choice is lost")


def all_filters_are_in_the_address_and_survive_a_reload(page):
    server = page.deployment
    token = server.token()
    members = create_group(server, "filtered")
    status, invited = server.api("POST", "/users", {"username": "no-password-yet", "role": "editor"}, token)
    assert status == 201, invited
    add(server, members, invited["id"])
    assert server.api("PATCH", f"/users/{invited['id']}", {"until": "2098-03-01T00:00:00Z"}, token)[0] == 200
    server.create("with-a-password", "editor")
    page.open("admin")
    page.find("tbody tr")
    page.type("[type=search]", "pass")
    page.choose(".filters [aria-label=Role]", "editor")
    page.wait(lambda: page.names() == ["no-password-yet", "with-a-password"], "not both")
    page.click(".filters button", "More filters")
    page.find("[name=group] option[value=filtered]")
    page.choose(".more [name=group]", "filtered")
    page.wait(lambda: page.names() == ["no-password-yet"], "not the group")
    page.choose(".more [name=second_factor]", "false")
    page.choose(".more [name=has_password]", "false")
    set_date(page, "not_since", "2026-03-01")
    set_date(page, "ends_before", "2099-01-31")
    page.find(".filters button", "More filters (5)")
    text = "1 user whose name contains “pass”, with the role editor, in the group filtered, without a second factor, without a password"
    page.wait(lambda: page.text(".above p").startswith(text), page.text(".above p"))
    assert all(part in page.text(".above p") for part in ("not signed in since ", "whose account ends before "))
    assert page.names() == ["no-password-yet"]
    address = page.browser.current_url
    page.open_tab(address.partition("/console/")[2])
    page.wait(lambda: page.names() == ["no-password-yet"], "the address is not enough")
    assert page.text(".above p").startswith(text) and "More filters (5)" in page.text(".filters")
    page.click(".filters button", "More filters")
    assert page.find(".more [name=not_since]").get_attribute("value") == "2026-03-01"
    page.choose(".more [name=has_password]", "true")
    page.find(".state", "No users match the filters.")
    page.click(".state button", "Clear the filters")
    page.wait(lambda: len(page.names()) == PAGE_SIZE, "the filters stay")
    assert "?" not in page.browser.current_url, page.browser.current_url


def set_date(page, name, value):
    """Sets a date by a script, because the order of its parts depends on the language."""
    page.script(
        "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('change', { bubbles: true }))",
        page.find(f".more [name={name}]"), value,
    )


def dates_begin_at_midnight_of_the_person(page):
    page.open("admin")
    in_zone(page, "America/St_Johns")
    try:
        page.go("#/users?not_since=2026-03-01&ends_before=2026-07-01")
        page.wait(lambda: "not_since" in asked(page), "no request for users")
        assert "not_since=2026-03-01T03%3A30%3A00Z" in asked(page), asked(page)
        assert "ends_before=2026-07-01T02%3A30%3A00Z" in asked(page), asked(page)
    finally:
        in_zone(page, "")


def a_date_that_is_typed_in_part_changes_nothing(page):
    page.open("admin")
    page.find("tbody tr")
    page.click(".filters button", "More filters")
    before = page.browser.current_url
    set_date(page, "not_since", "0002-03-01")
    assert page.find(".more [name=not_since]").get_attribute("value") == "0002-03-01"
    assert page.browser.current_url == before


def what_the_address_has_wrong_does_not_break_the_list(page):
    page.open("admin")
    page.find("tbody tr")
    first = page.names()
    for wrong in (
        "sort=bogus&columns=x,role&disabled=maybe&not_since=2026-99-99&second_factor=perhaps&has_password=1&after=x&page=-x",
        "sort=username%00&ends_before=99999-01-01&columns=&search=",
        "unknown=1&sort=__proto__&columns=constructor&disabled=toString&%E0%A4%A=%",
    ):
        page.go(f"#/users?{wrong}")
        page.browser.refresh()
        page.wait(lambda: page.names() == first, f"not all users: {wrong}")
    page.go("#/users?sort=username&after=nonsense&page=7")
    page.browser.refresh()
    page.wait(lambda: len(page.names()) == PAGE_SIZE, "no first page")
    assert "after" not in page.browser.current_url
    page.go("#/users?group=no-such-group")
    page.find(".failure")
    page.click(".failure button", "Clear the filters")
    page.wait(lambda: page.names() == first, "no way out")


def views(page):
    """Shows one view of the list after the other, and yields the name of each."""
    server = page.deployment
    members = create_group(server, "h" * 32)
    add(server, members, server.create("a-user-with-a-rather-long-name-of-fifty-letters-xx"))
    page.open("admin", "#/users?columns=id,role,groups,second_factor,last_sign_in&group=" + "h" * 32)
    page.find("td.groups", "h" * 32)
    page.click(".filters button", "More filters")
    yield "more filters"
    page.click("button", "Columns")
    page.click(".filters button", "More filters")
    yield "columns"
    page.click("td.select input")
    page.find(".above button", "Delete")
    yield "selection"
    page.go("#/users?group=no-such-group")
    page.find(".failure button")
    yield "refused"


def the_list_is_accessible_and_fits_down_to_320_pixels(page):
    for name in views(page):
        check_view(page, name, (WIDE, NARROW, SMALL))


def the_list_needs_no_mouse(page):
    page.open("admin")
    page.find("tbody tr")
    tab_to(page, "More filters")
    page.press(Keys.ENTER)
    tab_to(page, "second_factor")
    page.press("Without")
    page.find(".above p", "without a second factor")
    tab_to(page, "Columns")
    page.press(Keys.ENTER)
    tab_to(page, "created")
    page.press(Keys.SPACE)
    page.find("th", "Created")
    tab_to(page, "Name")
    page.press(Keys.ENTER)
    page.find("th.name[aria-sort=ascending]")


def a_change_in_a_filtered_list_keeps_the_focus(page):
    page.deployment.create("focus-me")
    page.open("admin", "#/users?search=focus-me&sort=username")
    page.wait(lambda: page.names() == ["focus-me"], "not found")
    page.manage("focus-me")
    page.change_role("author")
    page.wait(lambda: not page.all("dialog"), "the dialog stays")
    lists = lambda: [path for _, path, _ in page.requests() if path.startswith("/users?") and "focus-me" in path]
    page.wait(lambda: len(lists()) == 2 and not page.all("[aria-busy]"), "the list is not read again")
    assert page.script("return document.activeElement.ariaLabel") == "Manage focus-me", "the focus is lost"


CHECKS = [
    a_change_in_a_filtered_list_keeps_the_focus,
    the_first_view_makes_three_requests_and_counts_all_users,
    headings_sort_and_pages_of_a_sorted_list_go_both_ways,
    columns_are_chosen_and_kept_in_the_address,
    all_filters_are_in_the_address_and_survive_a_reload,
    dates_begin_at_midnight_of_the_person,
    a_date_that_is_typed_in_part_changes_nothing,
    what_the_address_has_wrong_does_not_break_the_list,
    the_list_is_accessible_and_fits_down_to_320_pixels,
    the_list_needs_no_mouse,
]
