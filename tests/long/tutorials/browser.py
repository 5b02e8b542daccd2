"""Opens the pages of a tutorial in Chromium. Each browser has a profile of its own."""

import shutil

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait


class Browser:
    """A page in a browser with a profile of its own."""

    def __init__(self, profile, url, flags):
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for flag in ["headless", "no-sandbox", "disable-gpu", "no-first-run", f"user-data-dir={profile}", *flags]:
            options.add_argument(f"--{flag}")
        self.driver, self.url = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver"))), url
        self.driver.get(url)

    def find(self, selector, text=""):
        """Waits until an element with this text is visible."""

        def visible(driver):
            found = driver.find_elements(By.CSS_SELECTOR, selector)
            return next((it for it in found if it.is_displayed() and text in it.text), None)

        wait = WebDriverWait(self.driver, 30, ignored_exceptions=[StaleElementReferenceException])
        return wait.until(visible, f"no {selector} {text}")

    sees = find

    def click(self, selector):
        self.find(selector).click()

    def reload(self):
        self.driver.refresh()

    def signs_in(self, password, username="ada"):
        for name, value in [("username", username), ("password", password)]:
            field = self.find(f"[name={name}]")
            field.clear()
            field.send_keys(value)
        self.click("form button")

    def has(self, count, selector):
        """Waits until there are so many elements."""

        def has(driver):
            return len(driver.find_elements(By.CSS_SELECTOR, selector)) == count

        WebDriverWait(self.driver, 30).until(has, f"not {count} {selector}")
