"""Applications that people use in a browser, most of them by a WebSocket or a stream of events."""

import json
import re
import socket
import sqlite3
import subprocess

from applications_run import INSTALLED, Application
from proxies_network import free_port, until
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

DJANGO_SETTINGS = """
SECRET_KEY = "of a test"
ROOT_URLCONF = "urls"
ALLOWED_HOSTS = ["*"]
INSTALLED_APPS = ["django.contrib." + it for it in ("admin", "auth", "contenttypes", "sessions", "messages", "staticfiles")]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware", "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware", "users.RolegateMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
AUTHENTICATION_BACKENDS = ["users.Staff"]
# Forms are sent over HTTPS.
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "db.sqlite3"}}
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True, "OPTIONS": {
    "context_processors": ["django.template.context_processors.request", "django.contrib.auth.context_processors.auth",
                           "django.contrib.messages.context_processors.messages"]}}]
STATIC_URL = "static/"
"""
DJANGO_USERS = """
from django.contrib.auth.backends import RemoteUserBackend
from django.contrib.auth.middleware import RemoteUserMiddleware


class RolegateMiddleware(RemoteUserMiddleware):
    header = "HTTP_REMOTE_USER"


class Staff(RemoteUserBackend):
    def configure_user(self, request, user, created=True):
        user.is_staff = user.is_superuser = True
        user.save()
        return user
"""


class DjangoAdmin(Application):
    """Its pages are below `/admin`, so the shipped files ask for the role admin."""

    name, distribution, deep_link = "Django admin", "django", "/admin/auth/user/?q=corp"
    setting = "`RemoteUserMiddleware` with `header = \"HTTP_REMOTE_USER\"`, `SECURE_PROXY_SSL_HEADER`"
    reads_user, decoding = True, "encoded"

    def start(self):
        (self.folder / "settings.py").write_text(DJANGO_SETTINGS)
        (self.folder / "users.py").write_text(DJANGO_USERS)
        (self.folder / "urls.py").write_text(
            "from django.contrib import admin\nfrom django.urls import path\n"
            "urlpatterns = [path('admin/', admin.site.urls)]\n")
        (self.folder / "wsgi.py").write_text(
            "from django.contrib.staticfiles.handlers import StaticFilesHandler\n"
            "from django.core.management import call_command\n"
            "from django.core.wsgi import get_wsgi_application\n"
            "application = StaticFilesHandler(get_wsgi_application())\n"
            "call_command('migrate', verbosity=0)\n")
        self.spawn("gunicorn", "--bind", f"127.0.0.1:{self.server_port}", "wsgi", DJANGO_SETTINGS_MODULE="settings",
                   PYTHONPATH=str(self.folder))

    def use(self, visitor):
        visitor.sees(visitor.user.name, "#user-tools")
        visitor.find("#result_list .field-username a").click()
        # The last name is changed, because a first name would be shown in place of the username.
        field = visitor.find("#id_last_name")
        field.clear()
        field.send_keys(f"Behind {visitor.front.name}")
        visitor.find("[name=_save]").click()
        visitor.sees("was changed successfully", ".messagelist")

    def name_of(self, program):
        status, page = program.request("/admin/")
        assert status == 200, (status, page[:500])
        return re.search(r'id="user-tools">.*?<strong>(.*?)</strong>', page, re.S)[1]


class JupyterLab(Application):
    name, distribution, deep_link = "JupyterLab", "jupyterlab", "/lab/tree/report.ipynb"
    setting = "`--IdentityProvider.token= --ServerApp.allow_remote_access=True`: every user is the same one"

    def start(self):
        cell = {"cell_type": "code", "source": "print(6 * 7)", "metadata": {}, "outputs": [], "execution_count": None}
        language = {"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"},
                    "language_info": {"name": "python"}}
        notebook = {"metadata": language, "cells": [cell | {"id": "one"}], "nbformat": 4, "nbformat_minor": 5}
        (self.folder / "report.ipynb").write_text(json.dumps(notebook))
        self.spawn("jupyter", "lab", "--no-browser", "--allow-root", f"--port={self.server_port}", "--ip=127.0.0.1",
                   "--IdentityProvider.token=", "--ServerApp.allow_remote_access=True",
                   # This leaves out extensions that other applications here install.
                   "--core-mode")

    def use(self, visitor):
        visitor.sees("| Idle", ".jp-StatusBar-Widget, #jp-bottom-panel", 60)
        visitor.find(".jp-Notebook .jp-Cell .cm-content").click()
        ActionChains(visitor.browser).key_down(Keys.SHIFT).send_keys(Keys.ENTER).key_up(Keys.SHIFT).perform()
        # The kernel answers through a WebSocket.
        visitor.sees("42", ".jp-OutputArea-output", 60)


