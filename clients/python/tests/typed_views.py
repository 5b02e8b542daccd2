"""Protected views, whose types mypy checks in strict mode. tests/long/clients does so, and nothing runs this file."""

from datetime import datetime
from typing import Annotated, Optional

from django.http import HttpResponse, JsonResponse
from django.urls import path
from fastapi import Depends, FastAPI, WebSocket
from flask import Flask, g

import rolegate.django
import rolegate.flask
from rolegate import NO_END, AsyncClient, Client, Decision, Role, SnapshotStart, User, UserChange
from rolegate.django import AuthenticatedHttpRequest
from rolegate.fastapi import current_user, require


@rolegate.django.require("author", Role.ADMIN)
def django_view(request: AuthenticatedHttpRequest, page: int) -> JsonResponse:
    user: User = request.rolegate_user
    return JsonResponse({"username": user.username, "path": request.path, "page": page})


@rolegate.django.require_user
def other_django_view(request: AuthenticatedHttpRequest) -> HttpResponse:
    return HttpResponse(request.rolegate_user.nam)  # type: ignore[attr-defined]


urlpatterns = [path("<int:page>", django_view), path("", other_django_view)]

flask_app = Flask(__name__)


@flask_app.get("/<int:page>")
@rolegate.flask.require("editor")
def flask_view(page: int) -> dict[str, str]:
    user: User = g.rolegate_user
    return {"username": user.username}


@flask_app.get("/staff")
@rolegate.flask.require("admin", groups=["staff"])
def staff_view() -> dict[str, tuple[str, ...]]:
    user: User = g.rolegate_user
    return {"groups": user.groups}


fastapi_app = FastAPI()


@fastapi_app.websocket("/")
async def websocket_view(
    websocket: WebSocket, user: Annotated[User, Depends(require("author"))]
) -> None:
    await websocket.accept()


@fastapi_app.get("/staff")
async def fastapi_staff(user: Annotated[User, Depends(require(groups="staff"))]) -> str:
    return user.username


@fastapi_app.get("/")
async def fastapi_view(user: Annotated[User, Depends(current_user)]) -> str:
    return user.username


def decide(client: Client, token: str) -> tuple[User, User, User]:
    return (
        client.authorize(token, "author"),
        client.authorize(token, Role.AUTHOR),
        client.authorize(token, ["editor", Role.ADMIN]),
    )


def decide_about_groups(client: Client, token: str) -> list[User]:
    pairs = [(token, "author"), (token, ["editor"])]
    client.batch_authorize([*pairs, Decision(token, groups=["staff"])])
    return [
        client.authorize(token, "author", groups=["staff"]),
        client.authorize(token, groups="staff"),
    ]


def end(client: Client, admin: str, until: datetime) -> Optional[datetime]:
    client.update_user(admin, 2, until=until)
    return client.update_user(admin, 2, until=NO_END).until


def is_admin(user: User) -> bool:
    role: str = user.role
    return user.role is Role.ADMIN or role == "admin"


async def last_revision(client: AsyncClient, key: str, stored: Optional[int]) -> Optional[int]:
    async for event in client.watch_users(key, stored):
        stored = event.revision
        if isinstance(event, UserChange):
            print(event.username, event.role, event.until)
            print([(it.group, it.until) for it in event.groups or ()])
        elif not isinstance(event, SnapshotStart):
            revision: int = event.revision
            return revision
    return stored
