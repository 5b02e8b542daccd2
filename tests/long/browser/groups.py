"""Checks of the view of groups, of the groups of a user, and of the end of an account."""

import time

from looks import check_view, tab_to
from page import NARROW, SMALL, WIDE
from selenium.webdriver.common.keys import Keys

PAGE_SIZE = 25
# A zone whose offset is neither a whole number of hours nor that of the machine.
ZONE = "America/St_Johns"


def create_group(server, name):
    """Creates a group and returns the path of its members."""
    status, group = server.api("POST", "/groups", {"name": name}, server.token())
    assert status == 201, (name, status, group)
    return f"/groups/{group['id']}/members"


def add(server, members, user, until=None):
    """Adds a user to the group whose members are at this path."""
    body = {"until": until} if until else {}
    assert server.api("PUT", f"{members}/{user}", body, server.token()) == (200, {"message": "Membership saved."})


def ends(server, members):
    """Returns the end of each membership of a group by the name of the user."""
    status, page = server.api("GET", f"{members}?limit=200", token=server.token())
    assert status == 200, page
    return {it["username"]: it["until"] and it["until"].replace(".000Z", "Z") for it in page["members"]}


def account_end(server, user):
    """Returns the end of an account."""
    page = server.api("GET", f"/users?include=groups&limit=1&after={user - 1}", token=server.token())[1]
    until = page["users"][0]["until"]
    return until and until.replace(".000Z", "Z")


def set_end(page, place, text):
    """Sets the field of the end by a script, because the order of its parts depends on the language."""
    page.script(
        "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input', { bubbles: true }))",
        page.find(f"{place} [name=until]"), text,
    )


def in_zone(page, zone):
    page.browser.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": zone})


def moment(page, time):
    """Returns the time as the page shows it in its language and time zone."""
    return page.script("return new Date(arguments[0]).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' })", time)


def open_group(page, members):
    """Opens the group whose members are at this path."""
    page.open("admin", f"#{members.removesuffix('/members')}")
    page.find("article h2")


def add_member(page, text, by="username", until=""):
    page.click("article button", "Add a member")
    page.choose("dialog [name=by]", by)
    page.type("dialog [name=username]", text)
    set_end(page, "dialog", until)
    page.click("dialog form .primary")


def close(page):
    page.press(Keys.ESCAPE)
    page.wait(lambda: not page.all("dialog"), "the dialog stays")


def a_group_is_created_and_refused_names_are_explained(page):
    server = page.deployment
    create_group(server, "taken-group")
    page.open("admin", "#/groups")
    page.find("td.name a", "taken-group")
    page.click(".bar .primary", "New group")
    for name, problem in {"Staff": "Group name must", "author": "Group name must", "taken-group": "Group already exists."}.items():
        page.type("dialog [name=name]", name)
        page.click("dialog form .primary")
        page.find("dialog .field:has([name=name]) .message.error", problem)
        assert page.find("dialog [name=name]") == page.browser.switch_to.active_element, name
    page.type("dialog [name=name]", "made-here")
    page.click("dialog form .primary")
    page.find("#notice", "The group made-here was created.")
    page.find("article h2", "made-here")
    page.find("[aria-label=Members]", "This group has no members.")
    page.click("article a", "All groups")
    row = page.find("tbody tr", "made-here")
    assert row.find_element("css selector", "td.members").text == "0"


def members_are_added_by_name_and_by_id_and_removed(page):
    server = page.deployment
    members = create_group(server, "crew")
    ann = server.create("crew-ann")
    # More users have a name that begins like this one than are on a page of the API, and some of them come before it.
    by_prefix = server.create("person01")
    open_group(page, members)
    add_member(page, "person01")
    page.find("[aria-label=Members] .message.good", "person01 is in crew without an end.")
    assert page.script("return document.activeElement.ariaLabel") == "Members", "the focus is lost"
    add_member(page, str(ann), by="id")
    page.find("[aria-label=Members] .message.good", "crew-ann is in crew without an end.")
    page.find("article .muted", "2 members")
    assert ends(server, members) == {"crew-ann": None, "person01": None}
    lines = [line.text for line in page.all("[aria-label=Members] li p")]
    assert lines == [f"crew-ann\nId {ann}, without an end", f"person01\nId {by_prefix}, without an end"], lines
    page.click("[aria-label='Remove crew-ann']")
    page.click("[aria-label='Remove: sure? crew-ann']")
    page.find("[aria-label=Members] .message.good", "crew-ann was removed from crew.")
    page.find("article .muted", "1 member")
    assert ends(server, members) == {"person01": None}


