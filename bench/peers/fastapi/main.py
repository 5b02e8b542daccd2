"""Serves accounts with FastAPI, as its documentation shows ("OAuth2 with Password, Bearer with JWT tokens"), with the
asyncio extension of SQLAlchemy. If it is run as a program, it only creates its table."""

import asyncio
import ctypes
import os
import signal
from datetime import datetime, timedelta, timezone
from typing import Annotated

import jwt
from fastapi import Depends, FastAPI, HTTPException, status
from fastapi.concurrency import run_in_threadpool
from fastapi.security import OAuth2PasswordBearer
from pwdlib import PasswordHash
from pwdlib.hashers.bcrypt import BcryptHasher
from pydantic import BaseModel
from sqlalchemy import BigInteger, Identity, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

# Without this, a worker would survive when the benchmark kills uvicorn.
PR_SET_PDEATHSIG = 1
ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

SECRET_KEY = os.environ["SIGNING_SECRET"]
ALGORITHM = "HS256"
ACCESS_TOKEN_EXPIRES = timedelta(minutes=30)

url = os.environ["DATABASE_URL"].replace("postgres://", "postgresql+asyncpg://", 1)
# Each worker has as many connections as one of the others. By default, those above five are closed after each use.
engine = create_async_engine(url, pool_size=10, max_overflow=0)
sessions = async_sessionmaker(engine, expire_on_commit=False)
password_hash = PasswordHash((BcryptHasher(rounds=12),))
DUMMY_HASH = password_hash.hash("matches no user")
oauth2_scheme = OAuth2PasswordBearer(tokenUrl="login")
app = FastAPI()


class Base(DeclarativeBase):
    pass


class User(Base):
    __tablename__ = "user"
    id: Mapped[int] = mapped_column(BigInteger, Identity(), primary_key=True)
    username: Mapped[str] = mapped_column(unique=True)
    password: Mapped[str]
    role: Mapped[str] = mapped_column(default="user")


class Credentials(BaseModel):
    username: str
    password: str


class Token(BaseModel):
    access_token: str
    token_type: str


class Profile(BaseModel):
    message: str
    role: str


class Message(BaseModel):
    message: str


async def get_session():
    async with sessions() as session:
        yield session


Session = Annotated[AsyncSession, Depends(get_session)]


async def get_current_user(token: Annotated[str, Depends(oauth2_scheme)], session: Session) -> User:
    refusal = HTTPException(
        status.HTTP_401_UNAUTHORIZED, "Could not validate credentials", {"WWW-Authenticate": "Bearer"}
    )
    try:
        user_id = int(jwt.decode(token, SECRET_KEY, algorithms=[ALGORITHM])["sub"])
    except (jwt.InvalidTokenError, KeyError, ValueError):
        raise refusal from None
    user = await session.get(User, user_id)
    if user is None:
        raise refusal
    return user


CurrentUser = Annotated[User, Depends(get_current_user)]


async def require_admin(user: CurrentUser) -> User:
    if user.role != "admin":
        raise HTTPException(status.HTTP_403_FORBIDDEN, "Not enough permissions")
    return user


@app.post("/register", status_code=status.HTTP_201_CREATED)
async def register(credentials: Credentials, session: Session) -> Message:
    hashed = await run_in_threadpool(password_hash.hash, credentials.password)
    session.add(User(username=credentials.username, password=hashed))
    try:
        await session.commit()
    except IntegrityError:
        raise HTTPException(status.HTTP_409_CONFLICT, "Username already registered") from None
    return Message(message="User registered successfully.")


@app.post("/login")
async def login(credentials: Credentials, session: Session) -> Token:
    user = await session.scalar(select(User).where(User.username == credentials.username))
    # This returns the connection to the pool before the slow hash.
    await session.close()
    stored = user.password if user else DUMMY_HASH
    # The documentation hashes in the event loop, where every other request would wait.
    if not await run_in_threadpool(password_hash.verify, credentials.password, stored) or user is None:
        raise HTTPException(
            status.HTTP_401_UNAUTHORIZED, "Incorrect username or password", {"WWW-Authenticate": "Bearer"}
        )
    expires = datetime.now(timezone.utc) + ACCESS_TOKEN_EXPIRES
    claims = {"sub": str(user.id), "exp": expires}
    return Token(access_token=jwt.encode(claims, SECRET_KEY, algorithm=ALGORITHM), token_type="bearer")


@app.get("/profile")
async def profile(user: CurrentUser) -> Profile:
    return Profile(message=f"Welcome {user.username}!", role=user.role)


@app.get("/admin", dependencies=[Depends(require_admin)])
async def admin() -> Message:
    return Message(message="Welcome, admin!")


async def create_table() -> None:
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)


if __name__ == "__main__":
    asyncio.run(create_table())
