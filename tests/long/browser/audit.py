"""Checks of the views of the record: all entries for admins, and a user's own entries on the account page."""

from deployment import PASSWORD

PAGE_SIZE, OWN_SIZE = 25, 10


def events(page):
    return [cell.text.split("\n")[0] for cell in page.all("td.event")]


def own_events(page):
    return [line.text.split("\n")[0] for line in page.all("[aria-label='Where you signed in'] li p")]


def promote_and_disable(server, user):
    token = server.token()
    for path, method, body in [("/role", "PUT", {"role": "author"}), ("", "PATCH", {"disabled": True})]:
        assert server.api(method, f"/users/{user}{path}", body, token)[0] == 200


def the_dialog_of_a_user_leads_to_what_happened_to_them(page):
    server = page.deployment
    user = server.create("looked-at")
    promote_and_disable(server, user)
    page.open("admin")
    page.manage("looked-at")
    page.click("dialog a", "What happened")
    page.wait(lambda: events(page) == ["User disabled", "Role changed", "User created"], "not what happened")
    assert not page.all("dialog") and page.script("return document.activeElement.textContent") == "Audit"
    assert page.find("[aria-label='User id']").get_attribute("value") == str(user)
    changed = page.all("tbody tr")[1]
    cells = [cell.text for cell in changed.find_elements("css selector", "td")]
    assert cells[0] == "Role changed\nfrom: user, to: author" and cells[1] == "looked-at", cells
    assert cells[2].split("\n")[0] == "admin" and cells[3] == "127.0.0.1", cells
    assert changed.find_element("css selector", "time").get_attribute("datetime").endswith("Z")


def filters_narrow_the_record_and_are_in_the_address(page):
    server = page.deployment
    user = server.create("filtered-for")
    promote_and_disable(server, user)
    page.open("admin", "#/audit")
    page.find("tbody tr")
    page.type("[aria-label='User id']", str(user))
    page.wait(lambda: len(events(page)) == 3, "not the user")
    page.choose("[aria-label=Event]", "role_changed")
    page.wait(lambda: events(page) == ["Role changed"], "not the event")
    page.browser.refresh()
    page.wait(lambda: events(page) == ["Role changed"], "the filters are lost")
    assert page.browser.current_url.endswith(f"#/audit?user_id={user}&event=role_changed"), page.browser.current_url
    page.choose("[aria-label=Event]", "session_ended")
    page.find(".state", "No entries match the filters.")
    page.browser.back()
    page.wait(lambda: events(page) == ["Role changed"], "Back leads elsewhere")
    page.click("td.actor a", "admin")
    page.wait(lambda: "?actor_id=" in page.browser.current_url and len(events(page)) > 3, "not what the actor did")
    assert page.find("[aria-label='User id']").get_attribute("value") == ""
    page.type("[aria-label='Actor id']", str(user))
    page.click(".state button", "Clear the filters")
    page.wait(lambda: len(events(page)) > 3, "the filters stay")


def what_is_no_id_is_refused_with_the_reason(page):
    page.open("admin", "#/audit")
    page.find("tbody tr")
    page.type("[aria-label='User id']", "admin")
    page.find(".failure", "must be a whole number")
    assert page.find("[aria-label='User id']").get_attribute("value") == "admin"
    page.type("[aria-label='User id']", "1")
    page.find("tbody tr")


def pages_of_the_record_go_both_ways(page):
    server = page.deployment
    user = server.create("changes-often")
    token = server.token()
    for turn in range(PAGE_SIZE + 3):
        assert server.api("PATCH", f"/users/{user}", {"disabled": turn % 2 == 0}, token)[0] == 200
    page.open("admin", f"#/audit?user_id={user}")
    page.wait(lambda: len(events(page)) == PAGE_SIZE, "no full page")
    assert events(page)[0] == "User enabled", "not the newest first"
    page.click(".paging button", "Next")
    page.wait(lambda: events(page)[-1] == "User created", "no second page")
    assert page.text(".paging p") == "Page 2: 4 entries", page.text(".paging p")
    assert page.find(".paging button", "Next").get_attribute("aria-disabled") == "true"
    page.click(".paging button", "Previous")
    page.wait(lambda: len(events(page)) == PAGE_SIZE, "no way back")


