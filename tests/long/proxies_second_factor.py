"""Checks in Chromium how a person with a second factor signs in to the application: first with the password, and then
with the code."""

from one_time_codes import Phone
from proxies_network import call
from proxies_process import check_identity
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait


def turn_on(user, password, urls):
    """Turns the second factor on, and returns the phone and the recovery codes."""
    token = call("POST", "/login", {"username": user.name, "password": password}, urls=urls)["access_token"]
    begun = call("POST", "/profile/second-factor", {"current_password": password}, token, urls)
    phone = Phone(begun["secret"])
    call("PUT", "/profile/second-factor", {"otp": phone.code()}, token, urls)
    return phone, begun["recovery_codes"]


def signs_in_with_a_code(person):
    """Signs in with a code and with recovery codes. At the start, `person` has no page of the application open, and no
    session."""
    browser, name = person.browser, person.deployment.name
    phone, recovery_codes = turn_on(person.user, person.password, person.deployment.urls)

    def is_shown(text):
        shown = "return document.querySelector('main')?.innerText ?? ''"
        WebDriverWait(browser, 20).until(lambda it: text in it.execute_script(shown), f"{text} in {name}")

    def comes_to_the_code(path):
        browser.get(person.url + path)
        person.fill()
        is_shown(f"You are signing in as {person.user.name}.")
        assert not browser.find_elements(By.NAME, "password"), (name, "the password is typed once")
        assert browser.execute_script("return document.activeElement.name") == "otp", name

    def enters(field, code):
        browser.find_element(By.NAME, field).send_keys(code)
        person.press()

    comes_to_the_code("/x?a=1#part")
    enters("otp", "12345")
    is_shown("Invalid one-time code.")
    code = phone.code()
    enters("otp", f" {code[:3]} {code[3:]} ")
    check_identity(person.sees(f"{person.url}/x?a=1#part"), person.user.identity, name)
    person.sign_out_elsewhere()
    # The person signs in without the phone.
    comes_to_the_code("/x?a=2")
    browser.find_element(By.TAG_NAME, "summary").click()
    enters("recovery_code", recovery_codes[0].lower().replace("-", " "))
    check_identity(person.sees(f"{person.url}/x?a=2"), person.user.identity, name)
    person.sign_out_elsewhere()
    # A recovery code is accepted only once.
    comes_to_the_code("/x?a=3")
    browser.find_element(By.TAG_NAME, "summary").click()
    enters("recovery_code", recovery_codes[0])
    is_shown("Invalid one-time code.")
    browser.delete_all_cookies()
