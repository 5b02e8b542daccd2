"""A headless Chromium that shows the console, and the steps that several checks share."""

import shutil

from deployment import PASSWORD
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

# The sizes of windows. The last has the width of WCAG 1.4.10 (Reflow).
WIDE, NARROW, SMALL = (1280, 800), (375, 720), (320, 568)
DEADLINE = 30


class Page:
    def __init__(self, deployment, folder):
        self.deployment = deployment
        self.url = f"{deployment.url}{deployment.start_page}"
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        flags = "headless no-sandbox disable-gpu disable-quic no-first-run disable-sync hide-scrollbars"
        flags += " disable-background-networking disable-component-update lang=en-GB"
        for flag in [*flags.split(), *deployment.chromium_flags, f"user-data-dir={folder}"]:
            options.add_argument(f"--{flag}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        service = webdriver.ChromeService(shutil.which("chromedriver"))
        self.browser = webdriver.Chrome(options, service)
        self.resize(WIDE)

    def resize(self, size, scheme="light"):
        metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size != WIDE}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

    def open(self, username=None, fragment=""):
        """Opens a single tab without a session, and signs in if there is a username."""
        for tab in self.browser.window_handles[1:]:
            self.browser.switch_to.window(tab)
            self.browser.close()
        self.browser.switch_to.window(self.browser.window_handles[0])
        self.resize(WIDE)
        self.browser.get("about:blank")
        self.browser.execute_cdp_cmd("Network.clearBrowserCookies", {})
        self.go(fragment)
        if username:
            self.sign_in(username)

    def open_tab(self, fragment=""):
        """Opens another tab, and returns the tab that was shown before."""
        before = self.browser.current_window_handle
        self.browser.switch_to.new_window("tab")
        self.go(fragment)
        return before

    def go(self, fragment=""):
        self.browser.get(self.url + fragment)

    def script(self, text, *arguments):
        return self.browser.execute_script(text, *arguments)

    def wait(self, condition, problem):
        def holds(_):
            try:
                return condition()
            except WebDriverException as error:
                # While one page replaces another, chromedriver also reports a stale element in these words.
                is_stale = isinstance(error, StaleElementReferenceException)
                if is_stale or "does not belong to the document" in str(error):
                    return None
                raise

        return WebDriverWait(self.browser, DEADLINE, 0.05).until(holds, problem)

    def all(self, selector):
        """Returns the matching elements that are displayed."""
        found = self.browser.find_elements(By.CSS_SELECTOR, selector)
        return [element for element in found if element.is_displayed()]

    def find(self, selector, text=None):
        """Waits for a displayed element with this text in its text, value or label, and returns it."""

        def fits(element):
            return text is None or text in (element.text or element.get_attribute("value") or "")

        def look():
            return next((element for element in self.all(selector) if fits(element)), None)

        return self.wait(look, f"no {selector} {text or ''}: {self.text()}")

    def text(self, selector="body"):
        return self.script("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def click(self, selector, text=None):
        self.find(selector, text).click()

    def type(self, selector, text):
        element = self.find(selector)
        element.send_keys(Keys.CONTROL, "a")
        element.send_keys(text)

    def press(self, *keys):
        webdriver.ActionChains(self.browser).send_keys(*keys).perform()

    def choose(self, selector, value):
        Select(self.find(selector)).select_by_value(value)

    def part(self, title):
        """Opens a part of the dialog of a user."""
        self.click("dialog [role=tab]", title)

    def agree(self, text):
        """Agrees to a question by the button with this text."""
        self.click("dialog.question button.danger", text)
        self.wait(lambda: not self.all("dialog.question"), "the question stays")

    def change_role(self, role):
        """Changes the role in the dialog of a user."""
        self.part("Role")
        self.choose("dialog [aria-label=Role] select", role)
        self.click("dialog [aria-label=Role] button")

    def sign_in(self, username, password=PASSWORD, code=None):
        """Signs in on the sign-in page, which leads back to the console."""
        self.type("form [name=username]", username)
        self.type("form [name=password]", password)
        self.click("form button", "Sign in")
        if code:
            self.add_code(code)
        self.find(".who", username)

    def add_code(self, code):
        """Enters a one-time code on the page that follows the right password."""
        self.type("form [name=otp]", code)
        self.click("form button", "Sign in")

    def sign_in_again(self, username, code=None):
        """Signs in again in the tab that the notice of an ended session opens, and which closes afterwards."""
        before = self.browser.current_window_handle
        tabs = set(self.browser.window_handles)
        self.click("#ended a")
        self.wait(lambda: len(self.browser.window_handles) > len(tabs), "no new tab")
        self.browser.switch_to.window((set(self.browser.window_handles) - tabs).pop())
        self.sign_in(username, code=code)
        self.browser.close()
        self.browser.switch_to.window(before)

    def search(self, name):
        """Searches for a name that no other name contains, and waits until the list shows only this user."""
        self.type("[type=search]", name)
        self.wait(lambda: self.names() == [name], f"{name} is not the only one")

    def names(self):
        return [cell.text for cell in self.all("td.name > span:first-child")]

    def manage(self, username):
        """Searches for the user, and opens the user's dialog."""
        self.type("[type=search]", username)
        found = lambda: username in (names := self.names()) and all(username in name for name in names)
        self.wait(found, f"{username} is missing")
        label = f"Manage {username}"
        next(it for it in self.all("td.end button") if it.get_attribute("aria-label") == label).click()
        self.find("#app dialog h2", username)

    def requests(self):
        """Returns the method, path and status of each request in the pane, the newest first."""
        lines = self.in_request_log("[...pane.querySelectorAll('summary')].map((line) => [...line.children].map((it) => it.textContent))")
        return [tuple(line[:3]) for line in lines]

    def in_request_log(self, expression):
        """Returns the value of an expression of JavaScript about the open `pane`. Opens it only meanwhile."""
        return self.script(
            "const pane = document.getElementById('requests'), focused = document.activeElement;"
            "const toggle = () => { pane.querySelector('.toggle').click(); focused.focus(); };"
            "const isClosed = !pane.classList.contains('open'); if (isClosed) toggle();"
            f"const found = {expression}; if (isClosed) toggle(); return found"
        )

    def token(self):
        """Returns the token of the session, which no script of the page can read, or None without a session."""
        cookie = self.browser.get_cookie(self.deployment.cookie)
        return cookie and cookie["value"]

    def content(self):
        """Returns everything that a script of the page can read."""
        return self.script(
            "return [document.documentElement.outerHTML, document.cookie, location.href,"
            " ...[...document.querySelectorAll('input')].map((it) => it.value),"
            " ...Object.values(sessionStorage), ...Object.values(localStorage), JSON.stringify(history.state)].join(' ')"
        )

    def inject(self, source):
        """Runs a script before those of each page that is loaded next. Returns a function that ends this."""
        add, remove = "Page.addScriptToEvaluateOnNewDocument", "Page.removeScriptToEvaluateOnNewDocument"
        script = self.browser.execute_cdp_cmd(add, {"source": source})
        return lambda: self.browser.execute_cdp_cmd(remove, script)

    def problems(self):
        """Returns the browser's complaints, without those about responses that checks provoke."""
        messages = [entry["message"] for entry in self.browser.get_log("browser") if entry["level"] != "DEBUG"]
        # Autofocus comes too late if a check types at once, and signing out may clear the cache.
        expected = ("the server responded with a status of", "Autofocus processing was blocked", "Clear-Site-Data header on", "net::ERR_CONNECTION_REFUSED", "net::ERR_EMPTY_RESPONSE", "net::ERR_CONNECTION_RESET")
        return [it for it in messages if not any(part in it for part in expected)]
