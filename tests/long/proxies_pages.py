"""Checks Rolegate's own pages in place of an application's, and what browsers cache, through each proxy in both
deployments."""

from pathlib import Path
from urllib.parse import quote, urlsplit

from proxies_deployments import DOMAIN
from proxies_process import ROOT
from proxies_sessions import NAVIGATION, SAME, expect
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

FORM = ("Content-Type", "application/x-www-form-urlencoded")
AMBIGUOUS = ["/a//b", "/files/a%2Fb", "/a;v=1", "/a/.", "/public/%2e%2e/admin", "/..%2fadmin", "//", "/%20x"]
PRIVATE = ["private, no-cache"]
AXE = Path(ROOT, "target/long/node_modules/axe-core/axe.min.js")
OURS = "Of the application"


def host_of_page(deployment):
    """Returns how links on the application's host name the host of the sign-in page."""
    return "" if deployment.app is deployment.page else f"https://{deployment.page.host}"


def pages_of_ours(deployment, user, admin, password):
    pair = deployment.sign_in(user.name, password)
    cookie = ("Cookie", pair)
    refused_people(deployment, user, admin, cookie)
    unclear_addresses(deployment, cookie)
    what_browsers_keep(deployment, cookie, user)
    signing_out(deployment, pair)


def refused_people(deployment, user, admin, cookie):
    host, path = host_of_page(deployment), "/admin/x?a=1&b=2"
    back = quote(path if not host else f"https://{deployment.app.host}{path}", safe="*-._")
    of_the_page = [("Sec-Fetch-Mode", "navigate"), SAME]
    source = host or "'self'"
    for method, headers, query in (("GET", NAVIGATION, f"?return={back}&quot;"), ("POST", of_the_page, "?return=")):
        response = expect(deployment, 403, cookie, *headers, path=path, method=method)
        text = response.body.decode()
        what = (deployment.name, method, response.headers, text)
        assert response.all("content-type") == ["text/html; charset=utf-8"], what
        assert response.all("cache-control") == ["no-store"], what
        assert response.all("rolegate-reason") == ["ROLE_INSUFFICIENT"], what
        (policy,) = response.all("content-security-policy")
        assert f"style-src {source}; img-src {source};" in policy, what
        assert f"signed in as <strong>{user.name}</strong>" in text and "<form" not in text, what
        query = query.replace("&quot;", '"')
        for link in ("/sign-in/base.css", f"/sign-in{query}", f"/sign-out{query}"):
            assert f'href="{host}{link}' in text, (link, *what)
    # These get no page: scripts, programs, callers with credentials, requests from other sites, and the application's
    # own refusals.
    for headers in ([cookie], [cookie, ("Sec-Fetch-Mode", "cors")], [cookie, ("Accept", "application/json")],
                    [user.bearer, *NAVIGATION], [cookie, user.bearer, *NAVIGATION], [user.basic]):
        response = expect(deployment, 403, *headers, path=path)
        assert b"signed in as" not in response.body, (deployment.name, headers, response.body)
    response = expect(deployment, 403, cookie, *NAVIGATION, path=path, method="POST")
    assert b"signed in as" not in response.body and response.all("rolegate-reason") == ["CROSS_SITE"], response.body
    response = deployment.app.ask("/status/403", cookie, *NAVIGATION)
    assert (response.status, response.seen["path"]) == (403, "/status/403"), (deployment.name, response.body)
    expect(deployment, 403, cookie, *NAVIGATION, path="/admin/x", method="HEAD")


def unclear_addresses(deployment, cookie):
    for path in AMBIGUOUS:
        for headers in ([], [cookie, *NAVIGATION]):
            for method in ("GET", "POST"):
                response = deployment.app.ask(path, *headers, method=method, body="a" if method == "POST" else "")
                what = (deployment.name, path, response.status, response.headers, response.body[:300])
                if response.seen is not None or response.status in (401, 403, 303):
                    # Some proxies normalize this to a plain path.
                    assert "%2e" in path or deployment.app.name == "traefik" and path in ("/a/.", "/a//b", "//"), what
                    continue
                assert response.status == 400, what
                # nginx itself refuses a path above the root.
                is_told = deployment.app.name != "nginx" or not path.startswith("/..")
                assert not is_told or b"can be read in more than one way" in response.body, what


