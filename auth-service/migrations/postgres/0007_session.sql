-- Sessions: credentials of people, beside the API keys of programs. A session has session_user_id in place of
-- user_id, so processes that do not know sessions find none: neither by digest nor among the keys of a user.
-- A session is good while not_before, in Unix seconds, is the user's tokens_not_before.
-- created_by is the username of the admin who created a key for another user.
-- A migration of its own: with the one before, it could deadlock with readers, who lock api_key first. The
-- lock of the foreign key comes first, as in a deletion of a user, which goes on to the keys.
SET LOCAL lock_timeout = '1s';
LOCK TABLE "user" IN SHARE ROW EXCLUSIVE MODE;
ALTER TABLE api_key
    DROP CONSTRAINT api_key_role_check,
    ADD CONSTRAINT api_key_role_check CHECK (role ~ '^[a-z][a-z0-9_-]{0,31}$') NOT VALID,
    ALTER COLUMN user_id DROP NOT NULL,
    ADD COLUMN session_user_id bigint REFERENCES "user" (id) ON DELETE CASCADE,
    ADD COLUMN not_before bigint,
    ADD COLUMN client_address text,
    ADD COLUMN user_agent text,
    ADD COLUMN created_by text,
    ADD CONSTRAINT api_key_owner_check CHECK ((user_id IS NULL) <> (session_user_id IS NULL)) NOT VALID;

CREATE INDEX api_key_session_user_id_idx ON api_key (session_user_id) WHERE session_user_id IS NOT NULL;
