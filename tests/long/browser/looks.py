"""Checks accessibility, the keyboard, window sizes, and that nothing is loaded from other origins. Also takes the
screenshots of the documents."""

import re
from pathlib import Path

from deployment import PASSWORD
from one_time_codes import Phone
from page import NARROW, SMALL, WIDE
from selenium.webdriver.common.keys import Keys

ROOT = Path(__file__).resolve().parents[3]
AXE = ROOT / "target/long/node_modules/axe-core/axe.min.js"
IMAGES = ROOT / "docs/images"
MAX_IMAGE = 100_000

PEOPLE = {"margaret": "author", "maría": "author", "marie": "user", "mary": "admin", "masako": "user", "max": "user"}
POSTS = {
    "margaret": ("Roles that count at once", "A demoted user loses access with the next request."),
    "maría": ("Which password is good?", "A long one that is used nowhere else. The console generates one."),
}


def add_people(page):
    """Adds the users and posts that the screenshots show, once for each deployment."""
    server = page.deployment
    if server.api("GET", "/users?username=margaret", token=server.token())[1]["users"]:
        return
    for username, role in PEOPLE.items():
        server.create(username, role)
    for username, (title, content) in POSTS.items():
        body = {"title": title, "content": content}
        assert server.api("POST", "/posts", body, server.token(username))[0] == 201


def views(page):
    """Shows one view after the other, and yields the name of each."""
    add_people(page)
    page.open()
    page.find("form [name=username]")
    yield "sign-in"
    page.type("form [name=username]", "admin")
    page.type("form [name=password]", "wrong")
    page.click("form button")
    page.find("main", "Invalid username or password.")
    yield "sign-in-refused"
    page.browser.get(f"{page.deployment.url}/set-password#rgl_x")
    page.find("main", "This link was used before, or it has expired.")
    yield "set-password-dead"
    server = page.deployment
    margaret = server.api("GET", "/users?username=margaret", token=server.token())[1]["users"][0]["id"]
    page.browser.get(server.password_link(margaret))
    page.type("[name=password]", "x" * 73)
    page.click("form .primary")
    page.find(".message.error")
    yield "set-password"
    page.go()
    page.sign_in("admin")
    page.find("tbody tr")
    page.browser.get(f"{page.deployment.url}/sign-in?return=/console/&unsaved&too_long&two_sessions")
    page.find("main", "You are signed in as admin: go on, or sign in as somebody else.")
    yield "sign-in-again"
    page.click("button", "go on")
    page.find("tbody tr")
    yield "all-users"
    page.click("#requests .toggle")
    page.click("#requests summary")
    yield "requests"
    page.click("#requests .toggle")
    page.type("[type=search]", "ma")
    page.wait(lambda: page.names() == list(PEOPLE), "other users")
    yield "users"
    page.type("[type=search]", "unknown name")
    page.find(".state", "No users")
    yield "users-none"
    page.search("person00001")
    page.click("td.end button")
    page.find("dialog h2", "person00001")
    page.part("Name and deletion")
    page.type("dialog [aria-label=Delete] [name=name]", "x")
    page.click("dialog [aria-label=Delete] button")
    page.find("dialog .field .message", "does not match")
    page.change_role("admin")
    page.find("dialog.question")
    yield "question"
    page.press(Keys.ESCAPE)
    page.wait(lambda: not page.all("dialog.question"), "the question stays")
    yield "user-refused"
    page.change_role("editor")
    page.find("#notice button", "Undo")
    yield "notice"
    page.click("#notice button", "Undo")
    page.find("#notice", "now has the role user")
    page.click(".bar .primary")
    page.click("dialog button", "Generate")
    yield "new-user"
    page.press(Keys.ESCAPE)
    page.go("#/audit")
    page.find("td.actor")
    yield "audit"
    page.go("#/account")
    page.find("dl", "admin")
    page.find("[aria-label='Where you signed in'] li")
    page.find("[aria-label=Sessions] li", "this one")
    yield "account"
    page.type("[aria-label='Second step'] [name=current]", PASSWORD)
    page.click("[aria-label='Second step'] button", "Begin")
    page.find("svg.picture")
    yield "second-step"
    page.script("arguments[0].scrollIntoView()", page.find(".sheet"))
    yield "recovery-codes"
    page.go("#/posts")
    page.find(".posts")
    yield "posts"
    page.click(".bar .primary")
    page.find("dialog textarea")
    yield "new-post"
    page.press(Keys.ESCAPE)
    page.click(".posts a")
    page.find("article h2")
    yield "post"
    assert page.deployment.api("POST", "/logout", token=page.token())[0] == 200
    page.click("nav a", "Account")
    page.find("#ended")
    yield "ended"


