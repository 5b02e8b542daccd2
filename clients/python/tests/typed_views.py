"""Protected views, whose types mypy checks in strict mode. tests/long/clients does so, and nothing runs this file."""

from typing import Annotated, Optional

from django.http import HttpResponse, JsonResponse
from django.urls import path
from fastapi import Depends, FastAPI, WebSocket
from flask import Flask, g

import rolegate.django
import rolegate.flask
from rolegate import AsyncClient, Client, Role, SnapshotStart, User, UserChange
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


fastapi_app = FastAPI()


@fastapi_app.websocket("/")
async def websocket_view(
    websocket: WebSocket, user: Annotated[User, Depends(require("author"))]
) -> None:
    await websocket.accept()


@fastapi_app.get("/")
async def fastapi_view(user: Annotated[User, Depends(current_user)]) -> str:
    return user.username


def decide(client: Client, token: str) -> tuple[User, User, User]:
    return (
        client.authorize(token, "author"),
        client.authorize(token, Role.AUTHOR),
        client.authorize(token, ["editor", Role.ADMIN]),
    )


def is_admin(user: User) -> bool:
    role: str = user.role
    return user.role is Role.ADMIN or role == "admin"


async def last_revision(client: AsyncClient, key: str, stored: Optional[int]) -> Optional[int]:
    async for event in client.watch_users(key, stored):
        stored = event.revision
        if isinstance(event, UserChange):
            print(event.username, event.role)
        elif not isinstance(event, SnapshotStart):
            revision: int = event.revision
            return revision
    return stored