def what_browsers_keep(deployment, cookie, user):
    for headers in ([cookie, *NAVIGATION], [user.bearer]):
        for path, expected in (("/x", PRIVATE), ("/status/404", PRIVATE), ("/kept", ["max-age=60"])):
            response = deployment.app.ask(path, *headers)
            assert response.seen and response.all("cache-control") == expected, (deployment.name, response.headers)
    for path, expected in (("/public/x", []), ("/public/kept", [])):
        response = deployment.app.ask(path, cookie)
        assert response.seen and response.all("cache-control") == expected, (deployment.name, response.headers)


def signing_out(deployment, pair):
    """Signs out by the links of an application, until the sign-in form is shown."""
    app, page = deployment.app, deployment.page
    back = "/page?a=1" if app is page else f"https://{app.host}/page?a=1"
    response = page.exchange("POST", "/sign-out", [SAME, FORM, ("Cookie", pair)], body=f"return={quote(back)}")
    assert (response.status, response.all("clear-site-data")) == (303, ['"cache"']), (deployment.name, response.headers)
    form = f"/sign-in?return={quote(back, safe='*-._')}"
    if app is not page:
        assert response.all("location") == [back], (deployment.name, response.headers)
        response = app.exchange("GET", "/page?a=1", NAVIGATION)
        what = (deployment.name, response.status, response.headers)
        assert (response.status, response.all("clear-site-data")) == (303, ['"cache"']), what
        form = f"https://{page.host}{form}"
    assert response.all("location") == [form], (deployment.name, response.headers)
    said = ("Cookie", "rolegate-signed-out=1")
    shown = page.exchange("GET", "/sign-in", [said, *NAVIGATION])
    assert b"You have signed out." in shown.body, (deployment.name, shown.body)


def pages_in_chromium(person):
    """Checks the pages in Chromium. The person has no session, and only the role user."""
    explanations_in_chromium(person)
    refused_in_chromium(person)
    frames_in_chromium(person)
    back_after_signing_out(person)


def text_of(browser):
    return browser.execute_script("return document.body ? document.body.innerText : ''")


def wait_for(person, text):
    wait = WebDriverWait(person.browser, 20)
    wait.until(lambda it: text in text_of(it), f"{text} in {person.deployment.name}: {text_of(person.browser)}")


def opens(person, path):
    """Opens a page of the application, and signs in if there is no session."""
    person.browser.get(person.url + path)
    if "/sign-in" in person.browser.current_url:
        person.fill()
    WebDriverWait(person.browser, 20).until(lambda it: it.current_url == person.url + path)


def is_accessible(person):
    """Checks accessibility in light and dark colors, on a wide screen and on one of 320 pixels (WCAG 1.4.10,
    Reflow)."""
    for scheme, width in (("light", 1280), ("dark", 1280), ("light", 320), ("dark", 320)):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        person.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width == 320}
        person.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        # The page's policy forbids scripts of the page, but not those of the driver.
        person.browser.execute_script(AXE.read_text())
        found = person.browser.execute_async_script(
            "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']})"
            ".then((it) => done(it.violations.map((one) => [one.id, one.nodes[0].html])), (it) => done([String(it)]))")
        assert found == [], (person.deployment.name, person.browser.current_url, scheme, width, found)
        too_wide = person.browser.execute_script(
            "const root = document.documentElement; return root.scrollWidth > root.clientWidth")
        assert not too_wide, (person.deployment.name, person.browser.current_url, "wider than the screen", width)
        ground = person.browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        expected = "rgb(245, 246, 249)" if scheme == "light" else "rgb(17, 20, 26)"
        assert ground == expected, (person.deployment.name, "no style", ground)
    person.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def explanations_in_chromium(person):
    """Checks the explanations of an ambiguous address, of a return address that is not allowed, and of a page without
    HTTPS."""
    browser, deployment = person.browser, person.deployment
    browser.get(f"{person.url}/files/a%2Fb")
    wait_for(person, "This address is ambiguous")
    is_accessible(person)
    browser.get(f"https://{deployment.page.host}/sign-in?return=https://evil.example/x")
    wait_for(person, "you will not return to the page that you came from")
    is_accessible(person)
    browser.get(f"https://{deployment.page.host}/sign-out?return=https://evil.example/x")
    wait_for(person, "you will not return to the page that you came from")
    is_accessible(person)
    # This host has never told a browser to use HTTPS.
    port = urlsplit(deployment.urls["BEARER_URL"]).port
    browser.get(f"http://plain.{DOMAIN}:{port}/sign-in")
    wait_for(person, f"ssh -L {port}:localhost:{port} plain.{DOMAIN}")
    assert not browser.find_elements(By.TAG_NAME, "form"), deployment.name
    is_accessible(person)