def account_views(page):
    """Shows the account pages of a user with a long name and a long role, and of an admin. Yields the name of each."""
    name = "a-person-with-a-rather-long-name-of-fifty-characters"
    server = page.deployment
    if not server.api("GET", f"/users?username={name}", token=server.token())[1]["users"]:
        server.create(name, "auditor")
    page.open(name)
    page.find("[aria-label='Where you signed in'] li")
    page.find("[aria-label=Sessions] li", "this one")
    yield "account"
    # A role's name can have at most 32 letters.
    page.script("document.querySelector('.who .chip').textContent = 'r'.repeat(32)")
    yield "long role"
    page.type("[aria-label='New API key'] [name=name]", "nightly")
    page.click("[aria-label='New API key'] button")
    page.find(".once .secret")
    yield "new key"
    page.type("[aria-label='Second step'] [name=current]", PASSWORD)
    page.click("[aria-label='Second step'] button", "Begin")
    page.find("svg.picture")
    yield "second step"
    page.script("arguments[0].scrollIntoView()", page.find(".sheet"))
    yield "recovery codes"
    page.type("[aria-label='Change password'] [name=current]", "wrong")
    page.type("[aria-label='Change password'] [name=password]", "another password")
    page.click("[aria-label='Change password'] .primary")
    page.find("[aria-label='Change password'] .message.error")
    yield "wrong password"
    assert server.api("POST", "/logout", token=page.token())[0] == 200
    page.click("[aria-label='Change password'] .primary")
    page.find("#ended")
    yield "ended"
    page.open("admin")
    page.browser.get(f"{server.url}/account")
    if server.start_page == "/console/":
        page.find("nav a", "Console")
    page.find("[aria-label='Where you signed in'] li")
    yield "account of an admin"


def every_view_is_accessible_and_fits_at_both_widths(page):
    for name in views(page):
        check_view(page, name, (WIDE, NARROW))


def the_parts_of_a_user_are_accessible_and_fit_down_to_320_pixels(page):
    page.deployment.create("every-part-fits")
    page.open("admin")
    page.manage("every-part-fits")
    for part in page.all("dialog [role=tab]"):
        part.click()
        page.wait(lambda: page.all("dialog [role=tabpanel] .primary"), "no main button")
        check_view(page, part.text, (WIDE, NARROW, SMALL))
    page.press(Keys.ESCAPE)
    page.click("#requests .toggle")
    check_view(page, "log of requests", (WIDE, SMALL))


def the_account_page_is_accessible_and_fits_down_to_320_pixels(page):
    for name in account_views(page):
        check_view(page, name, (WIDE, NARROW, SMALL))


def branded_views(page):
    """Shows each page for people in a deployment with a title, a logo and a help link."""
    server = page.deployment
    page.open()
    page.find("form [name=username]")
    yield "sign-in"
    page.type("form [name=username]", "admin")
    page.type("form [name=password]", "wrong")
    page.click("form button")
    page.find("main", "Invalid username or password.")
    yield "sign-in refused"
    for path, shown in {
        "/sign-out": "You will have to sign in again",
        "/set-password": "The link is incomplete.",
        "/sign-in/refused": "You may not open this page.",
        "/sign-in/ambiguous-address": "For safety, it is not passed on.",
    }.items():
        page.browser.get(server.url + path)
        page.find("main", shown)
        yield path
    page.problems()
    page.open("admin")
    page.browser.get(f"{server.url}/account")
    page.find("[aria-label='Where you signed in'] li")
    yield "account"


def the_pages_with_a_title_a_logo_and_help_are_accessible_and_fit_down_to_320_pixels(page):
    server = page.deployment
    for name in branded_views(page):
        check_view(page, name, (WIDE, NARROW, SMALL), scrolls=True)
        title = page.find(".brand span")
        assert title.get_attribute("textContent") == server.title, name
        assert page.find(".help a").get_attribute("href") == "https://help.example.org/", name
        width, height = page.script(
            "const { naturalWidth, naturalHeight } = document.querySelector('.brand img');"
            "return [naturalWidth, naturalHeight]"
        )
        assert width == 10 * height > 0, (name, width, height)
        assert server.title in page.browser.title, name


