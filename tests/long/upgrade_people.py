"""Simulates people in browsers who use an application while programs of two versions run. Each request goes to another
replica."""

import http.client
import itertools
import re
import time
from urllib.parse import quote, unquote, urlencode

from one_time_codes import Phone

PASSWORD = "password of the upgrade"
# How many pages of the application a person opens between two sign-ins. People with a second factor open more, because
# their ten recovery codes must last for all phases.
VISITS = 25
VISITS_WITH_CODES = 100
# How long a person stays signed in under load, in seconds. A user may create 140 credentials in a minute, and a sign-in
# creates two, so that people who hurry would be refused on a fast machine.
MIN_STAY = 1.2
# How often a person may begin a sign-in with a code again before it counts as a loop.
MAX_BEGINNINGS = 5
APPLICATION = "app.example.org"
NAVIGATION = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document", "Sec-Fetch-Site": "same-origin",
              "Accept": "text/html,*/*;q=0.8"}
DOMAIN = {"COOKIE_DOMAIN": "example.org", "SIGN_IN_URL": "https://auth.example.org/sign-in",
          "RETURN_ORIGINS": "https://*.example.org"}


def turn_on_second_factor(api, name):
    """Turns the user's second factor on, and returns the recovery codes. `api` checks the status of each response."""
    token = api.token(name)
    begun = api(201, "POST", "/profile/second-factor", {"current_password": PASSWORD}, token)
    api(200, "PUT", "/profile/second-factor", {"otp": Phone(begun["secret"]).code()}, token)
    return begun["recovery_codes"]


class Response:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body
        self.location = headers.get("location")

    def __repr__(self):
        return f"{self.status} {self.headers.items()} {self.body[:300]}"


class Person:
    """A browser and what its user does, as a sequence of requests. A person who `stays` signs in once. A person with a
    second factor uses a recovery code at each sign-in, and stays signed in when only one code is left."""

    def __init__(self, name, user_id, admin, is_domain, stays, recovery_codes):
        self.name, self.user_id, self.admin, self.stays = name, user_id, admin, stays
        self.recovery_codes, self.begun_again = recovery_codes, 0
        self.page = "auth.example.org" if is_domain else APPLICATION
        self.cookie = "__Secure-rolegate" if is_domain else "__Host-rolegate"
        self.cookies, self.sign_ins = {}, 0
        self.min_stay = MIN_STAY
        self.walk = self.steps()
        self.request = next(self.walk)

    def go(self, replica):
        """Sends the next request to this replica."""
        listener, method, path, headers, body = self.request
        connection = http.client.HTTPConnection(getattr(replica, listener), timeout=30)
        try:
            connection.request(method, path, body, headers)
            received = connection.getresponse()
            response = Response(received.status, received.headers, received.read())
        finally:
            connection.close()
        for line in received.headers.get_all("Set-Cookie") or []:
            name, _, value = line.partition(";")[0].partition("=")
            if "Max-Age=0" in line:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value
        self.request = self.walk.send(response)

    def steps(self):
        for turn in itertools.count():
            yield from self.sign_in(f"/reports?turn={turn}")
            signed_in_at = time.monotonic()
            while True:
                for visit in range(VISITS if self.recovery_codes is None else VISITS_WITH_CODES):
                    yield from self.is_in(f"/reports?turn={turn}&visit={visit}")
                has_codes = self.recovery_codes is None or len(self.recovery_codes) > 1
                if not self.stays and has_codes and time.monotonic() >= signed_in_at + self.min_stay:
                    break
            if turn % 2:
                yield from self.sign_out()
            else:
                yield from self.is_signed_out_elsewhere()

    def sign_in(self, path):
        """Signs in, from a page of the application back to the same page. This takes one password, and a code if there
        is a second factor."""
        led = yield self.visit(path)
        back = path if self.page == APPLICATION else f"https://{APPLICATION}{path}"
        form = f"/sign-in?return={quote(back, safe='*-._')}"
        at = "" if self.page == APPLICATION else f"https://{self.page}"
        assert (led.status, led.location) == (303, at + form), ("not led to the page", self.name, led)
        shown = yield self.of_page("GET", form)
        assert shown.status == 200 and b"<form" in shown.body, (self.name, shown)
        fields = {"username": self.name, "password": PASSWORD, "return": back}
        answer = yield self.of_page("POST", form, fields)
        if self.recovery_codes is not None:
            answer = yield from self.enter_code(form, fields, answer)
        assert (answer.status, answer.location) == (303, back), (self.name, answer)
        assert self.cookie in self.cookies, (self.name, answer)
        self.sign_ins += 1
        yield from self.is_in(path, "in a loop")

    def enter_code(self, form, fields, answer):
        """Enters a recovery code on the page that the password led to. A replica of the other version may not know that
        page's form, and the person begins again."""
        code = self.recovery_codes.pop()
        for _ in range(MAX_BEGINNINGS):
            pending = re.search(rb'name="pending_sign_in" value="([^"]+)"', answer.body)
            if pending:
                assert answer.status == 200, (self.name, answer)
                known = {"pending_sign_in": pending[1].decode(), "otp": "", "recovery_code": code}
            else:
                # This is the page of the old version, which has the password and the code in one form.
                assert answer.status == 401, (self.name, answer)
                known = {"password": PASSWORD, "otp": code}
            entered = {"username": self.name, "return": fields["return"], **known}
            answer = yield self.of_page("POST", form, entered)
            if answer.status == 303:
                return answer
            assert answer.status == 400, (self.name, answer)
            self.begun_again += 1
            yield self.of_page("GET", form)
            answer = yield self.of_page("POST", form, fields)
        raise AssertionError(("in a loop", self.name, answer))

    def is_in(self, path, problem="thrown out"):
        response = yield self.visit(path)
        assert response.status == 200, (problem, self.name, response)
        assert unquote(response.headers["rolegate-username"]) == self.name, (self.name, response)

    def sign_out(self):
        answer = yield self.of_page("POST", "/sign-out", {"return": ""})
        assert answer.status == 303 and self.cookie not in self.cookies, (self.name, answer)

    def is_signed_out_elsewhere(self):
        """Ends the person's sessions by the API. The browser keeps its cookie."""
        headers = {"Authorization": f"Bearer {self.admin}"}
        answer = yield "bearer", "DELETE", f"/users/{self.user_id}/sessions", headers, None
        assert answer.status == 200 and self.cookie in self.cookies, (self.name, answer)

    def visit(self, path):
        """Returns the request by which a proxy asks about a request for the application."""
        forwarded = {"Method": "GET", "Proto": "https", "Host": APPLICATION, "Uri": path, "For": "192.0.2.1"}
        headers = {f"X-Forwarded-{name}": value for name, value in forwarded.items()}
        return "forward", "GET", "/authorize?roles=user", {**NAVIGATION, **headers, **self.sent(self.cookie)}, None

    def of_page(self, method, path, fields=None):
        headers = {"Host": self.page, "X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.1", **NAVIGATION}
        if self.page == APPLICATION:
            headers["Rolegate-Page"] = "application"
        if fields is None:
            return "bearer", method, path, {**headers, **self.sent(*self.cookies)}, None
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        return "bearer", method, path, {**headers, **self.sent(*self.cookies)}, urlencode(fields)

    def sent(self, *names):
        pairs = [f"{name}={self.cookies[name]}" for name in names if name in self.cookies]
        return {"Cookie": "; ".join(pairs)} if pairs else {}