def who_cannot_be_added_is_explained_at_the_field(page):
    server = page.deployment
    members = create_group(server, "closed-club")
    user = server.create("club-member")
    add(server, members, user)
    open_group(page, members)
    page.click("article button", "Add a member")
    for by, text, problem in [
        ("username", "club-membe", "No user has this name."),
        ("username", "person", "Too many names begin with this text."),
        ("username", "club-member", "club-member is in closed-club already, without an end."),
        ("id", "club-member", "An id is a number."),
        ("id", str(user), "club-member is in closed-club already, without an end."),
    ]:
        page.choose("dialog [name=by]", by)
        page.type("dialog [name=username]", text)
        page.click("dialog form .primary")
        page.find("dialog .field:has([name=username]) .message.error", problem)
    page.type("dialog [name=username]", "999999999")
    page.click("dialog form .primary")
    page.find("dialog form > .message.error", "User not found.")
    server.create("club-guest")
    page.choose("dialog [name=by]", "username")
    page.type("dialog [name=username]", "club-guest")
    set_end(page, "dialog", "2020-01-01T12:00")
    page.click("dialog form .primary")
    page.find("dialog .field:has([name=until]) .message.error", "End must be in the future.")
    assert ends(server, members) == {"club-member": None}


def ends_are_typed_in_the_time_zone_of_the_person_and_sent_as_utc(page):
    server = page.deployment
    members = create_group(server, "contractors")
    bob = server.create("bob-until-friday")
    friday, later = "2098-12-04T20:30:00Z", "2098-12-11T13:00:00Z"
    in_zone(page, ZONE)
    try:
        open_group(page, members)
        page.click("article button", "Add a member")
        page.find("dialog .field:has([name=until]) small", ZONE)
        close(page)
        add_member(page, "bob-until-friday", until="2098-12-04T17:00")
        page.find("[aria-label=Members] .message.good", f"bob-until-friday is in contractors until {moment(page, friday)}.")
        assert ends(server, members) == {"bob-until-friday": friday}
        page.find("[aria-label=Members] li small", f"until {moment(page, friday)}")
        # What the field does not show is kept.
        add(server, members, bob, "2098-12-04T20:30:42Z")
        page.browser.refresh()
        page.click("[aria-label='Change end of bob-until-friday']")
        assert page.find("dialog [name=until]").get_attribute("value") == "2098-12-04T17:00"
        page.click("dialog form .primary")
        page.find("[aria-label=Members] .message.good")
        assert ends(server, members) == {"bob-until-friday": "2098-12-04T20:30:42Z"}
        page.click("[aria-label='Change end of bob-until-friday']")
        set_end(page, "dialog", "2098-12-11T09:30")
        page.click("dialog form .primary")
        page.find("[aria-label=Members] .message.good", f"until {moment(page, later)}")
        assert ends(server, members) == {"bob-until-friday": later}
        page.click("[aria-label='Change end of bob-until-friday']")
        set_end(page, "dialog", "")
        page.click("dialog form .primary")
        page.find("[aria-label=Members] .message.good", "bob-until-friday is in contractors without an end.")
        assert ends(server, members) == {"bob-until-friday": None}
    finally:
        in_zone(page, "")


def an_end_that_is_typed_in_part_is_not_taken_for_no_end(page):
    server = page.deployment
    members = create_group(server, "part-time")
    server.create("part-timer")
    open_group(page, members)
    page.click("article button", "Add a member")
    page.type("dialog [name=username]", "part-timer")
    page.find("dialog [name=until]").send_keys("04")
    page.click("dialog form .primary")
    page.wait(lambda: page.script("return document.activeElement.name") == "until", "no complaint about the end")
    assert ends(server, members) == {} and page.all("dialog")