def check_view(page, name, sizes, scrolls=False):
    """Checks the view at each of these sizes. `scrolls` says that it may be higher than the window."""
    axe = AXE.read_text()
    for size in sizes:
        for scheme in ("light", "dark"):
            page.resize(size, scheme)
            settle(page)
            page.script(f"if (!window.axe) {{ {axe} }}")
            result = page.browser.execute_async_script(
                "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']})"
                ".then(done, (error) => done({violations: [String(error)]}))"
            )
            assert result["violations"] == [], (name, size, scheme, result["violations"])
            wide, high = page.script(
                "const { scrollWidth, scrollHeight } = document.documentElement;"
                "return [scrollWidth, scrollHeight]"
            )
            assert wide <= size[0] and (scrolls or high <= size[1]), (name, size, wide, high)
            outside = page.script(
                "const isOutside = (it) => {"
                "  const { left, right } = it.getBoundingClientRect();"
                "  const place = it.closest('header > *') ?? document.documentElement;"
                "  return left < place.getBoundingClientRect().left - 1 || right > innerWidth + 1;"
                "};"
                "return [...document.querySelectorAll('#app *')].filter((it) => it.checkVisibility()"
                " && !it.closest('.unseen, .skip') && isOutside(it)).map((it) => it.outerHTML.slice(0, 200))"
            )
            assert not outside, (name, size, outside)
    page.resize(WIDE)
    settle(page)


def everything_works_by_keyboard_with_a_visible_focus(page):
    page.open()
    page.wait(lambda: page.script("return document.activeElement.name") == "username", "no focus")
    page.press("admin", Keys.TAB, PASSWORD, Keys.ENTER)
    page.find("tbody tr")
    page.script("document.activeElement.blur()")
    reached = []
    for _ in range(160):
        page.press(Keys.TAB)
        tag, name, width, style = page.script(
            "const it = document.activeElement, style = getComputedStyle(it);"
            "return [it.tagName, it.getAttribute('aria-label') || it.innerText,"
            " parseFloat(style.outlineWidth), style.outlineStyle]"
        )
        if name in reached:
            break
        # After the last element and before the first, the browser itself has the focus.
        if tag != "BODY":
            assert width >= 2 and style != "none", f"{name}: the focus is not visible"
        reached.append(name)
    for name in ("Skip to the content", "Users", "Groups", "Sign out", "Search names", "Role", "Enabled or disabled",
                 "More filters", "Import users", "New user", "Columns", "Export CSV", "Select all users of this page",
                 "Last sign-in", "Select person00001", "Manage admin", "Next", "Requests"):
        assert name in reached, (name, reached)
    page.find("[type=search]").click()
    page.press("person00001")
    page.wait(lambda: page.names() == ["person00001"], "no search")
    page.find("td.end button").send_keys(Keys.ENTER)
    page.find("dialog h2", "person00001")
    page.press(Keys.ESCAPE)
    focused = page.script("return document.activeElement.getAttribute('aria-label')")
    assert focused == "Manage person00001", focused


def the_account_needs_no_mouse(page):
    server = page.deployment
    server.create("keyboard-only")
    server.session("keyboard-only")
    page.open()
    page.browser.get(f"{server.url}/")
    page.wait(lambda: page.script("return document.activeElement.name") == "username", "no focus")
    page.press("keyboard-only", Keys.TAB, PASSWORD, Keys.ENTER)
    page.find("[aria-label='Where you signed in'] li")
    tab_to(page, "Skip to the content")
    page.press(Keys.ENTER)
    assert page.script("return document.activeElement.id") == "main"
    tab_to(page, "current")
    page.press(PASSWORD)
    tab_to(page, "password")
    page.press("a new password")
    tab_to(page, "Change password")
    page.press(Keys.ENTER)
    page.find("[aria-label='Change password'] .message.good", "Password updated successfully.")
    page.find("[aria-label=Sessions]", "this one")
    tab_to(page, "current", within="Second step")
    page.press("a new password", Keys.ENTER)
    page.find("svg.picture")
    code = Phone(page.find("[aria-label='Second step'] .secret").get_attribute("value")).code()
    tab_to(page, "otp")
    page.press(code, Keys.ENTER)
    page.find("#notice", "The second step is on")
    assert page.script("return document.activeElement.ariaLabel") == "Second step"


def the_lists_of_the_account_need_no_mouse(page):
    server = page.deployment
    server.create("keyboard-lists")
    server.session("keyboard-lists")
    page.open("keyboard-lists")
    page.wait(lambda: len(page.all("[aria-label=Sessions] li")) == 2, "not all sessions")
    page.find("[aria-label='Where you signed in'] li")
    tab_to(page, "End", within="Sessions")
    page.press(Keys.ENTER)
    page.press(Keys.ENTER)
    page.find("[aria-label=Sessions] .message.good", "has ended.")
    tab_to(page, "name", within="New API key")
    page.press("nightly", Keys.ENTER)
    page.find("[aria-label='API keys'] li", "nightly")
    assert page.script("return document.activeElement.className") == "secret", "the new key has no focus"
    tab_to(page, "Revoke", within="API keys")
    page.press(Keys.ENTER)
    page.press(Keys.ENTER)
    page.find("[aria-label='API keys'] .message.good", "is revoked.")
    tab_to(page, "Sign out")
    page.press(Keys.ENTER)
    page.find("form [name=username]")


