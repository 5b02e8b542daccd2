"""People in browsers who use an application while programs of two versions run. Each request goes to another replica."""

import http.client
import itertools
from urllib.parse import quote, unquote, urlencode

PASSWORD = "password of the upgrade"
# Requests for pages of the application between two sign-ins.
VISITS = 25
APPLICATION = "app.example.org"
NAVIGATION = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document", "Sec-Fetch-Site": "same-origin",
              "Accept": "text/html,*/*;q=0.8"}
DOMAIN = {"COOKIE_DOMAIN": "example.org", "SIGN_IN_URL": "https://auth.example.org/sign-in",
          "RETURN_ORIGINS": "https://*.example.org"}


class Response:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body
        self.location = headers.get("location")

    def __repr__(self):
        return f"{self.status} {self.headers.items()} {self.body[:300]}"


class Person:
    """A browser and what its user does, as requests to be sent. Whoever `stays` signs in once."""

    def __init__(self, name, user_id, admin, is_domain, stays):
        self.name, self.user_id, self.admin, self.stays = name, user_id, admin, stays
        self.page = "auth.example.org" if is_domain else APPLICATION
        self.cookie = "__Secure-rolegate" if is_domain else "__Host-rolegate"
        self.cookies, self.sign_ins = {}, 0
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
            while True:
                for visit in range(VISITS):
                    yield from self.is_in(f"/reports?turn={turn}&visit={visit}")
                if not self.stays:
                    break
            if turn % 2:
                yield from self.sign_out()
            else:
                yield from self.is_signed_out_elsewhere()

    def sign_in(self, path):
        """From a page of the application back to it, by one password."""
        led = yield self.visit(path)
        back = path if self.page == APPLICATION else f"https://{APPLICATION}{path}"
        form = f"/sign-in?return={quote(back, safe='*-._')}"
        at = "" if self.page == APPLICATION else f"https://{self.page}"
        assert (led.status, led.location) == (303, at + form), ("not led to the page", self.name, led)
        shown = yield self.of_page("GET", form)
        assert shown.status == 200 and b"<form" in shown.body, (self.name, shown)
        fields = {"username": self.name, "password": PASSWORD, "return": back}
        answer = yield self.of_page("POST", form, fields)
        assert (answer.status, answer.location) == (303, back), (self.name, answer)
        assert self.cookie in self.cookies, (self.name, answer)
        self.sign_ins += 1
        yield from self.is_in(path, "in a loop")

    def is_in(self, path, problem="thrown out"):
        response = yield self.visit(path)
        assert response.status == 200, (problem, self.name, response)
        assert unquote(response.headers["rolegate-username"]) == self.name, (self.name, response)

    def sign_out(self):
        answer = yield self.of_page("POST", "/sign-out", {"return": ""})
        assert answer.status == 303 and self.cookie not in self.cookies, (self.name, answer)

    def is_signed_out_elsewhere(self):
        """The browser keeps its cookie, whose session has ended."""
        headers = {"Authorization": f"Bearer {self.admin}"}
        answer = yield "bearer", "DELETE", f"/users/{self.user_id}/sessions", headers, None
        assert answer.status == 200 and self.cookie in self.cookies, (self.name, answer)

    def visit(self, path):
        """The request of a proxy about one for the application."""
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