def refused_in_chromium(person):
    browser, page = person.browser, f"https://{person.deployment.page.host}"
    opens(person, "/page")
    browser.get(f"{person.url}/admin/x?a=1")
    assert browser.current_url == f"{person.url}/admin/x?a=1", browser.current_url
    wait_for(person, f"You are signed in as {person.user.name}, who may not open this page.")
    is_accessible(person)
    # The link can be reached by the keyboard.
    ActionChains(browser).send_keys(Keys.TAB).perform()
    assert browser.switch_to.active_element.text == "Sign in as somebody else", person.deployment.name
    ActionChains(browser).send_keys(Keys.ENTER).perform()
    back = "/admin/x?a=1" if page == person.url else f"{person.url}/admin/x?a=1"
    expected = f"{page}/sign-in?return={quote(back, safe='*-._')}"
    WebDriverWait(browser, 20).until(lambda it: it.current_url == expected, browser.current_url)
    browser.get(f"{person.url}/admin/x?a=1")
    browser.find_element(By.LINK_TEXT, "Sign out").click()
    wait_for(person, "Sign out")
    assert browser.current_url.startswith(f"{page}/sign-out?return="), browser.current_url
    is_accessible(person)


def frames_in_chromium(person):
    browser = person.browser
    opens(person, "/outer")
    browser.switch_to.frame(0)
    wait_for(person, OURS)
    browser.switch_to.default_content()
    person.sign_out_elsewhere()
    browser.execute_script("document.querySelector('iframe').src = '/page?later'")
    browser.switch_to.frame(0)
    wait_for(person, "To see this part of the page, sign in.")
    assert not browser.find_elements(By.TAG_NAME, "form"), person.deployment.name
    is_accessible(person)
    browser.find_element(By.LINK_TEXT, "sign in").click()
    browser.switch_to.default_content()
    person.fill()
    WebDriverWait(browser, 20).until(lambda it: it.current_url == f"{person.url}/page?later")


def back_after_signing_out(person):
    """Checks that going back after a sign-out shows no page of the application, neither the one after the sign-in nor a
    later one."""
    browser, page = person.browser, f"https://{person.deployment.page.host}"
    person.sign_out_elsewhere()
    opens(person, "/page")
    for links in ([], ["/page?2", "/public/x", "/page?3"]):
        for link in links:
            browser.execute_script("location.href = arguments[0]", link)
            WebDriverWait(browser, 20).until(lambda it: it.current_url == person.url + link)
        back = f"{person.url}/page"
        browser.execute_script("location.href = arguments[0]", f"{page}/sign-out?return={quote(back)}")
        wait_for(person, "Sign out")
        person.press()
        wait_for(person, "You have signed out.")
        is_accessible(person)
        for _ in range(len(links) + 3):
            browser.execute_script("history.back()")
            browser.execute_async_script("setTimeout(arguments[0], 300)")
            assert OURS not in text_of(browser), (person.deployment.name, "back", links, browser.current_url)
        opens(person, "/page")
    person.sign_out_elsewhere()
    browser.delete_all_cookies()
