"""Checks the groups that applications get, also if a user has as many as possible."""

from proxies_network import call
from proxies_process import Application, Proxy, changed, configuration

# Locations of nginx that answer with a page of another location. The first one is public, and its page is not.
REDIRECTING = """location /public/lost { auth_request off; error_page 404 = /x; proxy_intercept_errors on;
            proxy_pass http://application/status/404; }
        location /lost { error_page 404 = /public/x; proxy_intercept_errors on;
            proxy_pass http://application/status/404; }
        location /public/ {"""
# A user can be in at most so many groups, and a name has at most so many bytes.
MAX_GROUPS, MAX_NAME_BYTES = 100, 32


class ReadingApplication(Application):
    """An application that reads the whole body before it answers. Otherwise, a proxy might find the connection closed
    while it still sends the body."""

    class Handler(Application.Handler):
        def do_GET(self):
            self.rfile.read(int(self.headers["Content-Length"] or 0))
            super().do_GET()

        do_POST = do_GET


class Members:
    """Users for all proxies: in no group, in one, in several, and in as many as possible."""

    def __init__(self, make_user, password, admin):
        self.admin, self.ids = admin, {}
        for group in ("staff", "crew", "alpha"):
            self.create(group)
        self.nobody = make_user("a member of nothing", password)
        self.sailor = make_user("a sailor", password)
        self.add(self.sailor, "crew")
        self.worker = make_user("a worker", password)
        # The names arrive in another order than that of their addition.
        self.add(self.worker, "staff", "crew", "alpha")
        # This name takes 733 bytes in each of three headers, because its letters are percent-encoded.
        self.joiner = make_user("\u00f6" * 120 + "@corp.example", password)
        names = [f"group-{number:03}-".ljust(MAX_NAME_BYTES, "x") for number in range(MAX_GROUPS)]
        for group in reversed(names):
            self.create(group)
            self.add(self.joiner, group)

    def create(self, group):
        self.ids[group] = call("POST", "/groups", {"name": group}, self.admin.token)["id"]

    def add(self, user, *groups):
        for group in groups:
            call("PUT", f"/groups/{self.ids[group]}/members/{user.id}", {}, self.admin.token)
        named = filter(None, [*user.identity[3].split(","), *groups])
        user.identity = (*user.identity[:3], ",".join(sorted(named)))


def groups(name, members):
    application = ReadingApplication()
    proxy = Proxy(name, application)
    try:
        applications_get_groups(proxy, members)
    except BaseException:
        print((proxy.folder / "log").read_text(errors="replace")[-3000:])
        raise
    finally:
        proxy.stop()
    if name == "nginx":
        redirected_inside_nginx(application, members)
    application.shutdown()
    print(f"proxies: {name} passes on {MAX_GROUPS} groups", flush=True)


def applications_get_groups(proxy, members):
    forged = [("Rolegate-Groups", "staff"), ("Remote-Groups", "staff"), ("Rolegate-Groups", ""), ("remote-groups", "x")]
    for user in (members.nobody, members.sailor, members.worker, members.joiner):
        for sent in ([], forged):
            for header in (user.bearer, user.basic):
                proxy.expect(200, "/x", header, *sent, identity=user.identity)
            proxy.expect(200, "/public/x", user.bearer, *sent)
            proxy.expect(401, "/x", *sent)
    # What else takes room in a buffer must not displace the groups, nor the rest of the identity.
    cookie = ("Cookie", "a=" + "x" * 7_000)
    others = [(f"X-Other-{number}", "x" * 1_000) for number in range(6)]
    for body in ("", "x" * 200_000):
        for sent in ([], [cookie], [cookie, *others]):
            method = "POST" if body else "GET"
            seen = proxy.expect(200, "/x", members.joiner.bearer, *sent, identity=members.joiner.identity,
                                method=method, body=body).seen
            assert [value for key, value in seen["headers"] if key.lower() == "cookie"] == [it[1] for it in sent[:1]]


def redirected_inside_nginx(application, members):
    """Checks that the application gets the groups of the last decision, and none without a decision."""
    proxy = Proxy("nginx", application, changed(configuration("nginx"), "nginx.conf", "location /public/ {", REDIRECTING))
    try:
        for user in (members.worker, members.nobody):
            proxy.expect(200, "/public/lost", user.bearer, identity=user.identity)
            proxy.expect(200, "/lost", user.bearer)
    finally:
        proxy.stop()