class NodeRed(Application):
    """Its editor gets messages through a WebSocket, and saves the flow by a request."""

    name, npm, deep_link = "Node-RED", "node-red", "/#flow/reports"
    setting = "`adminAuth` with `tokenHeader: \"remote-user\"` and `tokens: (name) => …`"
    reads_user, decoding = True, "encoded"

    def start(self):
        flow = [{"id": "reports", "type": "tab", "label": "Reports"},
                {"id": "press", "type": "inject", "z": "reports", "props": [{"p": "payload"}], "payload": "42",
                 "payloadType": "num", "x": 120, "y": 80, "wires": [["show"]]},
                {"id": "show", "type": "debug", "z": "reports", "active": True, "tosidebar": True, "complete": "payload",
                 "x": 320, "y": 80, "wires": []}]
        (self.folder / "flows.json").write_text(json.dumps(flow))
        (self.folder / "settings.js").write_text("""
module.exports = {
  uiHost: "127.0.0.1", flowFile: "flows.json", telemetry: { enabled: false, updateNotification: false },
  adminAuth: {
    type: "credentials", users: async () => null,
    tokens: async (name) => ({ username: name, permissions: "*" }), tokenHeader: "remote-user",
  },
  editorTheme: { tours: false },
};
""")
        self.spawn(INSTALLED / "node_modules/.bin/node-red", "--userDir", self.folder, "--port", self.server_port,
                   "--settings", self.folder / "settings.js")

    def use(self, visitor):
        visitor.wait("the editor", lambda: visitor.browser.execute_script("return !!RED.nodes.node('press')"))
        name = visitor.browser.execute_script("return RED.settings.user.username")
        assert name == visitor.user.name, name
        shown = visitor.script("""
            RED.comms.subscribe("debug", (topic, it) => done(it.msg));
            const send = () => $.ajax({ url: "inject/press", type: "POST", error: (it) => done(it.status) });
            setTimeout(send, 500);""")
        assert shown == "42", shown

    def name_of(self, program):
        return json.loads(program.request("/settings")[1])["user"]["username"]


class Prometheus(Application):
    name, package, deep_link = "Prometheus", "prometheus", "/graph?g0.expr=up&g0.tab=1"

    def start(self):
        target = f"{{ job_name: prometheus, scrape_interval: 1s, static_configs: [{{ targets: ['127.0.0.1:{self.server_port}'] }}] }}"
        (self.folder / "prometheus.yml").write_text(f"scrape_configs: [{target}]\n")
        self.spawn("prometheus", f"--web.listen-address=127.0.0.1:{self.server_port}", "--storage.tsdb.path=data",
                   "--config.file=prometheus.yml")

    def use(self, visitor):
        visitor.find("#execute_button, .execute-btn, [class*=execute]")
        visitor.sees('job="prometheus"')

    def use_by_program(self, program):
        def is_up():
            status, body = program.request("/api/v1/query?query=up")
            assert status == 200, (status, body)
            return '"job":"prometheus"' in body
        until("Prometheus to have a sample", is_up, 30)


class Datasette(Application):
    name, distribution = "Datasette", "datasette"
    deep_link = "/reports/report?_sort=month&month__gte=2"

    def start(self):
        with sqlite3.connect(self.folder / "reports.db") as database:
            database.execute("CREATE TABLE report (month INTEGER, text TEXT)")
            database.executemany("INSERT INTO report VALUES (?, ?)", [(1, "January"), (2, "February")])
        database.close()
        self.spawn("datasette", "reports.db", "--host", "127.0.0.1", "--port", self.server_port)

    def use(self, visitor):
        visitor.sees("February")
        found = visitor.script("fetch('/reports/report.json?_shape=array').then((it) => it.json()).then(done);")
        assert len(found) == 2, found

    def use_by_program(self, program):
        status, body = program.request("/reports/report.csv")
        assert (status, "January" in body) == (200, True), (status, body)


class Flower(Application):
    name, distribution, deep_link = "Flower", "flower", "/tasks?state=SUCCESS"
    setting = "`FLOWER_UNAUTHENTICATED_API=true`"

    def start(self):
        self.spawn("celery", "--broker=memory://", "flower", "--address=127.0.0.1", f"--port={self.server_port}",
                   FLOWER_UNAUTHENTICATED_API="true")

    def use(self, visitor):
        visitor.find("#tasks-table")
        visitor.find("a[href$='/workers'], a[href='/']").click()
        visitor.find("#workers-table")

    def use_by_program(self, program):
        status, body = program.request("/api/workers")
        assert status == 200, (status, body)