def tab_to(page, name, within=None):
    """Presses Tab until the control has the focus, and checks that this is visible. `name` is its name, text or
    label. `within` is the label of a form or a group."""
    for _ in range(160):
        page.press(Keys.TAB)
        found, places, width, style = page.script(
            "const it = document.activeElement, style = getComputedStyle(it); const places = [];"
            "for (let at = it; at; at = at.parentElement) places.push(at.getAttribute('aria-label'));"
            "return [[it.name || it.innerText, it.ariaLabel], places, parseFloat(style.outlineWidth), style.outlineStyle]"
        )
        if name in found and (within is None or within in places):
            assert width >= 2 and style != "none", f"{name}: the focus is not visible"
            return
    raise AssertionError(f"no way to {name} by Tab")


def nothing_foreign_is_loaded_and_the_policy_blocks_nothing(page):
    for _ in views(page):
        pass
    page.open("admin")
    page.find("tbody tr")
    loaded = page.script("return performance.getEntriesByType('resource').map((it) => it.name)")
    assert any(re.search(r"/console/main-[0-9a-f]{16}\.js$", name) for name in loaded), loaded
    assert len(loaded) <= 7, loaded
    assert all(name.startswith(f"{page.deployment.url}/") for name in loaded), loaded
    assert page.problems() == []
    blocked = page.script(
        "try { document.body.innerHTML = '<b>x</b>'; return false } catch (error) { return error.name }"
    )
    assert blocked == "TypeError", "Trusted Types are not enforced"
    page.problems()


def the_account_page_asks_for_its_own_paths_only(page):
    """Checks that the pages load only the paths which docs/proxies.md names, because a proxy before a sign-in host
    passes no others."""
    server = page.deployment
    for _ in account_views(page):
        asked = page.script(
            "return [document.URL, ...performance.getEntriesByType('resource').map((it) => it.name)]"
        )
        assert all(address.startswith(f"{server.url}/") for address in asked), asked
        paths = {address.removeprefix(server.url).split("?")[0] for address in asked}
        others = {path for path in paths if not re.fullmatch(r"/account(/[a-z_.]+|/[a-z_]+-[0-9a-f]{16}\.[a-z]+)?|/me|/roles|/password-policy|/profile/[a-z-]+(/\d+)?|/console/", path)}
        scripts = [path for path in paths if path.startswith("/account/account_page-")]
        assert len(scripts) == 1 and not others, (scripts, others)


def screenshots_for_the_documents(page):
    IMAGES.mkdir(exist_ok=True)
    for name in views(page):
        if name not in ("sign-in", "users", "account", "posts"):
            continue
        for scheme in ("light", "dark"):
            page.resize(WIDE, scheme)
            settle(page)
            shoot(page, f"console-{name}-{scheme}.png")
            if name == "users":
                page.resize(NARROW, scheme)
                settle(page)
                shoot(page, f"console-{name}-narrow-{scheme}.png")
        page.resize(WIDE)


def shoot(page, name):
    file = IMAGES / name
    page.browser.save_screenshot(str(file))
    assert file.stat().st_size <= MAX_IMAGE, (name, file.stat().st_size)


def settle(page):
    """Waits until transitions have ended and a frame is painted."""
    page.browser.execute_async_script(
        "const done = arguments[0]; Promise.all(document.getAnimations().filter("
        "(it) => it.effect.getTiming().iterations === 1).map((it) => it.finished.catch(() => {})))"
        ".then(() => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )


CHECKS = [
    every_view_is_accessible_and_fits_at_both_widths,
    the_parts_of_a_user_are_accessible_and_fit_down_to_320_pixels,
    the_account_page_is_accessible_and_fits_down_to_320_pixels,
    everything_works_by_keyboard_with_a_visible_focus,
    the_account_needs_no_mouse,
    the_lists_of_the_account_need_no_mouse,
    nothing_foreign_is_loaded_and_the_policy_blocks_nothing,
    the_account_page_asks_for_its_own_paths_only,
]

# The checks that must also pass at a sign-in host.
AT_EVERY_HOST = [
    the_account_page_is_accessible_and_fits_down_to_320_pixels,
    the_account_needs_no_mouse,
    the_lists_of_the_account_need_no_mouse,
    the_account_page_asks_for_its_own_paths_only,
]

WITH_A_BRAND = [the_pages_with_a_title_a_logo_and_help_are_accessible_and_fit_down_to_320_pixels]
