"""Checks of users that are created from a CSV file, and of lists that are saved as one."""

import csv
from pathlib import Path
from tempfile import TemporaryDirectory

from bulk import close, downloaded, downloads, intercept, leaving_asks, results
from groups import account_end, create_group, ends, in_zone
from looks import check_view
from page import NARROW, SMALL, WIDE
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

USERS_PAGE = 200


def choose_file(page, content):
    """Opens the import, unless it is open, and chooses a file with this content."""
    if not page.all("dialog"):
        page.click(".bar button", "Import users")
    elif not page.all("dialog [type=file]"):
        page.click("dialog button", "Choose another file")
    page.find("dialog [type=file]")
    with TemporaryDirectory() as folder:
        file = Path(folder) / "people.csv"
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        page.browser.find_element(By.CSS_SELECTOR, "dialog [type=file]").send_keys(str(file))
        page.wait(lambda: not page.all("dialog [type=file]") and not page.all("dialog progress"), "the file is not read")


def user_named(server, name):
    users = server.api("GET", f"/users?username={name}&include=groups", token=server.token())[1]["users"]
    return next((user for user in users if user["username"] == name), None)


def rows_of(text):
    return list(csv.reader(text.removeprefix("\ufeff").splitlines()))


def export(page):
    """Saves the list that is shown, and returns the header and the rows of the file."""
    with TemporaryDirectory() as folder:
        downloads(page, folder)
        page.click(".above button", "Export CSV")
        page.find("dialog p", "in the file users-")
        text = downloaded(page, folder)
    page.click("dialog button", "Done")
    page.wait(lambda: not page.all("dialog"), "the dialog stays")
    assert text.startswith("\ufeff") and text.count("\r\n") == text.count("\n"), text[:200]
    header, *rows = rows_of(text)
    return header, rows


def thirty_people_are_created_from_a_file_and_their_links_are_saved(page):
    server = page.deployment
    staff, wiki = create_group(server, "csv-staff"), create_group(server, "csv-wiki")
    server.create("csv-there")
    lines = [f"csv-new-{it:02};author;csv-staff csv-wiki;2098-12-31" for it in range(29)]
    lines += ['"csv with ""quotes"", and é";;;2098-03-01T12:00:00+02:00', "csv-there;admin;;"]
    page.open("admin")
    page.find("tbody tr")
    in_zone(page, "America/St_Johns")
    try:
        choose_file(page, "\ufeffUsername;role;Groups;until\r\n" + "\r\n".join(lines) + "\r\n\r\n")
        page.find("dialog p", "30 users can be created. 1 user exists already and will be left alone.")
        assert page.all("dialog td.result")[30].text == "Exists already"
        assert not [it for it in page.requests() if it[0] == "POST"]
        page.click("dialog .primary", "Create 30 users")
        shown = results(page)
    finally:
        in_zone(page, "")
    assert len(shown) == 30 and all(text.startswith("Created with the id") for text in shown.values()), shown
    with TemporaryDirectory() as folder:
        downloads(page, folder)
        page.click("dialog .primary", "Save the links as CSV")
        header, *rows = rows_of(downloaded(page, folder))
    page.find("dialog .message.good", "Delete it when they are sent.")
    assert header == ["username", "link", "expires"] and {row[0] for row in rows} == set(shown)
    assert not leaving_asks(page), "saved links are asked for"
    close(page)
    page.find(".above p", " users")
    first = user_named(server, "csv-new-00")
    assert first["role"] == "author" and first["groups"] == ["csv-staff", "csv-wiki"]
    # A date is the end of that day in the time zone of the person.
    assert account_end(server, first["id"]) == "2099-01-01T03:30:00Z"
    quoted = server.api("GET", "/users?search=quotes", token=server.token())[1]["users"][0]
    assert quoted["role"] == "user" and account_end(server, quoted["id"]) == "2098-03-01T10:00:00Z"
    assert user_named(server, "csv-there")["role"] == "user"
    assert len(ends(server, staff)) == len(ends(server, wiki)) == 29
    page.browser.get(dict(row[:2] for row in rows)["csv-new-00"])
    page.type("[name=password]", "chosen by the user")
    page.click("form .primary")
    page.find(".message.good")
    server.token("csv-new-00", "chosen by the user")