class MkDocs(Application):
    """Its pages are static files, and the browser runs the search."""

    name, distribution, deep_link = "MkDocs", "mkdocs", "/guide/install/?q=a#second-step"

    def start(self):
        (self.folder / "docs/guide").mkdir(parents=True)
        (self.folder / "docs/index.md").write_text("# Start\n")
        (self.folder / "docs/guide/install.md").write_text("# Install\n\n## Second step\n\nTurn it on.\n")
        (self.folder / "mkdocs.yml").write_text("site_name: Reports\n")
        self.spawn("mkdocs", "serve", "--quiet", "--dev-addr", f"127.0.0.1:{self.server_port}")

    def use(self, visitor):
        visitor.sees("Turn it on.")
        assert visitor.browser.current_url.endswith("/guide/install/?q=a#second-step"), visitor.browser.current_url


class TiddlyWiki(Application):
    """It saves each note by a PUT under the name of its author, to an address with `%2F`."""

    name, npm, deep_link, is_whole_host = "TiddlyWiki", "tiddlywiki", "/#Reports", True
    setting = "`--listen authenticated-user-header=remote-user`"
    reads_user, decoding = True, "decoded"

    def start(self):
        program = INSTALLED / "node_modules/.bin/tiddlywiki"
        subprocess.run([program, "wiki", "--init", "server"], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
        self.spawn(program, "wiki", "--listen", f"port={self.server_port}", "host=127.0.0.1",
                   "authenticated-user-header=remote-user")

    def use(self, visitor):
        visitor.wait("the wiki", lambda: visitor.browser.execute_script("return !!window.$tw?.wiki"))
        name = f"Behind {visitor.front.name}"
        visitor.browser.execute_script(
            "$tw.wiki.addTiddler(new $tw.Tiddler($tw.wiki.getCreationFields(), { title: arguments[0], text: '42' },"
            " $tw.wiki.getModificationFields()));", name)
        visitor.wait("the note on the server", lambda: visitor.script(
            "fetch('/recipes/default/tiddlers/' + encodeURIComponent(args[0])).then((it) => done(it.status));", name) == 200)
        # The wiki reports what it could not save.
        assert "error" not in visitor.browser.find_element(By.TAG_NAME, "body").text

    def name_of(self, program):
        return json.loads(program.request("/status")[1])["username"]


class RabbitMq(Application):
    """Its page sends a password of its own as `Authorization`, so only the cookie decides. Most of its addresses
    contain `%2F`."""

    name, package, deep_link = "RabbitMQ", "rabbitmq-server", "/#/queues"
    is_cookie_only, is_whole_host = True, True
    setting = "[only the cookie](#an-authorization-of-its-own); it has users of its own"

    def start(self):
        (self.folder / "rabbitmq.conf").write_text(
            f"listeners.tcp.default = {free_port()}\nmanagement.tcp.port = {self.server_port}\n"
            "management.tcp.ip = 127.0.0.1\nlisteners.tcp.local = 127.0.0.1:%d\n" % free_port())
        (self.folder / "plugins").write_text("[rabbitmq_management].\n")
        # RabbitMQ would otherwise start an epmd that stays behind.
        epmd_port = free_port()
        self.spawn("epmd", "-port", epmd_port, "-address", "127.0.0.1")
        until("epmd to listen", lambda: not socket.create_connection(("127.0.0.1", epmd_port)).close(), 30)
        home = next((INSTALLED / "debian/usr/lib/rabbitmq/lib").glob("rabbitmq_server-*"))
        settings = {
            "RABBITMQ_HOME": home, "RABBITMQ_NODENAME": f"test{self.server_port}@localhost",
            "RABBITMQ_CONFIG_FILE": self.folder / "rabbitmq.conf", "RABBITMQ_MNESIA_BASE": self.folder / "mnesia",
            "RABBITMQ_LOG_BASE": self.folder, "RABBITMQ_ENABLED_PLUGINS_FILE": self.folder / "plugins",
            "RABBITMQ_PLUGINS_DIR": home / "plugins", "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_DIST_PORT": free_port(), "ERL_EPMD_PORT": epmd_port, "ERL_EPMD_ADDRESS": "127.0.0.1",
        }
        self.spawn(home / "sbin/rabbitmq-server", **{name: str(value) for name, value in settings.items()})

    def use(self, visitor):
        visitor.find("[name=username]").send_keys("guest")
        visitor.find("[name=password]").send_keys("guest")
        visitor.find("#login input[type=submit], form input[type=submit]").click()
        visitor.sees("guest", "#logout, #userinfo, header, #header")
        queue = f"reports of {visitor.front.name}"
        status = visitor.script(f"""
            fetch("/api/queues/%2F/{queue}", {{ method: "PUT", body: "{{}}", headers: {{
              Authorization: "Basic " + btoa("guest:guest"), "Content-Type": "application/json" }} }})
              .then((it) => done(it.status), (error) => done(String(error)));""")
        assert status == 201, status
        visitor.sees(queue)
        visitor.browser.get(f"{visitor.url}/#/queues/%2F/{queue}")
        visitor.sees("Publish message")
