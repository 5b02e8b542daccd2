-- Links by which users choose a password, and second factors. Times are Unix seconds, digests SHA-256 in hex.
-- While second_factor is on, the stored password begins with otp:, so processes that do not know it refuse the
-- password. A secret is sealed with a key that the database does not have. last_step is the last of which a code was
-- used. wrong_codes counts since wrong_since.
-- Readers wait behind the lock, and the next start tries again.
SET LOCAL lock_timeout = '1s';
ALTER TABLE "user" ADD COLUMN second_factor boolean NOT NULL DEFAULT false;

CREATE TABLE password_link (
    user_id bigint PRIMARY KEY REFERENCES "user" (id) ON DELETE CASCADE,
    digest text NOT NULL UNIQUE,
    expires_at bigint NOT NULL
);

CREATE TABLE second_factor (
    user_id bigint PRIMARY KEY REFERENCES "user" (id) ON DELETE CASCADE,
    secret text NOT NULL,
    last_step bigint NOT NULL DEFAULT 0,
    wrong_codes bigint NOT NULL DEFAULT 0,
    wrong_since bigint NOT NULL DEFAULT 0
);

CREATE TABLE recovery_code (
    user_id bigint NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    digest text NOT NULL,
    PRIMARY KEY (user_id, digest)
);
