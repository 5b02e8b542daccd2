"""Checks of the views of the record: all entries for admins, and a user's own entries on the account page."""

import csv
import json
import shutil
import tempfile
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from deployment import PASSWORD
from looks import check_view
from page import NARROW, SMALL, WIDE
from selenium.webdriver.common.keys import Keys

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
    page.find(".chip", f"User: looked-at, id {user}")
    changed = page.all("tbody tr")[1]
    cells = [cell.text for cell in changed.find_elements("css selector", "td")]
    assert cells[0] == "Role changed\nfrom: user, to: author" and cells[1] == f"looked-at\nId {user}", cells
    assert cells[2].split("\n")[:2] == ["admin", "Id 1"] and cells[3] == "127.0.0.1", cells
    time = changed.find_element("css selector", "time")
    exact = time.get_attribute("datetime")
    assert exact.endswith("Z") and time.get_attribute("title") == exact
    assert f":{exact[17:19]}" in time.text, "the seconds are missing"
    page.click(".chip button")
    page.wait(lambda: page.browser.current_url.endswith("#/audit"), "the filter stays")
    assert not page.all(".chips .chip") and page.script("return document.activeElement.textContent").startswith("Filters")


def filters_narrow_the_record_and_are_in_the_address(page):
    server = page.deployment
    user = server.create("filtered-for")
    promote_and_disable(server, user)
    page.open("admin", "#/audit")
    page.find("tbody tr")
    page.type("[name=username]", "filtered-for")
    page.wait(lambda: len(events(page)) == 3, "not the user")
    page.choose("[name=event]", "role_changed")
    page.wait(lambda: events(page) == ["Role changed"], "not the event")
    page.browser.refresh()
    page.wait(lambda: events(page) == ["Role changed"], "the filters are lost")
    assert page.browser.current_url.endswith("#/audit?username=filtered-for&event=role_changed"), page.browser.current_url
    page.find("button", "Filters (2)")
    page.choose("[name=event]", "session_ended")
    page.find(".state", "No entries match the filters.")
    page.browser.back()
    page.wait(lambda: events(page) == ["Role changed"], "Back leads elsewhere")
    page.click("td.actor a", "admin")
    page.wait(lambda: page.browser.current_url.endswith("?actor_id=1") and len(events(page)) > 3, "not what the actor did")
    page.find(".chip", "By: admin, id 1")
    assert page.find("[name=username]").get_attribute("value") == ""
    page.type("[name=actor]", "filtered-for")
    page.click(".state button", "Clear the filters")
    page.wait(lambda: len(events(page)) > 3, "the filters stay")


def groups_of_events_and_days_survive_a_reload(page):
    server = page.deployment
    user = server.create("by-day")
    promote_and_disable(server, user)
    today = page.script("return new Date().toLocaleDateString('sv')")
    page.open("admin", "#/audit?actor=admin")
    page.find("tbody tr")
    page.choose("[name=event]", "changes")
    page.wait(lambda: events(page)[:2] == ["User disabled", "Role changed"], "not the changes")
    page.script("for (const name of ['since', 'until']) { const it = document.querySelector(`[name=${name}]`);"
                " it.value = arguments[0]; it.dispatchEvent(new Event('change')); }", today)
    page.wait(lambda: "until=" in page.browser.current_url and events(page)[:1] == ["User disabled"], "not today")
    assert page.browser.current_url.endswith(f"#/audit?actor=admin&events=changes&since={today}&until={today}"), page.browser.current_url
    page.browser.refresh()
    page.wait(lambda: events(page)[:2] == ["User disabled", "Role changed"], "the filters are lost")
    values = [page.find(f"[name={name}]").get_attribute("value") for name in ("actor", "event", "since", "until")]
    assert values == ["admin", "changes", today, today], values
    asked = dict(parse_qsl(urlsplit(page.requests()[0][1]).query))
    begins = page.script("return new Date(`${arguments[0]}T00:00`).toISOString().replace('.000', '')", today)
    assert asked["events"] == "changes" and asked["since"] == begins and asked["before"] > begins, asked
    page.go("#/audit?actor=admin&events=refusals")
    page.find(".state", "No entries match the filters.")
    page.go(f"#/audit?until=2020-01-01")
    page.find(".state", "No entries match the filters.")


def malformed_filters_in_the_address_break_nothing(page):
    page.open("admin", "#/audit")
    page.find("tbody tr")
    for address in ("since=yesterday&until=2026-13-41", "since=2026-02-31", "event=nonsense", "events=__proto__", "event=constructor&since=%00",
                    "after=-1", "after=x&page=y", "since=9999-12-31T00:00", "%E0%A4%A&=&&"):
        page.go(f"#/audit?{address}")
        page.wait(lambda: page.all("tbody tr") and not page.all(".list[aria-busy=true]"), address)
    page.go("#/audit?until=9999-12-31")
    page.find("tbody tr")
    for address in ("user_id=admin", "actor_id=-1", "user_id=1&after=99999999999999999999999"):
        page.go(f"#/audit?{address}")
        page.find(".failure")
        page.click(".failure button", "Clear the filters")
        page.find("tbody tr")
        assert page.browser.current_url.endswith("#/audit"), page.browser.current_url


