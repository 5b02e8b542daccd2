"""Checks configurations in which a line was forgotten: they refuse or ask Rolegate, and never let a request pass
without a decision."""

from proxies_process import Proxy, changed, configuration

# Locations of nginx that have no `auth_request` of their own.
LOCATIONS = """location /static/ { proxy_pass http://application; }
        location ~ [.]txt$ { proxy_pass http://application; }
        location = /exact { try_files /none @application; }
        location @application { proxy_pass http://application; }
        location /public/ {"""
# Another backend of HAProxy that has no rule of its own.
BACKEND = "    use_backend other if { path_beg /static/ }\n    default_backend application\n"
OTHER = "\nbackend other\n    server other 127.0.0.1:8080\n"


class ReadyProxy(Proxy):
    def is_ready(self):
        # The base class waits for another path, which may be refused here.
        return self.exchange("GET", "/sign-in", []).status == 200


def forgotten_lines(name, application, ann, admin):
    checks = {"nginx": locations_of_nginx, "caddy": routes_of_caddy, "haproxy": backend_of_haproxy, "traefik": routers_of_traefik}
    if name in checks:
        for files, check in checks[name](ann, admin):
            proxy = ReadyProxy(name, application, files)
            try:
                check(proxy)
            finally:
                proxy.stop()
        print(f"proxies: {name} lets nobody through where a line was forgotten", flush=True)


def any_user_passes(ann, *paths):
    def check(proxy):
        for path in paths:
            proxy.expect(401, path)
            proxy.expect(401, path, ("Remote-User", "eve"))
            proxy.expect(200, path, ann.bearer, identity=ann.identity)
    return check


def nobody_passes(path, ann, admin):
    def check(proxy):
        for headers in ([], [ann.bearer], [("Remote-User", "eve")], [ann.bearer, ("Remote_User", "eve")]):
            proxy.expect([401, 403, 500], path, *headers)
        proxy.expect(500, path, admin.bearer)
    return check


def locations_of_nginx(ann, _):
    """Such locations require any user, whichever of the two files the server includes."""
    files = changed(configuration("nginx"), "nginx.conf", "location /public/ {", LOCATIONS)
    check = any_user_passes(ann, "/static/x", "/x.txt", "/exact")
    yield files, check
    whole_host = files["nginx.conf"].replace("include rolegate.conf;", "include rolegate-whole-host.conf;")
    yield files | {"nginx.conf": whole_host}, check


def routes_of_caddy(ann, admin):
    """A route without an imported decision gives a 500, and so does every route of a site without the imported check of
    headers."""
    files = configuration("caddy")
    for line, path in (('import rolegate "?"\n', "/x"), ('import rolegate "?roles=admin"\n', "/admin/x"),
                       ("import rolegate_public\n", "/public/x")):
        yield changed(files, "Caddyfile", line, ""), nobody_passes(path, ann, admin)
    for path in ("/x", "/admin/x", "/public/x"):
        yield changed(files, "Caddyfile", "import rolegate_checks\n", ""), nobody_passes(path, ann, admin)


def backend_of_haproxy(ann, _):
    """Such a backend requires any user."""
    files = changed(configuration("haproxy"), "haproxy.cfg", "    default_backend application\n", BACKEND)
    yield files | {"haproxy.cfg": files["haproxy.cfg"] + OTHER}, any_user_passes(ann, "/static/x")


def routers_of_traefik(ann, admin):
    """A router without one of these middlewares gives a 500."""
    files = configuration("traefik")
    for router, path, forgotten in (
            ("[rolegate, users, private, no-credentials]", "/x", "rolegate, "),
            ("[rolegate, users, private, no-credentials]", "/x", "users, "),
            ("[rolegate, users, private, no-credentials]", "/x", "rolegate, users, "),
            ("[rolegate, admins, private, no-credentials]", "/admin/x", "admins, "),
            ("[rolegate, no-credentials]", "/public/x", "rolegate, ")):
        less = router.replace(forgotten, "")
        yield changed(files, "dynamic.yml", f"middlewares: {router}", f"middlewares: {less}"), nobody_passes(path, ann, admin)