def errors_are_named_by_line_and_nothing_can_be_created(page):
    page.open("admin")
    page.find("tbody tr")
    wrong = {
        2: "There is no role chief.", 3: "There is no group no-group.", 4: "The end must be in the future.",
        5: "Username must not contain a colon.", 6: "csv-twice is in line 7", 8: "The username is missing.",
        9: "Username must have 1 to 255 bytes.", 10: "31.12.2098 is neither a date", 11: "There are 5 cells",
        12: "2098-02-31 is neither a date", 13: "Username must not contain invisible",
    }
    lines = ["a,chief,,", "b,,no-group,", "c,,,2020-01-01", "d:e,,,", "csv-twice,,,", "csv-twice,,,", ",user,,", "x" * 256 + ",,,", "f,,,31.12.2098"]
    lines += ["g,,,,h", "i,,,2098-02-31", "j\u200b,,,"]
    choose_file(page, "username,role,groups,until\n" + "\n".join(lines))
    page.find("dialog .message.error", "Line 11: There are 5 cells, but 4 columns.")
    choose_file(page, "username,role,groups,until\n" + "\n".join(line for line in lines if line != "g,,,,h"))
    shown = page.text("dialog ul")
    for line, text in wrong.items():
        if line in (6, 11):
            continue
        assert f"Line {line - (line > 11)}: {text}" in shown, (line, text, shown)
    assert "Line 7: csv-twice is in line 6 already." in shown, shown
    page.find("dialog p", "The file has 10 errors, so nothing can be created.")
    assert not page.all("dialog .primary")
    files = {
        "username,rolle\na,user": "Line 1: The column rolle is not known.",
        "name\na": "The column username is missing.",
        "username,username\na,b": "Line 1: The column username is there twice.",
        "username\n": "The file has no lines below the header.",
        "": "Line 1: The file is empty.",
        'username\n"a': "Line 2: A quote is not closed.",
        "username\n" + "\n".join(f"p{it}" for it in range(5001)): "Line 5002: There are more than 5,000 users.",
        "username\nmüller".encode("latin-1"): "The file is not in UTF-8.",
        b"username\n" + b"x" * 1_000_000: "The file is larger than 1 MB.",
    }
    for content, text in files.items():
        choose_file(page, content)
        assert text in page.text("dialog"), (text, page.text("dialog"))
        assert not page.all("dialog .primary"), text
    page.press(Keys.ESCAPE)
    page.wait(lambda: not page.all("dialog"), "the dialog stays")
    assert not [it for it in page.requests() if it[0] == "POST"]


def what_is_missing_after_a_creation_is_said_for_each_line(page):
    server = page.deployment
    token = server.token()
    gone = create_group(server, "csv-gone")
    page.open("admin")
    page.find("tbody tr")
    choose_file(page, "until,username,groups\n,csv-partly,csv-gone\n,csv-taken,\n,csv-lost,\n,csv-whole,\n2098-01-01,csv-endless,")
    page.find("dialog p", "5 users can be created.")
    assert server.api("DELETE", gone.removesuffix("/members"), token=token)[0] == 200
    server.create("csv-taken")
    intercept(page, "POST", "(number) => { if (number === 2) throw new TypeError('Failed to fetch') }")
    page.script(
        "const { fetch } = window; window.fetch = (path, options) => options?.method === 'PATCH'"
        " ? Response.json({ detail: 'Refused.' }, { status: 400 }) : fetch(path, options)"
    )
    page.click("dialog .primary", "Create 5 users")
    shown = results(page)
    assert "but this is missing: the group csv-gone: Group not found." in shown["csv-partly"], shown
    assert "but this is missing: the end of the account: Refused." in shown["csv-endless"], shown
    assert shown["csv-taken"] == "Username already exists.", shown
    assert "It is not known whether the change was made" in shown["csv-lost"] and "Import the file again" in shown["csv-lost"], shown
    assert shown["csv-whole"].startswith("Created with the id"), shown
    page.find("dialog p", "1 done, 1 unknown, 3 failed.")
    assert len(page.all("dialog code.once")) == 3
    page.script("URL.createObjectURL = () => { throw new Error() }")
    page.click("dialog .primary", "Save the links as CSV")
    page.find("dialog .message.error", "Copy the links from the list, or make new ones later.")
    page.click("dialog .actions button", "Done")
    page.click("dialog button", "Close without saving")
    page.wait(lambda: not page.all("dialog"), "the dialog stays")
    assert user_named(server, "csv-partly")["groups"] == [] and not user_named(server, "csv-lost")


def the_list_is_saved_as_it_is_filtered_and_sorted_with_all_pages(page):
    server = page.deployment
    members = create_group(server, "csv-export")
    user = server.create("csv-exported")
    assert server.api("PUT", f"{members}/{user}", {}, server.token())[0] == 200
    page.open("admin", "#/users?search=csv-exported&columns=groups,ends")
    page.wait(lambda: page.names() == ["csv-exported"], "not found")
    header, rows = export(page)
    assert header == ["id", "username", "disabled", "groups", "until"], header
    assert rows == [[str(user), "csv-exported", "false", "csv-export", ""]], rows
    page.go("#/users?search=person04&sort=-username")
    page.wait(lambda: page.names()[:1] == ["person04999"], "not sorted")
    header, rows = export(page)
    assert header == ["id", "username", "disabled", "role", "groups", "last_sign_in_at"], header
    names = [row[1] for row in rows]
    assert len(names) == 1000 > USERS_PAGE and names == sorted(names, reverse=True), names[:3]


