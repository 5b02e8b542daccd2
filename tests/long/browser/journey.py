"""Checks the work of an administrator from one view to the next, as it is done in a week."""

from bulk import close, results, select_page
from csv_files import choose_file, export, user_named
from groups import create_group, set_end
from user_list import set_date


def an_administrator_does_the_work_of_a_week(page):
    server = page.deployment
    members = create_group(server, "journey")
    names = {f"journey-{number:02}" for number in range(30)}
    page.open("admin")
    page.find("tbody tr")

    # Thirty people are created from a file.
    choose_file(page, "username,role\n" + "".join(f"{name},author\n" for name in names))
    page.click("dialog .primary", "Create 30 users")
    assert set(results(page)) == names
    page.click("dialog .actions button", "Done")
    page.click("dialog button", "Close without saving")

    # One of them signs in.
    password = f"/users/{user_named(server, 'journey-07')['id']}/password"
    assert server.api("PUT", password, {"password": "chosen today"}, server.token())[0] == 200
    server.token("journey-07", "chosen today")

    # They are in a group until tomorrow.
    page.type("[type=search]", "journey")
    page.find(".above p", "30 users whose name contains “journey”")
    select_page(page)
    page.click(".above button", "Select all 30 that match")
    page.click(".above button", "Add to group")
    page.find("dialog [name=group] option", "journey")
    page.choose("dialog [name=group]", members.split("/")[2])
    tomorrow = page.script("return new Date(Date.now() + 86400000).toLocaleString('sv').slice(0, 16).replace(' ', 'T')")
    set_end(page, "dialog", tomorrow)
    page.click("dialog form .primary")
    assert all(text.startswith("Is in journey until ") for text in results(page).values())
    close(page)

    # The others, who have not been here since March, are disabled. A sign-in is in the list within a minute.
    query = "/users?search=journey&not_since=2026-03-01&total=true&limit=1"
    server.wait(lambda: server.api("GET", query, token=server.token())[1]["total"] == 29)
    page.click(".filters button", "More filters")
    set_date(page, "not_since", "2026-03-01")
    page.find(".above p", "29 users whose name contains “journey”, not signed in since")
    assert "journey-07" not in page.names()
    select_page(page)
    page.click(".above button", "Select all 29 that match")
    page.click(".above button", "Disable")
    page.click("dialog form button:last-child", "Disable 29 users")
    assert set(results(page)) == names - {"journey-07"}
    close(page)

    # Who is in the group is saved as a file.
    page.go("#/users?group=journey&sort=username")
    page.find(".above p", "30 users in the group journey")
    header, rows = export(page)
    is_disabled = {row[header.index("username")]: row[header.index("disabled")] for row in rows}
    assert is_disabled == {name: "false" if name == "journey-07" else "true" for name in names}, is_disabled

    # The record says who changed a role in the last days.
    token = server.token()
    assert server.api("PUT", f"/users/{user_named(server, 'journey-07')['id']}/role", {"role": "user"}, token)[0] == 200
    page.click("nav a", "Audit")
    page.choose("[name=event]", "role_changed")
    since = page.script("return new Date(Date.now() - 7 * 86400000).toLocaleDateString('sv')")
    page.script(
        "const it = document.querySelector('[name=since]'); it.value = arguments[0]; it.dispatchEvent(new Event('change'))", since
    )
    page.wait(lambda: "journey-07" in page.text("tbody tr") and "from: author, to: user" in page.text("tbody tr"), "not the role")
    assert "admin" in page.text("tbody tr td.actor")


CHECKS = [an_administrator_does_the_work_of_a_week]