def imported(number, **changed):
    """An entry of an import, as the API gives it."""
    entry = {"revision": number, "time": f"2026-03-01T10:00:{number % 60:02}.000Z", "event": "user_imported", "user_id": number,
             "username": f"imported{number:05}", "actor_id": None, "actor": None, "actor_key": None, "actor_session": None,
             "client_address": None, "request_id": None, "details": {"by": "operator", "role": "user"}}
    return {**entry, **changed}


def with_entries(page, entries):
    """Lets the page read these entries, the newest first, in place of the record. Returns a function that ends this."""
    return page.inject(
        "{ const { fetch } = window; const all = " + json.dumps(entries) + "; window.fetch = (path, ...rest) => {"
        "  const url = new URL(path, location.origin);"
        "  if (url.pathname !== '/audit') return fetch(path, ...rest);"
        "  const after = Number(url.searchParams.get('after')), limit = Number(url.searchParams.get('limit'));"
        "  const left = all.filter((it) => !after || it.revision < after), entries = left.slice(0, limit);"
        "  return Promise.resolve(Response.json({ entries, next: left.length > limit ? entries.at(-1).revision : null }));"
        "}; }"
    )


def an_import_is_one_row_that_opens(page):
    before = [imported(number, event="role_changed", details={"from": "user", "to": "author"}) for number in range(1, 31)]
    people = [imported(number) for number in range(31, 1_031)]
    others = [imported(number, event=event, actor_id=1, actor="admin", actor_session=7, details={})
              for number, event in enumerate(["user_created", "membership_set", "user_created", "password_link_created"], 1_031)]
    # Another session, and too few to be folded.
    few = [imported(number, event="user_created", actor_id=1, actor="admin", actor_session=8, details={}) for number in (1_035, 1_036)]
    page.open("admin")
    page.find("tbody tr")
    stop = with_entries(page, [*before, *people, *others, *few][::-1])
    page.go("#/audit")
    page.browser.refresh()
    stop()
    page.find("tbody tr")
    titles = [it for it in events(page)]
    assert titles[:4] == ["User created", "User created", "2 users created, with 2 further entries", "1,000 users imported"], titles
    assert titles[4:] == ["Role changed"] * 19, titles
    assert page.text(".paging p") == "Page 1: 1,025 entries", page.text(".paging p")
    assert len([it for it in page.requests() if it[1].startswith("/audit")]) == 6, page.requests()
    fold = page.all("tr.fold")[0]
    assert "from " in fold.text and " to " in fold.text and "admin" in fold.text, fold.text
    trigger = fold.find_element("css selector", "button")
    assert trigger.get_attribute("aria-expanded") == "false"
    trigger.send_keys(Keys.ENTER)
    assert trigger.get_attribute("aria-expanded") == "true"
    assert [it.text.split("\n")[0] for it in page.all("tr.folded td.event")] == [
        "Password link created", "User created", "Added to a group", "User created"
    ]
    trigger.send_keys(Keys.ENTER)
    assert not page.all("tr.folded") and trigger.get_attribute("aria-expanded") == "false"
    page.click(".paging button", "Next")
    page.wait(lambda: events(page) == ["Role changed"] * 11, "the next page does not begin after the rows of the first")
    page.go("#/audit?event=user_imported")
    page.wait(lambda: len(events(page)) == PAGE_SIZE and not page.all("tr.fold"), "a single event is folded")


def links_alone_are_no_import(page):
    links = [imported(number, event="password_link_created", actor_id=1, actor="admin", details={}) for number in range(1, 6)]
    page.open("admin")
    page.find("tbody tr")
    stop = with_entries(page, links[::-1])
    page.go("#/audit")
    page.browser.refresh()
    stop()
    page.wait(lambda: events(page) == ["Password link created"] * 5, "not each link")


def the_entries_of_a_fold_that_has_no_end_are_not_all_read(page):
    page.open("admin")
    page.find("tbody tr")
    stop = with_entries(page, [imported(number) for number in range(1, 3_001)][::-1])
    page.go("#/audit")
    page.browser.refresh()
    stop()
    page.find("tr.fold", "2,025 users imported")
    assert len([it for it in page.requests() if it[1].startswith("/audit")]) == 11
    page.click(".paging button", "Next")
    page.find("tr.fold", "975 users imported")