def a_name_in_the_record_that_looks_like_html_is_text(page):
    name = "<img src=y onerror=alert(1)>"
    user = page.deployment.create(name)
    page.open("admin", f"#/audit?user_id={user}")
    page.find("td.user", name)
    assert page.script("return document.querySelectorAll('img[onerror], [src=y]').length") == 0


def the_record_is_for_admins(page):
    page.deployment.create("not-for-me")
    page.open("not-for-me", "#/audit")
    page.find("[aria-label='Where you signed in'] li")
    asked = page.script("return performance.getEntriesByType('resource').map((it) => new URL(it.name).pathname)")
    assert "/profile/audit" in asked and "/audit" not in asked, asked


def a_failure_of_the_record_can_be_tried_again(page):
    page.open("admin")
    page.find("tbody tr")
    stop = page.inject(
        "{ const { fetch } = window; let count = 0; window.fetch = (path, ...rest) => path.startsWith('/audit') && !count++"
        " ? Response.json({detail: 'Service temporarily unavailable.'}, {status: 503}) : fetch(path, ...rest) }"
    )
    page.browser.refresh()
    stop()
    page.click("nav a", "Audit")
    page.find(".failure", "Service temporarily unavailable.")
    page.click(".failure button", "Try again")
    page.find("td.event")


def users_see_what_happened_to_themselves_in_pages(page):
    server = page.deployment
    user = server.create("looks-back")
    token = server.token()
    for turn in range(OWN_SIZE):
        assert server.api("PUT", f"/users/{user}/role", {"role": "author" if turn % 2 == 0 else "user"}, token)[0] == 200
    assert server.api("POST", "/login", {"username": "looks-back", "password": PASSWORD + "?"})[0] == 401
    page.open("looks-back")

    # Sign-ins are recorded after the response.
    def are_recorded():
        page.browser.refresh()
        page.find("[aria-label='Where you signed in'] li")
        return {"Signed in", "Password refused"} <= set(own_events(page))

    page.wait(are_recorded, "the sign-ins are missing")
    # A sign-in that sets two cookies creates two sessions, but is shown as one line.
    shown = own_events(page)
    assert len(shown) == OWN_SIZE - 1 and shown.count("Signed in") == 1, shown
    lines = page.all("[aria-label='Where you signed in'] li")
    signed_in = next(line.text for line in lines if line.text.startswith("Signed in"))
    assert "from 127.0.0.1" in signed_in and " by " not in signed_in, signed_in
    changed = next(line.text for line in lines if line.text.startswith("Role changed"))
    assert "by admin" in changed and "127.0.0.1" not in changed, changed
    page.click("[aria-label='Where you signed in'] button", "Older")
    page.wait(lambda: own_events(page)[-1] == "User created", "no older page")
    page.click("[aria-label='Where you signed in'] button", "Newest")
    page.wait(lambda: own_events(page) == shown, "no way back")


CHECKS = [
    the_dialog_of_a_user_leads_to_what_happened_to_them,
    filters_narrow_the_record_and_are_in_the_address,
    what_is_no_id_is_refused_with_the_reason,
    pages_of_the_record_go_both_ways,
    a_name_in_the_record_that_looks_like_html_is_text,
    the_record_is_for_admins,
    a_failure_of_the_record_can_be_tried_again,
    users_see_what_happened_to_themselves_in_pages,
]

# The checks that must also pass at a sign-in host.
AT_EVERY_HOST = [
    users_see_what_happened_to_themselves_in_pages,
]
