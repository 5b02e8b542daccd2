"""Tests of the cases of ``clients/conformance.json``, with both clients and in FastAPI, ASGI, Django and Flask."""

import asyncio
import json
import os
import time
from pathlib import Path

import django
import httpx
import pytest
from django.conf import settings
from django.http import JsonResponse
from django.test import RequestFactory
from fastapi import Depends, FastAPI
from flask import Flask, g

import rolegate.django
import rolegate.fastapi
import rolegate.flask
from rolegate import RolegateError
from rolegate.asgi import RequireUser
from rolegate.http import error_headers

TABLE = json.loads(Path(os.environ["CONFORMANCE"]).read_text())
settings.configure(ALLOWED_HOSTS=["test"])
django.setup()


@pytest.mark.parametrize("case", TABLE["cases"], ids=lambda case: case["name"])
async def test_every_interface_has_the_outcome_of_the_table(case, stage, client, async_client):
    rolegate.django._client.cache_clear()
    token, roles, groups = stage.token(case["token"]), case["roles"] or None, case.get("groups")
    form = case.get("authorization", "Bearer {token}")
    header = {} if form is None else {"authorization": form.replace("{token}", token)}
    interfaces = [protect(async_client, roles, header, groups) for protect in (fastapi, asgi)]
    interfaces += [protect(client, roles, header, groups) for protect in (in_django, in_flask)]
    if "authorization" not in case:
        interfaces += [threads(client, token, roles, groups), tasks(async_client, token, roles, groups)]
    for step in case["steps"]:
        for state in step.get("given", []):
            await asyncio.to_thread(stage.given, state)
        await asyncio.gather(*(expect(step, ask) for ask in interfaces))


async def expect(step, ask):
    """Sends the request of a step as often as the step says, and asserts that each outcome is the expected one."""
    end = time.monotonic() + 60
    for _ in range(step.get("times", 1)):
        outcome = await ask()
        while step.get("eventually") and not is_as(outcome, step) and time.monotonic() < end:
            await asyncio.sleep(0.05)
            outcome = await ask()
        assert is_as(outcome, step), (ask.__qualname__, step, outcome)


def is_as(outcome, step):
    return any(outcome == TABLE["outcomes"][name] for name in step["expect"].split())


def of_error(error):
    headers = {name.lower(): value for name, value in error_headers(error).items()}
    return {"status": error.status, "detail": error.detail, **headers}


def of_response(status, headers, body):
    if status == 200:
        return {"status": 200}
    assert headers["content-type"] == "application/json"
    outcome = {"status": status, **body}
    names = ("rolegate-reason", "www-authenticate", "retry-after")
    return {**outcome, **{name: headers[name] for name in names if name in headers}}


def threads(client, token, roles, groups):
    def ask():
        try:
            client.authorize(token, roles, groups=groups)
            return {"status": 200}
        except RolegateError as error:
            return of_error(error)

    return lambda: asyncio.to_thread(ask)


def tasks(client, token, roles, groups):
    async def ask():
        try:
            await client.authorize(token, roles, groups=groups)
            return {"status": 200}
        except RolegateError as error:
            return of_error(error)

    return ask


def over_asgi(app, header):
    http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test")

    async def ask():
        response = await http.get("/", headers=header)
        return of_response(response.status_code, response.headers, response.json())

    return ask


def protection(module, user, roles, groups):
    """Returns the protection of a framework: ``user`` if any user passes, otherwise ``require`` of its module."""
    if roles is None and groups is None:
        return user
    return module.require(*(roles or []), groups=groups)


def fastapi(client, roles, header, groups=None):
    app = FastAPI()
    app.state.rolegate = client
    user = protection(rolegate.fastapi, rolegate.fastapi.current_user, roles, groups)

    @app.get("/")
    async def protected(user=Depends(user)):
        return {"username": user.username}

    return over_asgi(app, header)


def asgi(client, roles, header, groups=None):
    async def app(scope, receive, send):
        body = json.dumps({"username": scope["state"]["user"].username}).encode()
        head = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": body})

    return over_asgi(RequireUser(app, client, roles, groups=groups), header)


def in_django(client, roles, header, groups=None):
    @protection(rolegate.django, rolegate.django.require_user, roles, groups)
    def view(request):
        return JsonResponse({"username": request.rolegate_user.username})

    request = RequestFactory(headers={"host": "test", **header}).get("/")

    async def ask():
        response = await asyncio.to_thread(view, request)
        headers = {name.lower(): value for name, value in response.items()}
        return of_response(response.status_code, headers, json.loads(response.content))

    return ask


def in_flask(client, roles, header, groups=None):
    app = Flask(__name__)
    app.extensions["rolegate"] = client

    @app.get("/")
    @protection(rolegate.flask, rolegate.flask.require_user, roles, groups)
    def view():
        return {"username": g.rolegate_user.username}

    async def ask():
        response = await asyncio.to_thread(app.test_client().get, "/", headers=header)
        headers = {name.lower(): value for name, value in response.headers.items()}
        return of_response(response.status_code, headers, response.json)

    return ask