def an_export_contains_what_the_filters_find_and_no_formula(page):
    server = page.deployment
    name = "=cmd|'/c calc'!A1"
    user = server.create(name)
    promote_and_disable(server, user)
    folder = tempfile.mkdtemp()
    page.browser.execute_cdp_cmd("Page.setDownloadBehavior", {"behavior": "allow", "downloadPath": folder})
    page.open("admin", f"#/audit?user_id={user}&events=changes")
    page.wait(lambda: len(events(page)) == 3, "not the user")
    page.click(".bar button", "Export CSV")
    page.find("dialog", "3 entries are in the file audit-")
    server.wait(lambda: list(Path(folder).glob("audit-*.csv")))
    [file] = Path(folder).glob("audit-*.csv")
    rows = list(csv.DictReader(file.read_text(encoding="utf-8-sig").splitlines()))
    assert [row["event"] for row in rows] == ["user_disabled", "role_changed", "user_created"], rows
    assert {row["username"] for row in rows} == {f"'{name}"} and json.loads(rows[1]["details"]) == {"from": "user", "to": "author"}, rows
    assert rows[0]["actor"] == "admin" and rows[0]["time"].endswith("Z"), rows
    page.click("dialog button", "Done")
    page.wait(lambda: not page.all("dialog"), "the dialog stays")
    assert page.script("return document.activeElement.textContent") == "Export CSV"
    shutil.rmtree(folder)


def an_export_can_be_stopped_and_says_what_it_leaves_out(page):
    page.open("admin")
    page.find("tbody tr")
    # Each page has as many entries as the request asks for.
    stop = page.inject(
        "{ const { fetch } = window; window.fetch = async (path, ...rest) => {"
        "  const url = new URL(path, location.origin); if (url.pathname !== '/audit') return fetch(path, ...rest);"
        "  if (window.isSlow) await new Promise((done) => setTimeout(done, 300));"
        "  const limit = Number(url.searchParams.get('limit')), entry = " + json.dumps(imported(1, event="login_ok")) + ";"
        "  return Response.json({ entries: Array(limit).fill(entry), next: 1 }); };"
        " URL.createObjectURL = (it) => { it.text().then((text) => (window.lines = text.split('\\r\\n').length)); return 'about:blank'; }; }"
    )
    page.go("#/audit")
    page.browser.refresh()
    stop()
    page.find("tbody tr")
    page.script("window.isSlow = true")
    page.click(".bar button", "Export CSV")
    page.find("dialog .progress", "200 entries")
    assert page.script("return document.activeElement.textContent") == "Stop"
    page.press(Keys.ENTER)
    page.wait(lambda: not page.all("dialog"), "the export does not stop")
    page.script("window.isSlow = false; HTMLAnchorElement.prototype.click = () => {}")
    page.click(".bar button", "Export CSV")
    page.find("dialog", "100,000 entries are in the file")
    page.find("dialog", "There are more: older entries are not in the file.")
    page.wait(lambda: page.script("return window.lines") == 100_002, "not all lines")


def on_a_phone_the_rows_come_before_the_filters(page):
    page.open("admin")
    page.find("tbody tr")
    page.resize(SMALL)
    page.go("#/audit")
    page.browser.refresh()
    page.find("tbody tr")
    assert not page.all("[name=username]")
    assert page.find("tbody tr").rect["y"] < SMALL[1] / 2, page.find("tbody tr").rect
    page.click(".bar button", "Filters")
    page.find("[name=username]")
    assert page.script("return document.documentElement.scrollWidth") <= SMALL[0]
    page.type("[name=actor]", "admin")
    page.find(".bar button", "Filters (1)")
    page.click(".bar button", "Filters")
    assert not page.all("[name=username]")


def the_record_is_accessible_and_fits_down_to_320_pixels(page):
    server = page.deployment
    long_name = "a-person-in-the-record-with-a-name-of-fifty-letters"
    user = server.create(long_name)
    page.open("admin")
    page.find("tbody tr")
    stop = with_entries(page, [imported(number, username=long_name) for number in range(1, 8)][::-1])
    page.go(f"#/audit?actor_id={user}")
    page.browser.refresh()
    stop()
    page.click("tr.fold button")
    check_view(page, "folded", (WIDE, NARROW, SMALL))
    page.go(f"#/audit?user_id={user}&events=changes")
    page.browser.refresh()
    page.find(".chip", long_name)
    check_view(page, "filtered", (WIDE, NARROW, SMALL))
    page.resize(SMALL)
    page.browser.refresh()
    page.click(".bar button", "Filters")
    check_view(page, "filters on a phone", (SMALL,))
    page.click(".bar button", "Export CSV")
    page.find("dialog", "in the file")
    check_view(page, "export", (WIDE, SMALL))


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
    name = "<img src=record onerror=alert(1)>"
    user = page.deployment.create(name)
    page.open("admin", f"#/audit?user_id={user}")
    page.find("td.user", name)
    assert page.script("return document.querySelectorAll('img[onerror], [src=record]').length") == 0


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
    groups_of_events_and_days_survive_a_reload,
    malformed_filters_in_the_address_break_nothing,
    an_import_is_one_row_that_opens,
    links_alone_are_no_import,
    the_entries_of_a_fold_that_has_no_end_are_not_all_read,
    an_export_contains_what_the_filters_find_and_no_formula,
    an_export_can_be_stopped_and_says_what_it_leaves_out,
    on_a_phone_the_rows_come_before_the_filters,
    the_record_is_accessible_and_fits_down_to_320_pixels,
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
