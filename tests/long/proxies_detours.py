"""Checks detours through the sign-in page, in Chromium over HTTPS. Each must end where a visit with a cookie would have
ended."""

import re

from proxies_deployments import OTHER
from proxies_network import call
from proxies_pages import is_accessible
from proxies_process import Application, check_identity
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

DEEP_LINKS = ("/x?a=1&b=%2F", "/x?a=1#/silences/new", "/#/silences/new?from=mail", "/edit?c=d#top", "/elsewhere/x?a#b")
FORM = b'<!doctype html><form method="post" action="/save?e=f"><input name="text"><button>Save</button></form>'


class Site(Application):
    """An application that also has a form at `/edit`, and redirects from `/elsewhere/` to another host."""

    class Handler(Application.Handler):
        def do_GET(self):
            if self.path.startswith("/edit"):
                return self._answer(200, {"Content-Type": "text/html"}, FORM)
            if self.path.startswith("/elsewhere/"):
                port = self.headers["Host"].rpartition(":")[2]
                target = f"https://{OTHER}:{port}/public/{self.path.removeprefix('/elsewhere/')}"
                return self._answer(303, {"Location": target}, b"")
            return super().do_GET()

        def _answer(self, status, headers, body):
            self.server.received += 1
            self.send_response(status)
            for name, value in {**headers, "Cache-Control": "no-store", "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)


class Detours:
    def __init__(self, person, other, admin, password):
        self.person, self.other, self.admin, self.password = person, other, admin, password
        self.browser, self.deployment = person.browser, person.deployment
        self.page = f"https://{self.deployment.page.host}/sign-in"

    def wait_for(self, url):
        url = re.sub(r"/elsewhere/", "/public/", url).replace(self.deployment.app.host, self._host_of(url))
        WebDriverWait(self.browser, 20).until(
            lambda it: it.current_url == url,
            f"{url} in {self.deployment.name}, not {self.browser.current_url}")

    def _host_of(self, url):
        return f"{OTHER}:{self.deployment.app.port}" if "/elsewhere/" in url else self.deployment.app.host

    def is_at_the_page(self):
        assert self.browser.current_url.startswith(self.page), (self.deployment.name, self.browser.current_url)

    def text(self):
        return self.browser.find_element(By.TAG_NAME, "main").text

    def forget(self):
        # Without the blank page, an address with the same fragment would not be loaded again.
        self.browser.get("about:blank")
        self.browser.execute_cdp_cmd("Network.clearBrowserCookies", {})

    def end_sessions(self):
        """Ends the sessions by the API, so that the browser keeps its cookies."""
        user = self.person.user
        call("DELETE", f"/users/{user.id}/sessions", None, self.admin.token, self.deployment.urls)

    def deep_links(self):
        for link in DEEP_LINKS:
            self.forget()
            self.browser.get(self.person.url + link)
            self.is_at_the_page()
            self.person.fill()
            self.wait_for(self.person.url + link)
            # A visit with the cookie must end at the same address.
            self.browser.get("about:blank")
            self.browser.get(self.person.url + link)
            self.wait_for(self.person.url + link)

    def back_and_on(self):
        """Checks that a signed-in user who goes back to the sign-in page is named there, and is not redirected."""
        link = self.person.url + "/x?a=1#/silences/new"
        for by_keyboard in (False, True):
            self.forget()
            self.browser.get(link)
            self.person.fill()
            self.wait_for(link)
            self.browser.back()
            WebDriverWait(self.browser, 20).until(lambda it: it.current_url.startswith(self.page))
            said = f"You are signed in as {self.person.user.name}: go on, or sign in as somebody else."
            assert said in self.text(), (self.deployment.name, self.text())
            is_accessible(self.person)
            if by_keyboard:
                self.browser.switch_to.active_element.send_keys(Keys.TAB)
                self.browser.switch_to.active_element.send_keys(Keys.ENTER)
            else:
                self.browser.find_element(By.NAME, "go_on").click()
            self.wait_for(link)

    def somebody_else(self):
        """Checks that a sign-in as another user signs the previous user out."""
        self.forget()
        self.person.sign_in(self.person.url + "/x")
        self.browser.get(f"{self.page}?return={self.person.url}/x")
        assert f"You are signed in as {self.person.user.name}" in self.text(), (self.deployment.name, self.text())
        user, self.person.user = self.person.user, self.other
        try:
            cookie = self.session()
            self.person.fill()
            seen = self.person.sees(self.person.url + "/x")
            check_identity(seen, self.other.identity, self.deployment.name)
            refused = self.deployment.app.ask("/x", ("Cookie", cookie))
            assert refused.status == 401, (self.deployment.name, refused.status)
        finally:
            self.person.user = user

    def session(self):
        name = self.deployment.cookie
        cookies = self.browser.execute_cdp_cmd("Network.getAllCookies", {})["cookies"]
        (value,) = [it["value"] for it in cookies if it["name"] == name]
        return f"{name}={value}"

    def two_tabs(self):
        one, two = self.person.url + "/x?tab=1#one", self.person.url + "/x?tab=2#two"
        self.forget()
        self.browser.get(one)
        tab = self.browser.current_window_handle
        self.browser.switch_to.new_window("tab")
        self.browser.get(two)
        self.person.fill()
        self.wait_for(two)
        self.browser.close()
        self.browser.switch_to.window(tab)
        # The form in the first tab still works, also after a reload of the page.
        self.browser.refresh()
        assert f"You are signed in as {self.person.user.name}" in self.text(), (self.deployment.name, self.text())
        self.person.fill()
        self.wait_for(one)

    def pop_up(self):
        link = self.person.url + "/x?a=1#popped"
        self.forget()
        self.browser.get(self.person.url + "/public/x")
        tab = self.browser.current_window_handle
        self.browser.execute_script("window.open(arguments[0], 'popup', 'width=400,height=600')", link)
        WebDriverWait(self.browser, 20).until(lambda it: len(it.window_handles) == 2)
        (popup,) = set(self.browser.window_handles) - {tab}
        self.browser.switch_to.window(popup)
        self.person.fill()
        self.wait_for(link)
        assert self.browser.execute_script("return window.opener !== null"), f"{self.deployment.name}: no opener"
        self.browser.close()
        self.browser.switch_to.window(tab)

    def dead_cookie_and_bookmark(self):
        """Checks a cookie whose session has ended. Without a return address, the sign-in leads to the root of the
        page's host."""
        self.forget()
        self.person.sign_in(self.person.url + "/x")
        self.end_sessions()
        self.browser.get(self.page)
        assert "You are" not in self.text(), (self.deployment.name, self.text())
        self.person.fill()
        self.wait_for(f"https://{self.deployment.page.host}/")
        self.browser.get(self.person.url + "/x")
        self.wait_for(self.person.url + "/x")

    def wrong_password(self):
        link = self.person.url + "/x?a=1#/silences/new"
        self.forget()
        self.browser.get(link)
        self.person.password += "x"
        self.person.fill()
        self.person.password = self.password
        wait = WebDriverWait(self.browser, 20, ignored_exceptions=[StaleElementReferenceException])
        wait.until(lambda it: "Invalid username or password." in self.text(), self.deployment.name)
        is_accessible(self.person)
        self.browser.find_element(By.NAME, "password").send_keys(self.password + Keys.ENTER)
        self.wait_for(link)

    def lost_session_with_a_form_open(self):
        self.forget()
        form = self.person.url + "/edit?c=d"
        self.browser.get(form)
        self.person.fill()
        self.wait_for(form)
        self.end_sessions()
        before = self.deployment.app.application.received
        self.browser.find_element(By.TAG_NAME, "button").click()
        WebDriverWait(self.browser, 20).until(lambda it: it.current_url.startswith(self.page))
        assert self.deployment.app.application.received == before, self.deployment.name
        assert "What you sent was not saved." in self.text(), (self.deployment.name, self.text())
        is_accessible(self.person)
        self.person.fill()
        self.wait_for(form)

    def long_address(self):
        self.forget()
        self.browser.get(self.person.url + "/x?" + "a" * 3000)
        assert "is too long to return to." in self.text(), (self.deployment.name, self.text())
        is_accessible(self.person)
        self.person.fill()
        self.wait_for(self.person.url + "/")

    def two_good_sessions(self):
        """Checks two valid sessions. A host of the domain has set another cookie for a path, so that it does not reach
        the sign-in page."""
        if self.deployment.app is self.deployment.page:
            return
        self.forget()
        self.person.sign_in(self.person.url + "/x")
        name, value = self.deployment.sign_in(self.other.name, self.password).split("=")
        tossed = {"name": name, "value": value, "url": f"{self.person.url}/x", "path": "/x", "secure": True}
        self.browser.execute_cdp_cmd("Network.setCookie", tossed)
        self.browser.get(self.person.url + "/x")
        self.is_at_the_page()
        assert "This browser sent two sign-ins" in self.text(), (self.deployment.name, self.text())
        is_accessible(self.person)
        self.deployment.sign_out(f"{name}={value}")
        self.browser.get(self.person.url + "/x")
        self.wait_for(self.person.url + "/x")


def detours(person, other, admin, password):
    walk = Detours(person, other, admin, password)
    for step in (walk.deep_links, walk.back_and_on, walk.somebody_else, walk.two_tabs, walk.pop_up,
                 walk.dead_cookie_and_bookmark, walk.wrong_password, walk.lost_session_with_a_form_open,
                 walk.long_address, walk.two_good_sessions):
        step()
    walk.forget()
