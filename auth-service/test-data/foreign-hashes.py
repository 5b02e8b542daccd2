"""Makes foreign-hashes.jsonl with the libraries whose hashes `auth-service user import` accepts.

    python3 -m venv venv
    venv/bin/pip install Django==5.2.19 passlib==1.7.4 argon2-cffi==25.1.0 bcrypt==4.0.1 Werkzeug==3.1.9
    npm install --ignore-scripts better-auth@1.7.25
    venv/bin/python foreign-hashes.py > foreign-hashes.jsonl

With PHP (`php-cli` of Debian) it also calls password_hash, as Laravel does. ASP.NET, Keycloak and WordPress are
imitated from their sources. Work factors are below the defaults where a debug build would take seconds.
"""

import base64
import hashlib
import hmac
import json
import os
import shutil
import struct
import subprocess
from importlib.metadata import version

import argon2
import bcrypt
import django
import passlib
from argon2.low_level import Type, hash_secret
from django.conf import settings
from passlib.context import CryptContext
from werkzeug.security import generate_password_hash

settings.configure()
django.setup()

from django.contrib.auth.hashers import (  # noqa: E402
    Argon2PasswordHasher,
    BCryptPasswordHasher,
    PBKDF2PasswordHasher,
    ScryptPasswordHasher,
)

PASSWORD = "corréct horse"
LONG = "a passphrase of more than the 72 bytes that bcrypt reads, which argon2 took: " + "x" * 20


def sample(made_by, password_hash, password=PASSWORD):
    print(json.dumps({"made_by": made_by, "password": password, "password_hash": password_hash}))


PASSLIB = f"passlib {passlib.__version__}"
sample(f"{PASSLIB}, bcrypt", CryptContext(["bcrypt"], bcrypt__rounds=5).hash(PASSWORD))
sample(f"{PASSLIB}, bcrypt 2a", CryptContext(["bcrypt"], bcrypt__rounds=5, bcrypt__ident="2a").hash(PASSWORD))
sample(f"{PASSLIB}, argon2", CryptContext(["argon2"]).hash(PASSWORD))
sample(f"{PASSLIB}, argon2i", CryptContext(["argon2"], argon2__type="I", argon2__memory_cost=1024).hash(PASSWORD))
sample(f"{PASSLIB}, pbkdf2_sha256", CryptContext(["pbkdf2_sha256"]).hash(PASSWORD))
sample(f"{PASSLIB}, scrypt", CryptContext(["scrypt"], scrypt__rounds=10).hash(PASSWORD))
sample(f"{PASSLIB}, scrypt, default", CryptContext(["scrypt"]).hash(PASSWORD))
sample(f"{PASSLIB}, django_pbkdf2_sha256", CryptContext(["django_pbkdf2_sha256"]).hash(PASSWORD))

DJANGO = f"Django {django.__version__}"
sample(f"{DJANGO}, PBKDF2PasswordHasher", PBKDF2PasswordHasher().encode(PASSWORD, PBKDF2PasswordHasher().salt(), 30_000))
sample(f"{DJANGO}, Argon2PasswordHasher", Argon2PasswordHasher().encode(PASSWORD, "a salt of Django"))
sample(f"{DJANGO}, ScryptPasswordHasher", ScryptPasswordHasher().encode(PASSWORD, "a salt of Django"))
sample(f"{DJANGO}, BCryptPasswordHasher", BCryptPasswordHasher().encode(PASSWORD, bcrypt.gensalt(4)))

WERKZEUG = "Werkzeug " + version("werkzeug")
sample(f"{WERKZEUG}, default", generate_password_hash(PASSWORD))
sample(f"{WERKZEUG}, PBKDF2", generate_password_hash(PASSWORD, "pbkdf2:sha256:30000"))
sample(f"{WERKZEUG}, PBKDF2 with SHA-512", generate_password_hash(PASSWORD, "pbkdf2:sha512:30000"))
sample(f"{WERKZEUG}, long password", generate_password_hash(LONG, "scrypt:1024:8:1"), LONG)

ARGON2 = "argon2-cffi " + version("argon2-cffi")
sample(ARGON2, argon2.PasswordHasher().hash(PASSWORD))
sample(f"{ARGON2}, four lanes, long output",
       argon2.PasswordHasher(time_cost=3, memory_cost=4096, parallelism=4, hash_len=64).hash(PASSWORD))
sample(f"{ARGON2}, version 16",
       hash_secret(PASSWORD.encode(), b"sixteen byte sal", 2, 512, 2, 32, Type.ID, version=16).decode())
