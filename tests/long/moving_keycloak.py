"""Creates a realm of Keycloak for `moving`, with credentials as its PBKDF2 and argon2 providers write them."""

import base64
import hashlib
import json
import os

import psycopg
from argon2.low_level import Type, hash_secret_raw


def make_keycloak(url, password):
    """Creates users. Returns the names of those whose hashes can be imported, and of the others."""

    def encode(raw):
        return base64.b64encode(raw).decode()

    def credential(algorithm, iterations, key, salt, parameters):
        data = {"hashIterations": iterations, "algorithm": algorithm, "additionalParameters": parameters}
        secret = {"value": encode(key), "salt": encode(salt), "additionalParameters": {}}
        return json.dumps(secret), json.dumps(data)

    def pbkdf2(function, iterations):
        salt = os.urandom(16)
        key = hashlib.pbkdf2_hmac(function, password.encode(), salt, iterations, 64)
        return credential(f"pbkdf2-{function}", iterations, key, salt, {})

    salt = os.urandom(16)
    key = hash_secret_raw(password.encode(), salt, 5, 7168, 1, 32, Type.ID)
    parameters = {"hashLength": ["32"], "memory": ["7168"], "type": ["id"], "version": ["1.3"], "parallelism": ["1"]}
    credentials = {
        "sha512": pbkdf2("sha512", 30_000),
        "sha256": pbkdf2("sha256", 60_000),
        "argon2": credential("argon2", 5, key, salt, parameters),
        "sha1": credential("pbkdf2", 20_000, b"x" * 64, salt, {}),
        "federated": None,
    }
    with psycopg.connect(url) as database:
        database.execute(
            """CREATE TABLE realm (id varchar(36) PRIMARY KEY, name varchar(255));
            CREATE TABLE user_entity (id varchar(36) PRIMARY KEY, email varchar(255), enabled boolean NOT NULL,
            realm_id varchar(255), username varchar(255), service_account_client_link varchar(255));
            CREATE TABLE credential (id varchar(36) PRIMARY KEY DEFAULT gen_random_uuid(), salt bytea,
            type varchar(255), user_id varchar(36), created_date bigint, user_label varchar(255), secret_data text,
            credential_data text, priority integer);
            INSERT INTO realm VALUES ('1', 'master'), ('2', 'myrealm');
            INSERT INTO user_entity VALUES ('other', NULL, true, '1', 'of another realm', NULL),
            ('service', NULL, true, '2', 'service-account-app', 'app')"""
        )
        for name, data in credentials.items():
            database.execute("INSERT INTO user_entity VALUES (%s, NULL, true, '2', %s, NULL)", (name, name))
            insert = "INSERT INTO credential (type, user_id, secret_data, credential_data, priority) VALUES (%s, %s, %s, %s, 10)"
            if data:
                database.execute(insert, ("password", name, *data))
            database.execute(insert, ("otp", name, "{}", "{}"))
    others = ["sha1", "federated"]
    return [name for name in credentials if name not in others], others
