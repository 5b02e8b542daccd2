"""Tests of the service in README.md and of a FastAPI service, each under uvicorn in a process of its own."""

import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from test_conformance import TABLE, asgi, fastapi, in_django, in_flask

import rolegate.django

README = Path(__file__).parent.parent / "README.md"


@contextmanager
def served(code, folder):
    """Runs a service under uvicorn, and checks how it ends on SIGTERM."""
    (folder / "service.py").write_text(code)
    command = [sys.executable, "-m", "uvicorn", "service:app", "--port", "0"]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    try:
        log = ""
        while "running on" not in log:
            line = process.stderr.readline()
            assert line, log
            log += line
        with httpx.Client(base_url=re.search(r"http://\S+", log)[0]) as http:
            yield http
        process.terminate()
        log += process.communicate(timeout=60)[1]
        assert "Application shutdown complete" in log and "Traceback" not in log, log
    finally:
        process.kill()
        process.wait()


def bearer(token):
    return {"authorization": f"Bearer {token}"}


def test_service_of_the_readme_is_protected(stage, tmp_path):
    code = re.search(r"```python\n(import gc.*?)```", README.read_text(), re.DOTALL)[1]
    with served(code, tmp_path) as http:
        token = stage.token()
        assert http.get("/hello").status_code == 401
        assert http.get("/hello", headers=bearer("forged")).status_code == 401
        assert http.get("/hello", headers=bearer(token)).json().startswith("Hello case ")
        refused = http.get("/reports", headers=bearer(token))
        assert (refused.status_code, refused.json()) == (403, {"detail": "Insufficient privileges."})
        stage.given("role author")
        assert http.get("/reports", headers=bearer(token)).status_code == 200
        scheme = http.get("/openapi.json").json()["components"]["securitySchemes"]
        assert scheme == {"HTTPBearer": {"type": "http", "scheme": "bearer"}}


def test_readme_has_at_most_85_lines_and_its_calls_exist():
    lines = README.read_text().splitlines()
    assert len(lines) <= 85
    for name in re.findall(r"`(rolegate[.\w]*)`", "\n".join(lines)):
        module, _, attribute = name.rpartition(".")
        if module:
            imported = __import__(module, fromlist=[attribute])
            assert hasattr(imported, attribute) or __import__(name), name


@pytest.mark.parametrize("protected", [asgi, fastapi, in_django, in_flask])
async def test_requirement_that_auth_service_refuses_is_500_and_in_the_log(
    stage, client, async_client, caplog, protected
):
    rolegate.django._client.cache_clear()
    token = stage.token()
    kind = async_client if protected in (asgi, fastapi) else client
    mistakes = [(roles, None) for roles in ([], [""], ["User"], ["user", "reviewer"])]
    mistakes += [(None, groups) for groups in ([], [""], ["Staff"], ["admin"], ["unknown"])]
    for roles, groups in [*mistakes, (["user"], ["unknown"])]:
        caplog.clear()
        rolegate.http._LOGGED.clear()
        outcome = await protected(kind, roles, bearer(token), groups)()
        assert outcome == TABLE["outcomes"]["REQUEST_INVALID"], (roles, groups)
        [line] = [record.getMessage() for record in caplog.records if record.name == "rolegate"]
        assert roles is None or f"one of the roles {roles}" in line
        assert groups is None or f"one of the groups {groups}" in line
        assert "REQUEST_INVALID" in line
        assert token not in caplog.text
        # The log has no mistakes that the client of this service can fix.
        caplog.clear()
        assert (await protected(kind, roles, {}, groups)())["status"] == 401
        assert not caplog.records
