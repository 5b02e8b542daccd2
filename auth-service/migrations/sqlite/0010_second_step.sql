-- Links by which users choose a password, and second factors. Times are Unix seconds, digests SHA-256 in hex.
-- While second_factor is on, the stored password begins with otp:, so processes that do not know it refuse the
-- password. A secret is sealed with a key that the database does not have. last_step is the last of which a code was
-- used. wrong_codes counts since wrong_since.
ALTER TABLE "user" ADD COLUMN second_factor INTEGER NOT NULL DEFAULT 0
    CONSTRAINT user_second_factor_check CHECK (second_factor IN (0, 1));

CREATE TABLE password_link (
    user_id INTEGER PRIMARY KEY REFERENCES "user" (id) ON DELETE CASCADE,
    digest TEXT NOT NULL UNIQUE,
    expires_at INTEGER NOT NULL
) STRICT;

CREATE TABLE second_factor (
    user_id INTEGER PRIMARY KEY REFERENCES "user" (id) ON DELETE CASCADE,
    secret TEXT NOT NULL,
    last_step INTEGER NOT NULL DEFAULT 0,
    wrong_codes INTEGER NOT NULL DEFAULT 0,
    wrong_since INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE recovery_code (
    user_id INTEGER NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    digest TEXT NOT NULL,
    PRIMARY KEY (user_id, digest)
) STRICT;