def groups_and_members_have_pages(page):
    server = page.deployment
    members = create_group(server, "many-members")
    first = server.api("GET", "/users?username=person01&limit=1", token=server.token())[1]["users"][0]["id"]
    for user in range(first, first + PAGE_SIZE + 1):
        add(server, members, user)
    for number in range(PAGE_SIZE):
        create_group(server, f"page-{number:02}")
    open_group(page, members)
    lines = lambda: len(page.all("[aria-label=Members] li"))
    page.wait(lambda: lines() == PAGE_SIZE, "no full page")
    page.find("article .muted", "26 members")
    page.click(".paging button", "Next")
    page.wait(lambda: lines() == 1, "no second page")
    assert page.text(".paging p") == "Page 2: 1 member", page.text(".paging p")
    page.browser.refresh()
    page.wait(lambda: lines() == 1, "a reload shows another page")
    page.click(".paging button", "Previous")
    page.wait(lambda: lines() == PAGE_SIZE, "no way back")
    page.click("nav a", "Groups")
    page.wait(lambda: len(page.all("td.name")) == PAGE_SIZE, "no full page of groups")
    page.click(".paging button", "Next")
    page.click("td.name a", "page-24")
    page.find("article h2", "page-24")
    page.click("article a", "All groups")
    page.find("td.name a", "page-24")


def a_group_is_deleted_after_a_question_with_its_members(page):
    server = page.deployment
    members = create_group(server, "short-lived")
    for name in ("short-one", "short-two"):
        add(server, members, server.create(name))
    open_group(page, members)
    # The question has the number that is stored now.
    add(server, members, server.create("short-three"))
    page.click("article button.danger", "Delete group")
    page.find("dialog.question", "Delete the group short-lived, which has 3 members?")
    page.press(Keys.ENTER)  # The focus is on Cancel.
    page.wait(lambda: not page.all("dialog"), "the question stays")
    assert len(ends(server, members)) == 3
    page.click("article button.danger", "Delete group")
    page.click("dialog.question button.danger", "Delete")
    page.find("#notice", "short-lived was deleted.")
    page.wait(lambda: "short-lived" not in page.text("main .list"), "the list shows the deleted group")
    assert page.script("return document.activeElement.tagName") == "H1", "the focus is lost"
    assert server.api("GET", members, token=server.token())[0] == 404
    page.browser.back()
    page.find(".failure", "Group not found.")
    assert not page.all("article h2") and not page.all("article .danger"), "the deleted group is shown"


def a_group_that_a_key_names_stays_and_the_keys_are_named(page):
    server = page.deployment
    members = create_group(server, "needed")
    server.create("key-owner")
    status, key = server.api("POST", "/profile/keys", {"name": "ci", "groups": ["needed"]}, server.token("key-owner"))
    assert status == 201, key
    open_group(page, members)
    page.click("article button.danger", "Delete group")
    page.find("dialog.question", "which has 0 members?")
    page.click("dialog.question button.danger", "Delete")
    page.find("article .message.error", "Group is named by API keys: ci (key-owner)")
    assert server.api("GET", members, token=server.token())[0] == 200


def a_group_that_does_not_exist_is_explained(page):
    page.open("admin", "#/groups/999999999")
    page.find(".failure", "Group not found.")
    assert not page.all("article h2") and not page.all("article .primary")


def the_groups_of_a_user_are_in_the_dialog(page):
    server = page.deployment
    user = server.create("in-groups")
    staff, shop = create_group(server, "staff"), create_group(server, "shop")
    add(server, staff, user, "2098-12-04T20:30:00Z")
    page.open("admin")
    page.manage("in-groups")
    page.part("Groups")
    place = "dialog [aria-label=Groups]"
    page.find(f"{place} li", "staff")
    page.click("dialog button", "Add to a group")
    page.find("dialog [name=group]")
    groups = [option.text for option in page.all("dialog [name=group] option")]
    assert "shop" in groups and "staff" not in groups and groups == sorted(groups), groups
    page.choose("dialog [name=group]", shop.split("/")[2])
    page.click("dialog[aria-label='Add in-groups to a group'] form .primary")
    page.find(f"{place} .message.good", "in-groups is in shop without an end.")
    assert page.script("return document.activeElement.ariaLabel") == "Groups", "the focus is lost"
    assert ends(server, shop) == {"in-groups": None}
    page.click(f"{place} [aria-label='Change end of staff']")
    set_end(page, "dialog[aria-label='in-groups in staff']", "")
    page.click("dialog[aria-label='in-groups in staff'] form .primary")
    page.find(f"{place} .message.good", "in-groups is in staff without an end.")
    assert ends(server, staff) == {"in-groups": None}
    page.click(f"{place} .message button", "Undo")
    page.find(f"{place} .message.good", "in-groups is in staff until ")
    assert list(ends(server, staff)) == ["in-groups"] and ends(server, staff)["in-groups"].startswith("2098-12-04T20:30:00")
    page.find(f"{place} li", "shop")
    page.click(f"{place} [aria-label='Remove shop']")
    page.click(f"{place} [aria-label='Remove: sure? shop']")
    page.click(f"{place} .message button", "Undo")
    page.find(f"{place} .message.good", "in-groups is in shop without an end.")
    assert ends(server, shop) == {"in-groups": None}
    # The page must not overwrite what another admin has changed meanwhile.
    page.click(f"{place} [aria-label='Remove shop']")
    page.click(f"{place} [aria-label='Remove: sure? shop']")
    page.find(f"{place} .message button", "Undo")
    add(server, shop, user, "2098-12-04T20:30:00Z")
    page.click(f"{place} .message button", "Undo")
    page.find(f"{place} .message.error", "Not undone: the membership has since been changed.")
    close(page)
    page.manage("in-groups")
    page.part("Groups")
    for group in ("shop", "staff"):
        page.click(f"{place} [aria-label='Remove {group}']")
        page.click(f"{place} [aria-label='Remove: sure? {group}']")
        page.find(f"{place} .message.good", f"in-groups was removed from {group}.")
    page.find(place, "The user is in no group.")
    assert ends(server, staff) == ends(server, shop) == {}