sample(f"{ARGON2}, long password", argon2.PasswordHasher(memory_cost=1024).hash(LONG), LONG)

sample(f"bcrypt {bcrypt.__version__}", bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode())

# Compatible characters, which better-auth composes before it hashes.
COMPATIBLE = "\u2460 corre\u0301ct \ufb01sh\u00b2"
if shutil.which("node") and os.path.exists("node_modules/better-auth"):
    code = """import { hashPassword } from "better-auth/crypto"; import { readFileSync } from "node:fs";
        const { version } = JSON.parse(readFileSync("node_modules/better-auth/package.json"));
        console.log(version, await hashPassword(process.argv[1]));"""
    for password in [PASSWORD, COMPATIBLE]:
        run = subprocess.run(["node", "--input-type=module", "-e", code, password],
                             capture_output=True, text=True, check=True)
        better_auth, made = run.stdout.split()
        sample(f"better-auth {better_auth}", made, password)


def asp_net_v3(password, prf, iterations):
    """`HashPasswordV3` of PasswordHasher.cs: digests of 32 bytes for both functions."""
    salt = os.urandom(16)
    digest = hashlib.pbkdf2_hmac(["sha1", "sha256", "sha512"][prf], password.encode(), salt, iterations, 32)
    return base64.b64encode(struct.pack(">BIII", 1, prf, iterations, len(salt)) + salt + digest).decode()


# Of its own tests (PasswordHasherTest.cs).
for asp_net in ["AQAAAAEAACcQAAAAEAABAgMEBQYHCAkKCwwNDg+yWU7rLgUwPZb1Itsmra7cbxw2EFpwpVFIEtP+JIuUEw==",
                "AQAAAAIAACcQAAAAEAABAgMEBQYHCAkKCwwNDg9B0Oxwty+PGIDSp95gcCfzeDvA4sGapUIUov8usXfD6A=="]:
    sample("ASP.NET Core Identity", asp_net, "my password")
sample("as ASP.NET Identity 3 before .NET 7", asp_net_v3(PASSWORD, 1, 10_000))
sample("as ASP.NET Identity 3", asp_net_v3(PASSWORD, 2, 10_000))


def keycloak_pbkdf2(password, function, iterations):
    """`Pbkdf2PasswordHashProvider` with 512 bits, in the form that the query of the page makes."""
    salt = os.urandom(16)
    digest = hashlib.pbkdf2_hmac(function, password.encode(), salt, iterations, 64)
    parts = [base64.b64encode(part).decode().translate({43: ".", 61: None}) for part in (salt, digest)]
    return f"$pbkdf2-{function}${iterations}${parts[0]}${parts[1]}"


sample("as Keycloak, pbkdf2-sha512", keycloak_pbkdf2(PASSWORD, "sha512", 30_000))
sample("as Keycloak, pbkdf2-sha256", keycloak_pbkdf2(PASSWORD, "sha256", 27_500))
sample("as Keycloak, argon2", hash_secret(PASSWORD.encode(), os.urandom(16), 5, 7168, 1, 32, Type.ID).decode())


def wordpress(password):
    """`wp_hash_password` of WordPress 6.8."""
    key = base64.b64encode(hmac.digest(b"wp-sha384", password.strip(" \t\n\r\0\v").encode(), "sha384"))
    return "$wp" + bcrypt.hashpw(key, bcrypt.gensalt(5)).decode().replace("$2b$", "$2y$")


# By WordPress itself, published with a demo.
sample("WordPress", "$wp$2y$10$Q1xinFjrZeLWJBvxviIL6u834Fu.evIEFHAUVisQ5O.w9Dm0sMdES", "admin")
sample("as WordPress 6.8", wordpress(PASSWORD))
sample("as WordPress 6.8, trimmed", wordpress(f" {PASSWORD}\n"))

if shutil.which("php"):
    code = "echo PHP_VERSION, ' ', password_hash($argv[1], constant($argv[2]), json_decode($argv[3], true));"
    for algorithm, options in [("PASSWORD_BCRYPT", {"cost": 6}), ("PASSWORD_ARGON2ID", {}),
                               ("PASSWORD_ARGON2I", {"memory_cost": 2048})]:
        run = subprocess.run(["php", "-r", code, PASSWORD, algorithm, json.dumps(options)],
                             capture_output=True, text=True)
        if run.returncode == 0 and " $" in run.stdout:
            php, made = run.stdout.split(" ", 1)
            sample(f"PHP {php}, {algorithm}", made)