def reading_for_a_file_can_be_stopped(page):
    page.open("admin")
    page.find("tbody tr")
    page.script(
        "const { fetch } = window; window.fetch = async (path, options) => {"
        " if (path.includes('limit=200')) await new Promise((resolve) => setTimeout(resolve, 400));"
        " return fetch(path, options) }"
    )
    with TemporaryDirectory() as folder:
        downloads(page, folder)
        page.click(".above button", "Export CSV")
        page.find("dialog .progress p", " of 10,")
        page.click("dialog button", "Stop")
        page.wait(lambda: not page.all("dialog"), "the dialog stays")
        before = len(page.requests())
        page.wait(lambda: all(status != "…" for _, _, status in page.requests()), "a request stays")
        assert len(page.requests()) <= before + 1 and not list(Path(folder).iterdir())


def no_cell_is_a_formula_and_an_exported_file_can_be_imported(page):
    server = page.deployment
    names = ["=csv-f+1", "+csv-f", "-csv-f", "@csv-f", "＝csv-f", "'=csv-f", "'csv-f", 'csv-f "x", y', "csv-f;=1+1;z"]
    users = {name: server.create(name) for name in names}
    page.open("admin", "#/users?search=csv-f&columns=role")
    page.wait(lambda: page.names() == names, "not found")
    header, rows = export(page)
    cells = {int(row[0]): row[1] for row in rows}
    for name, user in users.items():
        is_formula = name.lstrip("'")[0] in "=+-@＝"
        # A spreadsheet that expects semicolons takes what follows one for a cell.
        cell = name.replace(";=", ";'=")
        assert cells[user] == ("'" + cell if is_formula else cell), cells
    text = "\r\n".join(",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in [header, *rows])
    choose_file(page, text)
    page.find("dialog p", "0 users can be created. 9 users exist already and will be left alone. Columns that are left out: id, disabled.")
    assert not page.all("dialog .primary")
    for user in users.values():
        assert server.api("DELETE", f"/users/{user}", token=server.token())[0] == 200
    choose_file(page, text)
    page.click("dialog .primary", "Create 9 users")
    assert set(results(page)) == set(names)
    page.click("dialog .actions button", "Done")
    page.click("dialog button", "Close without saving")
    page.wait(lambda: sorted(page.names()) == sorted(names), "not created under these names")


def names_in_files_that_look_like_html_are_text(page):
    name = "<img src=z onerror=alert(1)>"
    page.open("admin")
    page.find("tbody tr")
    choose_file(page, f"username,role\n{name},{name}\n")
    page.find("dialog .message.error", f"There is no role {name}.")
    choose_file(page, f"username\n{name}\n")
    page.find("dialog td.name", name)
    page.click("dialog .primary")
    assert set(results(page)) == {name}
    assert page.script("return document.querySelectorAll('img[onerror], [src=z]').length") == 0
    page.click("dialog .actions button", "Done")
    page.click("dialog button", "Close without saving")


def views(page):
    """Shows one view after the other, and yields the name of each."""
    long_name = "csv-a-person-with-a-rather-long-name-of-fifty-letters"
    page.open("admin")
    page.find("tbody tr")
    page.click(".bar button", "Import users")
    page.find("dialog [type=file]")
    yield "import"
    choose_file(page, f"username,role\n{long_name},chief\nb,user\n")
    page.find("dialog .message.error")
    yield "errors"
    choose_file(page, f"username,until\n{long_name},2098-01-01\nadmin,\n")
    page.find("dialog .primary")
    yield "preview"
    page.click("dialog .primary")
    results(page)
    yield "created"
    page.click("dialog .primary")
    page.find("dialog .message.good")
    yield "saved"
    close(page)
    page.go(f"#/users?search={long_name}")
    page.wait(lambda: page.names() == [long_name], "not found")
    page.click(".above button", "Export CSV")
    page.find("dialog p", "in the file")
    yield "exported"


def files_are_accessible_and_fit_down_to_320_pixels(page):
    with TemporaryDirectory() as folder:
        downloads(page, folder)
        for name in views(page):
            check_view(page, name, (WIDE, NARROW, SMALL))


CHECKS = [
    thirty_people_are_created_from_a_file_and_their_links_are_saved,
    errors_are_named_by_line_and_nothing_can_be_created,
    what_is_missing_after_a_creation_is_said_for_each_line,
    the_list_is_saved_as_it_is_filtered_and_sorted_with_all_pages,
    reading_for_a_file_can_be_stopped,
    no_cell_is_a_formula_and_an_exported_file_can_be_imported,
    names_in_files_that_look_like_html_are_text,
    files_are_accessible_and_fit_down_to_320_pixels,
]
