"""Looks: accessibility, keyboard, sizes, nothing foreign; and the screenshots of the documents."""

from pathlib import Path

from deployment import PASSWORD
from page import NARROW, WIDE
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
    """Users and posts that the images show; once for a deployment."""
    server = page.deployment
    if server.api("GET", "/users?username=margaret", token=server.token())[1]["users"]:
        return
    for username, role in PEOPLE.items():
        server.create(username, role)
    for username, (title, content) in POSTS.items():
        body = {"title": title, "content": content}
        assert server.api("POST", "/posts", body, server.token(username))[0] == 201


def views(page):
    """Shows each view, and returns its name meanwhile."""
    add_people(page)
    page.open()
    page.find("form [name=password]")
    yield "sign-in"
    page.type("form [name=username]", "admin")
    page.type("form [name=password]", "wrong")
    page.click("form button")
    page.find("main", "Invalid username or password.")
    yield "sign-in-refused"
    page.browser.get(f"{page.deployment.url}/set-password#rgl_x")
    page.type("[name=password]", "x" * 73)
    page.click("form .primary")
    page.find(".message.error")
    yield "set-password"
    page.go()
    page.sign_in("admin")
    page.find("tbody tr")
    page.browser.get(f"{page.deployment.url}/sign-in?return=/console/&unsaved&too_long&two_sessions")
    page.find("main", "You are admin: go on, or sign in as somebody else.")
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
    page.find(".state", "No user")
    yield "users-none"
    page.search("person00001")
    page.click("td.end button")
    page.find("dialog h2", "person00001")
    yield "user"
    page.type("dialog [aria-label=Delete] [name=name]", "x")
    page.click("dialog [aria-label=Delete] button")
    page.find("dialog .field .message", "not the same")
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
    page.find("#notice", "is user again")
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


def every_view_is_accessible_and_fits_at_both_widths(page):
    axe = AXE.read_text()
    for name in views(page):
        for size in (WIDE, NARROW):
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
                assert wide <= size[0] and high <= size[1], (name, size, wide, high)
        page.resize(WIDE)
        settle(page)


def everything_works_by_keyboard_with_a_visible_focus(page):
    page.open()
    page.wait(lambda: page.script("return document.activeElement.name") == "username", "no focus")
    page.press("admin", Keys.TAB, PASSWORD, Keys.ENTER)
    page.find("tbody tr")
    page.script("document.activeElement.blur()")
    reached = []
    for _ in range(80):
        page.press(Keys.TAB)
        tag, name, width, style = page.script(
            "const it = document.activeElement, style = getComputedStyle(it);"
            "return [it.tagName, it.getAttribute('aria-label') || it.innerText,"
            " parseFloat(style.outlineWidth), style.outlineStyle]"
        )
        if name in reached:
            break
        # Between the last element and the first, the browser itself has the focus.
        if tag != "BODY":
            assert width >= 2 and style != "none", f"{name}: the focus is not visible"
        reached.append(name)
    for name in ("Skip to the content", "Users", "Sign out", "Search names", "Role", "Enabled or disabled",
                 "New user", "Manage admin", "Next", "Requests"):
        assert name in reached, (name, reached)
    page.find("[type=search]").click()
    page.press("person00001")
    page.wait(lambda: page.names() == ["person00001"], "no search")
    page.find("td.end button").send_keys(Keys.ENTER)
    page.find("dialog h2", "person00001")
    page.press(Keys.ESCAPE)
    focused = page.script("return document.activeElement.getAttribute('aria-label')")
    assert focused == "Manage person00001", focused


def nothing_foreign_is_loaded_and_the_policy_blocks_nothing(page):
    for _ in views(page):
        pass
    page.open("admin")
    page.find("tbody tr")
    loaded = page.script("return performance.getEntriesByType('resource').map((it) => it.name)")
    assert any(name.endswith("/console/main.js") for name in loaded), loaded
    assert all(name.startswith(f"{page.deployment.url}/") for name in loaded), loaded
    assert page.problems() == []
    blocked = page.script(
        "try { document.body.innerHTML = '<b>x</b>'; return false } catch (error) { return error.name }"
    )
    assert blocked == "TypeError", "Trusted Types are not enforced"
    page.problems()


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
    """Until transitions have ended and a frame is painted."""
    page.browser.execute_async_script(
        "const done = arguments[0]; Promise.all(document.getAnimations().filter("
        "(it) => it.effect.getTiming().iterations === 1).map((it) => it.finished.catch(() => {})))"
        ".then(() => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )


CHECKS = [
    every_view_is_accessible_and_fits_at_both_widths,
    everything_works_by_keyboard_with_a_visible_focus,
    nothing_foreign_is_loaded_and_the_policy_blocks_nothing,
]
