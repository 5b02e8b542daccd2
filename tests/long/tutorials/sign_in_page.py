"""docs/tutorials/sign-in-page.md as it is written, on loopback and then on a host with HTTPS."""

import re
import subprocess

from stage import Stage

HOST = "app.example.org"


def check():
    with Stage("sign-in-page.md", 3000, 8080, 8000, 8002, 443) as stage:
        page, start, register, nginx, programs, disable, enable = stage.blocks("sh")
        on_loopback, on_host = stage.blocks("nginx")
        *write, serve = page.splitlines()
        stage.run("\n".join(write))
        stage.start(serve, stage.ports[3000])
        listen = {f"{name}_LISTEN_ADDR": f"127.0.0.1:{stage.ports[port]}"
                  for name, port in [("BEARER", 8000), ("FORWARD_AUTH", 8002)]}
        stage.start(start, stage.ports[8000], **listen)
        stage.run(register)
        start_nginx(stage, nginx, with_another(on_loopback, certificate(stage, on_host)))

        says_what_programs_get(stage, programs)
        ada = stage.browser("ada", f"http://127.0.0.1:{stage.ports[8080]}/")
        signs_in_and_sees_the_page(ada)
        loses_access_when_disabled(ada, stage, disable, enable)
        signs_out_and_in(ada)
        on_https = f"https://{HOST}:{stage.ports[443]}/"
        elsewhere = stage.browser("host", on_https, f"host-resolver-rules=MAP {HOST} 127.0.0.1", "ignore-certificate-errors")
        signs_in_and_sees_the_page(elsewhere)
        (cookie,) = elsewhere.driver.get_cookies()
        assert cookie["name"] == "__Host-rolegate" and cookie["secure"] and cookie["httpOnly"], cookie
        signs_out_and_in(elsewhere)


def start_nginx(stage, commands, configuration):
    (stage.folder / "site/nginx.conf").write_text(configuration)
    *copy, start = commands.splitlines()
    for line in copy:
        stage.run(line.replace("deploy/", f"{stage.root}/deploy/"))
    shipped = stage.folder / "site/rolegate-http.conf"
    shipped.write_text(stage.with_ports(shipped.read_text()))
    # The test may be root where there is no sudo.
    stage.start(start.removeprefix("sudo "), stage.ports[8080])


def with_another(configuration, server):
    """The server of the real host beside that of loopback; nginx would write a log of the system."""
    http = re.search("\nhttp {\n", configuration).end()
    return configuration[:http] + "    access_log off;\n" + server + configuration[http:]


def certificate(stage, server):
    """The server with a certificate that was made for it."""
    names = re.findall("/etc/ssl/([a-z.]+)", server)
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
               "-subj", f"/CN={HOST}", "-out", names[0], "-keyout", names[1]]
    subprocess.run(command, cwd=stage.folder, check=True, capture_output=True)
    return server.replace("/etc/ssl", str(stage.folder))


def says_what_programs_get(stage, commands):
    """Each command prints what the comment below it says."""
    for command, printed in re.findall(r"^ *(curl .*)\n *# (.*)$", commands, re.M):
        assert stage.run(command).strip() == printed, command


def signs_in_and_sees_the_page(browser):
    browser.signs_in("wrong")
    browser.sees("[role=alert]", "Invalid username or password.")
    browser.signs_in("open sesame")
    browser.sees("h1", "For us only")
    assert browser.driver.current_url == browser.url


def loses_access_when_disabled(browser, stage, disable, enable):
    stage.run(disable)
    browser.reload()
    browser.signs_in("open sesame")
    browser.sees("[role=alert]", "Invalid username or password.")
    stage.run(enable)
    browser.signs_in("open sesame")
    browser.sees("h1", "For us only")


def signs_out_and_in(browser):
    browser.click("a")
    browser.click("form button")
    browser.signs_in("open sesame")
    browser.sees("h1", "For us only")
    browser.click("a")
    browser.click("form button")
    browser.find("[name=password]")
    browser.driver.get(browser.url)
    # Files without Cache-Control may come from the cache.
    browser.reload()
    browser.find("[name=password]")