def the_end_of_an_account_is_set_and_removed(page):
    server = page.deployment
    user = server.create("ends-some-day")
    end = "2098-12-04T20:30:00Z"
    in_zone(page, ZONE)
    try:
        page.open("admin")
        page.manage("ends-some-day")
        page.part("Access")
        place = "dialog [aria-label='End of the account']"
        set_end(page, place, "2020-01-01T12:00")
        page.click(f"{place} button")
        page.find(f"{place} .field .message.error", "End must be in the future.")
        set_end(page, place, "2098-12-04T17:00")
        page.click(f"{place} button")
        page.find("#notice", f"The account of ends-some-day ends on {moment(page, end)}.")
        assert account_end(server, user) == end
        page.browser.refresh()
        page.manage("ends-some-day")
        page.part("Access")
        assert page.find(f"{place} [name=until]").get_attribute("value") == "2098-12-04T17:00"
        set_end(page, place, "")
        page.click(f"{place} button")
        page.find("#notice", "The account of ends-some-day has no end.")
        assert account_end(server, user) is None
    finally:
        in_zone(page, "")


def an_account_that_has_ended_is_not_enabled_but_gets_another_end(page):
    server = page.deployment
    user = server.create("ended-by-now")
    end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 2))
    assert server.api("PATCH", f"/users/{user}", {"until": end}, server.token())[0] == 200
    server.wait(lambda: server.api("GET", f"/users/{user}", token=server.token())[1]["disabled"])
    page.open("admin")
    page.manage("ended-by-now")
    page.part("Access")
    page.click("dialog button", "Enable")
    page.find("dialog .message", "ended-by-now stays disabled, because the account has ended.")
    set_end(page, "dialog [aria-label='End of the account']", "")
    page.click("dialog button", "Set end")
    page.find("#notice", "The account of ended-by-now has no end.")
    page.wait(lambda: not page.all("td .chip"), "the list shows a disabled user")
    assert not server.api("GET", f"/users/{user}", token=server.token())[1]["disabled"]


def an_own_end_is_asked_and_is_not_offered_to_the_last_admin(page):
    server = page.deployment
    user = server.create("ends-too", "admin")
    page.open("ends-too")
    page.manage("ends-too")
    page.part("Access")
    place = "dialog [aria-label='End of the account']"
    set_end(page, place, "2098-12-04T17:00")
    page.click(f"{place} button")
    page.find("dialog.question", "You are about to set an end of your own account.")
    page.click("dialog.question button", "Cancel")
    page.wait(lambda: not page.all("dialog.question"), "the question stays")
    assert account_end(server, user) is None
    page.click(f"{place} button")
    page.click("dialog.question button", "Set end")
    page.find("#notice", "The account of ends-too ends on")
    assert account_end(server, user) is not None
    # An admin whose account ends is none who would be left.
    for other in server.api("GET", "/users?role=admin", token=server.token())[1]["users"]:
        if other["username"] not in ("admin", "ends-too"):
            assert server.api("DELETE", f"/users/{other['id']}", token=server.token())[0] == 200
    page.open("admin")
    page.manage("admin")
    page.find("dialog", "You are the only enabled admin without an end")
    assert not page.all(place)
    assert server.api("DELETE", f"/users/{user}", token=server.token())[0] == 200


