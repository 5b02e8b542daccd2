"""Makes foreign-hashes.jsonl with the libraries whose hashes `auth-service user import` accepts.

    python3 -m venv venv
    venv/bin/pip install Django==5.2.19 passlib==1.7.4 argon2-cffi==25.1.0 bcrypt==4.0.1
    venv/bin/python foreign-hashes.py > foreign-hashes.jsonl

With PHP (`php-cli` of Debian) it also calls password_hash, as Laravel does. Work factors are below the defaults where a debug build would take seconds.
"""

import json
import shutil
import subprocess
from importlib.metadata import version

import argon2
import bcrypt
import django
import passlib
from argon2.low_level import Type, hash_secret
from django.conf import settings
from passlib.context import CryptContext

settings.configure()
django.setup()

from django.contrib.auth.hashers import Argon2PasswordHasher, PBKDF2PasswordHasher  # noqa: E402

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
# Without its prefix it is a PHC string.
sample(f"{DJANGO}, Argon2PasswordHasher", Argon2PasswordHasher().encode(PASSWORD, "a salt of Django").removeprefix("argon2"))

ARGON2 = "argon2-cffi " + version("argon2-cffi")
sample(ARGON2, argon2.PasswordHasher().hash(PASSWORD))
sample(f"{ARGON2}, four lanes, long output",
       argon2.PasswordHasher(time_cost=3, memory_cost=4096, parallelism=4, hash_len=64).hash(PASSWORD))
sample(f"{ARGON2}, version 16",
       hash_secret(PASSWORD.encode(), b"sixteen byte sal", 2, 512, 2, 32, Type.ID, version=16).decode())
sample(f"{ARGON2}, long password", argon2.PasswordHasher(memory_cost=1024).hash(LONG), LONG)

sample(f"bcrypt {bcrypt.__version__}", bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode())

if shutil.which("php"):
    code = "echo PHP_VERSION, ' ', password_hash($argv[1], constant($argv[2]), json_decode($argv[3], true));"
    for algorithm, options in [("PASSWORD_BCRYPT", {"cost": 6}), ("PASSWORD_ARGON2ID", {}),
                               ("PASSWORD_ARGON2I", {"memory_cost": 2048})]:
        run = subprocess.run(["php", "-r", code, PASSWORD, algorithm, json.dumps(options)],
                             capture_output=True, text=True)
        if run.returncode == 0 and " $" in run.stdout:
            php, made = run.stdout.split(" ", 1)
            sample(f"PHP {php}, {algorithm}", made)
