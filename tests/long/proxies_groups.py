"""Checks routes that require groups, and the groups that applications get, also if a user has as many as possible."""

import re

from proxies_network import call
from proxies_process import ROOT, Application, Proxy, changed, configuration

# The requirements of `/admin` and of `/` in the shipped files, and the text around them.
SHIPPED = {
    "nginx": ("auth_request /_rolegate/admin;", "auth_request /_rolegate;"),
    "caddy": ('import rolegate "?roles=admin"', 'import rolegate "?"'),
    "haproxy": ("lua.rolegate /authorize?roles=admin", "lua.rolegate /authorize"),
    "envoy": ("context_extensions: { roles: admin }", 'context_extensions: { roles: "*" }'),
    "traefik": ("address: http://127.0.0.1:8002/authorize?roles=admin", "address: http://127.0.0.1:8002/authorize"),
}
AROUND = {
    "nginx": ("location ~* ^/admin {{ {} ", "location / {{ {} "),
    "caddy": ("handle /admin* {{\n\t\t\t{}\n", "handle {{\n\t\t\t{}\n"),
    "haproxy": ("http-request {} if is_admin ", "http-request {} if !is_admin "),
    "envoy": ("check_settings: {{ {} }}", "check_settings: {{ {} }}"),
    "traefik": ("{}\n", "{}\n"),
}
# The columns of the table in docs/proxies.md: a group, any of two groups, and a role or a group.
DOCUMENTED = ["staff", "staff,crew", "author or staff"]
# Locations of nginx that answer with a page of another location. The first one is public, and its page is not.
REDIRECTING = """location /public/lost { auth_request off; error_page 404 = /x; proxy_intercept_errors on;
            proxy_pass http://application/status/404; }
        location /lost { error_page 404 = /public/x; proxy_intercept_errors on;
            proxy_pass http://application/status/404; }
        location /public/ {"""
# A user can be in at most so many groups, and a name has at most so many bytes.
MAX_GROUPS, MAX_NAME_BYTES = 100, 32
# The statuses of a requirement that is a mistake. The other proxies pass on the 400 of Rolegate.
MISTAKE = {"nginx": 500, "envoy": 500}


def documented(name):
    """Returns the requirements of `DOCUMENTED`, as docs/proxies.md writes them for this proxy."""
    page = (ROOT / "docs/proxies.md").read_text()
    (cells,) = re.findall(rf"^\| {name}" + r" \| `([^|]*)`" * len(DOCUMENTED) + r" \|$", page, re.M | re.I)
    return dict(zip(DOCUMENTED, cells, strict=True))


def mistaken(name, groups, roles=None):
    """Returns a requirement that is a mistake, in the manner of a proxy."""
    named = {"roles": roles, "groups": groups} if roles else {"groups": groups}
    if name == "envoy":
        return "context_extensions: {{ {} }}".format(", ".join(f'{kind}: "{names}"' for kind, names in named.items()))
    query = "&".join(f"{kind}={names}" for kind, names in named.items())
    return {"nginx": f"auth_request /_rolegate/{roles + '/' if roles else ''}groups/{groups};",
            "caddy": f'import rolegate "?{query}"', "haproxy": f"lua.rolegate /authorize?{query}",
            "traefik": f"address: http://127.0.0.1:8002/authorize?{query}"}[name]


def requiring(name, *requirements):
    """Returns the shipped files with these requirements of `/admin` and of `/`."""
    files = configuration(name)
    for around, shipped, instead in zip(AROUND[name], SHIPPED[name], requirements, strict=True):
        old, new = around.format(shipped), around.format(instead)
        assert sum(text.count(old) for text in files.values()) == 1, (name, old)
        files = {file: text.replace(old, new) for file, text in files.items()}
    return files


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
        self.author = make_user("an author without groups", password, "author")
        call("PUT", f"/users/{self.author.id}/role", {"role": "author"}, admin.token)
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


def groups(name, members, newcomer):
    """Checks the groups behind one proxy. `newcomer` is a user of this proxy alone, in no group."""
    application, required = ReadingApplication(), documented(name)
    for files, check in (
            (configuration(name), applications_get_groups),
            (requiring(name, required["staff"], required["author or staff"]), members_pass),
            (requiring(name, required["staff,crew"], mistaken(name, "staff,nothing-like-it")), any_group_passes),
            (requiring(name, mistaken(name, ""), mistaken(name, "staff", roles="*")), mistakes)):
        proxy = Proxy(name, application, files)
        try:
            check(proxy, members, newcomer)
        except BaseException:
            print((proxy.folder / "log").read_text(errors="replace")[-3000:])
            raise
        finally:
            proxy.stop()
    if name == "nginx":
        redirected_inside_nginx(application, members)
    application.shutdown()
    print(f"proxies: {name} requires groups, and passes on {MAX_GROUPS} of them", flush=True)


def applications_get_groups(proxy, members, _):
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


def members_pass(proxy, members, newcomer):
    """Checks the requirements `staff` at /admin and `author or staff` at /x."""
    expect = proxy.expect
    expect(200, "/admin/x", members.worker.bearer, identity=members.worker.identity)
    expect(200, "/x", members.worker.basic, identity=members.worker.identity)
    expect(200, "/x", members.author.bearer, identity=members.author.identity)
    # No role includes a group, not even that of an admin.
    for user in (members.nobody, members.sailor, members.author, members.admin, members.joiner):
        for sent in ([], [("Rolegate-Groups", "staff"), ("Remote-Groups", "staff")]):
            expect(403, "/admin/x", user.bearer, *sent)
            expect(403, "/admin/x", user.basic, *sent)
    for user in (members.nobody, members.sailor):
        expect(403, "/x", user.bearer)
    for path in ("/x", "/admin/x"):
        expect(401, path)
        expect(401, path, ("Authorization", "Bearer x"))
    # A membership counts from the next request on.
    expect(403, "/admin/x", newcomer.bearer)
    members.add(newcomer, "staff")
    expect(200, "/admin/x", newcomer.bearer, identity=newcomer.identity)


def any_group_passes(proxy, members, newcomer):
    """Checks the requirement `staff,crew` at /admin, and one with an unknown group at /x."""
    for user in (members.worker, members.sailor, newcomer):
        proxy.expect(200, "/admin/x", user.bearer, identity=user.identity)
    for user in (members.nobody, members.admin, members.joiner):
        proxy.expect(403, "/admin/x", user.bearer)
    # Also a user whom the other name would admit gets an error, but a stranger does not learn about it.
    for user in (members.worker, members.nobody, members.admin):
        proxy.expect(MISTAKE.get(proxy.name, 400), "/x", user.bearer)
        proxy.expect(MISTAKE.get(proxy.name, 400), "/x", user.basic)
    proxy.expect(401, "/x")


def mistakes(proxy, members, _):
    """Checks a requirement that names no group at /admin, and one of `*` or a group at /x."""
    for path in ("/admin/x", "/x"):
        for user in (members.worker, members.admin, members.nobody):
            proxy.expect(MISTAKE.get(proxy.name, 400), path, user.bearer)
        proxy.expect(401, path)


def redirected_inside_nginx(application, members):
    """Checks that the application gets the groups of the last decision, and none without a decision."""
    proxy = Proxy("nginx", application, changed(configuration("nginx"), "nginx.conf", "location /public/ {", REDIRECTING))
    try:
        for user in (members.worker, members.nobody):
            proxy.expect(200, "/public/lost", user.bearer, identity=user.identity)
            proxy.expect(200, "/lost", user.bearer)
    finally:
        proxy.stop()