def names_in_groups_that_look_like_html_are_text(page):
    server = page.deployment
    name = "<img src=y onerror=alert(1)>"
    members = create_group(server, "html-names")
    add(server, members, server.create(name))
    open_group(page, members)
    page.find("[aria-label=Members] li", name)
    page.click("[aria-label=Members] li button", "Change end")
    page.find("dialog h2", name)
    close(page)
    page.click("[aria-label=Members] li button", "Remove")
    page.click("[aria-label=Members] li button.danger")
    page.find("[aria-label=Members] .message.good", name)
    assert page.script("return document.querySelectorAll('img[onerror], [src=y]').length") == 0


def views(page):
    """Shows one view of groups after the other, and yields the name of each."""
    server = page.deployment
    long_name, long_user = "g" * 32, "a-member-with-a-rather-long-name-of-fifty-letters"
    members = create_group(server, long_name)
    user = server.create(long_user)
    add(server, members, user, "2098-12-04T20:30:00Z")
    page.open("admin", "#/groups")
    page.find("td.name a", long_name)
    yield "groups"
    page.click(".bar .primary")
    page.type("dialog [name=name]", "Not a name")
    page.click("dialog form .primary")
    page.find("dialog .field .message.error")
    yield "new group"
    close(page)
    page.click("td.name a", long_name)
    page.click(f"[aria-label='Remove {long_user}']")
    page.find(f"[aria-label='Remove: sure? {long_user}']")
    yield "group"
    add_member(page, long_user)
    page.find("dialog .field .message.error", "already")
    yield "new member"
    close(page)
    page.click("article button.danger", "Delete group")
    page.find("dialog.question")
    yield "question"
    page.press(Keys.ESCAPE)
    page.go("#/groups/999999999")
    page.find(".failure")
    yield "no group"
    page.go("#/users")
    page.manage(long_user)
    page.part("Groups")
    page.find("dialog [aria-label=Groups] li", long_name)
    yield "groups of a user"
    page.part("Access")
    yield "end of an account"


def the_views_of_groups_are_accessible_and_fit_down_to_320_pixels(page):
    for name in views(page):
        check_view(page, name, (WIDE, NARROW, SMALL))


def groups_need_no_mouse(page):
    server = page.deployment
    server.create("by-keyboard")
    page.open("admin", "#/groups")
    page.find("main .list")
    tab_to(page, "New group")
    page.press(Keys.ENTER)
    page.find("dialog [name=name]")
    page.press("keyboard-group", Keys.ENTER)
    page.find("article h2", "keyboard-group")
    page.find("[aria-label=Members]", "This group has no members.")
    tab_to(page, "Add a member")
    page.press(Keys.ENTER)
    tab_to(page, "username")
    page.press("by-keyboard", Keys.ENTER)
    page.find("[aria-label=Members] .message.good", "by-keyboard is in keyboard-group")
    tab_to(page, "Remove", within="Members")
    page.press(Keys.ENTER)
    page.press(Keys.ENTER)
    page.find("[aria-label=Members] .message.good", "by-keyboard was removed from keyboard-group.")
    tab_to(page, "Delete group")
    page.press(Keys.ENTER)
    page.find("dialog.question")
    tab_to(page, "Delete")
    page.press(Keys.ENTER)
    page.find("#notice", "keyboard-group was deleted.")


CHECKS = [
    a_group_is_created_and_refused_names_are_explained,
    members_are_added_by_name_and_by_id_and_removed,
    who_cannot_be_added_is_explained_at_the_field,
    ends_are_typed_in_the_time_zone_of_the_person_and_sent_as_utc,
    an_end_that_is_typed_in_part_is_not_taken_for_no_end,
    a_group_is_deleted_after_a_question_with_its_members,
    a_group_that_a_key_names_stays_and_the_keys_are_named,
    a_group_that_does_not_exist_is_explained,
    the_groups_of_a_user_are_in_the_dialog,
    the_end_of_an_account_is_set_and_removed,
    an_account_that_has_ended_is_not_enabled_but_gets_another_end,
    an_own_end_is_asked_and_is_not_offered_to_the_last_admin,
    names_in_groups_that_look_like_html_are_text,
    the_views_of_groups_are_accessible_and_fit_down_to_320_pixels,
    groups_need_no_mouse,
    # Later checks would not find their groups on the first page.
    groups_and_members_have_pages,
]
