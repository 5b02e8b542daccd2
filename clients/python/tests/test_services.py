"""The services of README.md and of FastAPI under uvicorn, in processes of their own."""

import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

import rolegate.django
import rolegate.fastapi
import rolegate.flask
from rolegate.asgi import RequireUser

README = Path(__file__).parent.parent / "README.md"


@contextmanager
def served(code, folder):
    """A service under uvicorn, and how it ends on SIGTERM."""
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


def test_readme_has_at_most_60_lines_and_its_calls_exist():
    lines = README.read_text().splitlines()
    assert len(lines) <= 60
    for name in re.findall(r"`(rolegate[.\w]*)`", "\n".join(lines)):
        module, _, attribute = name.rpartition(".")
        if module:
            imported = __import__(module, fromlist=[attribute])
            assert hasattr(imported, attribute) or __import__(name), name


async def unreachable(scope, receive, send):
    raise AssertionError("it was let through")


def test_requirement_without_roles_is_a_mistake(async_client):
    for mistake in [
        lambda: RequireUser(unreachable, async_client, []),
        lambda: RequireUser(unreachable, async_client, "root"),
        lambda: rolegate.fastapi.require(),
        lambda: rolegate.fastapi.require("root"),
        lambda: rolegate.django.require(),
        lambda: rolegate.django.require("root"),
        lambda: rolegate.flask.require(),
        lambda: rolegate.flask.require("root"),
    ]:
        with pytest.raises(ValueError):
            mistake()
