"""Checks people in Chromium who sign in through each proxy in both deployments, and who lose access with the next
request."""

import json
import tempfile

from proxies_browser import start
from proxies_deployments import DOMAIN, OTHER, domain, own_host
from proxies_detours import Site, detours
from proxies_network import call
from proxies_pages import pages_in_chromium, pages_of_ours
from proxies_process import check_identity
from proxies_second_factor import signs_in_with_a_code
from proxies_sessions import sessions_are_safe
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

# How many decisions are made through each proxy in each deployment, which gives 1,000 for all five proxies.
DECISIONS = 100
STATUS = """
const [path, options, done] = arguments;
fetch(path, { redirect: "manual", ...options }).then((it) => done(it.status || it.type), (it) => done(String(it)));
"""


class Person:
    """A user who signs in to the application in Chromium."""

    def __init__(self, browser, deployment, user, password):
        self.browser, self.deployment, self.user, self.password = browser, deployment, user, password
        self.url = f"https://{deployment.app.host}"
        browser.get(f"{self.url}/public/x")
        browser.execute_script("document.cookie = 'theme=dark; path=/'")

    def fill(self):
        """Fills in the form of the sign-in page, to which the browser was redirected."""
        wait = WebDriverWait(self.browser, 20)
        field = wait.until(lambda it: it.find_element(By.NAME, "username"))
        field.send_keys(self.user.name)
        self.browser.find_element(By.NAME, "password").send_keys(self.password)
        self.press()

    def press(self):
        self.browser.find_element(By.CSS_SELECTOR, "form button").click()

    def sees(self, url):
        WebDriverWait(self.browser, 20).until(lambda it: it.current_url == url, f"{url} in {self.deployment.name}")
        return json.loads(self.browser.find_element(By.TAG_NAME, "body").text)

    def sign_in(self, url=None):
        url = url or f"{self.url}/admin/x?a=1"
        self.browser.get(url)
        self.fill()
        return self.sees(url)

    def opens_the_page(self, path="/admin/x"):
        """Opens a path, and returns what the application shows, or None if the browser was redirected to the sign-in
        page."""
        self.browser.get(self.url + path)
        if self.browser.current_url == self.url + path:
            return True
        page = f"https://{self.deployment.page.host}/sign-in?"
        assert self.browser.current_url.startswith(page), (self.deployment.name, self.browser.current_url)
        return False

    def status(self, path="/admin/x", **options):
        return self.browser.execute_async_script(STATUS, path, options)

    def sign_out_elsewhere(self):
        """Signs out on the page, in another tab."""
        tab = self.browser.current_window_handle
        self.browser.switch_to.new_window("tab")
        self.browser.get(f"https://{self.deployment.page.host}/sign-out")
        self.press()
        WebDriverWait(self.browser, 20).until(lambda it: "/sign-in" in it.current_url)
        self.browser.close()
        self.browser.switch_to.window(tab)


def loses_access_at_once(person, admin):
    """Checks that no request passes after the person was demoted, disabled or signed out elsewhere."""
    deployment, user, late, urls = person.deployment, person.user, [], person.deployment.urls

    def role(name):
        call("PUT", f"/users/{user.id}/role", {"role": name}, admin.token, urls)

    def disabled(value):
        call("PATCH", f"/users/{user.id}", {"disabled": value}, admin.token, urls)

    def decide(what, expected):
        status = person.status()
        if status != expected:
            late.append((what, status))

    def is_refused(what):
        if person.opens_the_page():
            late.append(what)

    decided = 0
    while decided < DECISIONS - 20:
        role("user")
        decide("demoted", 403)
        role("admin")
        decide("promoted", 200)
        decided += 1
    for _ in range(10):
        disabled(True)
        is_refused("disabled")
        disabled(False)
        if not person.opens_the_page():
            person.sign_in()
        decided += 1
    for _ in range(10):
        person.sign_out_elsewhere()
        is_refused("signed out elsewhere")
        person.sign_in()
        decided += 1
    assert not late, (deployment.name, late)
    return decided


def in_chromium(browser, deployment, user, other, admin, password):
    person = Person(browser, deployment, user, password)
    pages_in_chromium(person)
    browser.get(f"{person.url}/public/x")
    browser.execute_script("document.cookie = 'theme=dark; path=/'")
    call("PUT", f"/users/{user.id}/role", {"role": "admin"}, admin.token, deployment.urls)
    seen = person.sign_in()
    check_identity(seen, (*user.identity[:2], "admin", ""), deployment.name)
    cookies = [value for name, value in seen["headers"] if name.lower() == "cookie"]
    assert cookies == ["theme=dark"], (deployment.name, cookies)
    assert browser.execute_script("return document.cookie") == "theme=dark", deployment.name
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert person.status(method=method) == 200, (deployment.name, method)
    if deployment.page is not deployment.app:
        # The other hosts of the domain know the person, too.
        other_host = f"https://{OTHER}:{deployment.app.port}"
        browser.get(f"{other_host}/x")
        person.sees(f"{other_host}/x")
        browser.get(f"{person.url}/x")
    decided = loses_access_at_once(person, admin)
    person.sign_out_elsewhere()
    assert not person.opens_the_page() and not person.opens_the_page("/x?a=1"), deployment.name
    browser.delete_all_cookies()
    detours(person, other, admin, password)
    browser.delete_all_cookies()
    call("PUT", f"/users/{user.id}/role", {"role": "user"}, admin.token, deployment.urls)
    signs_in_with_a_code(person)
    return decided


def people(names, make_user, password):
    application, decided = Site(), 0
    with tempfile.TemporaryDirectory() as folder:
        browser = start(folder, f"host-resolver-rules=MAP *.{DOMAIN} 127.0.0.1", "ignore-certificate-errors")
        try:
            for name in names:
                for kind in (own_host, domain):
                    with kind(name, application) as deployment:
                        admin = make_user("admin", password, "admin", deployment.urls)
                        user = make_user(f"ann behind {name}", password, "user", deployment.urls)
                        other = make_user(f"bob behind {name}", password, "user", deployment.urls)
                        sessions_are_safe(deployment, user, admin, password)
                        pages_of_ours(deployment, user, admin, password)
                        decided += in_chromium(browser, deployment, user, other, admin, password)
                    print(f"proxies: people sign in and lose access at once: {deployment.name}", flush=True)
        finally:
            browser.quit()
    print(f"proxies: 0 of {decided} decisions in Chromium came late", flush=True)
