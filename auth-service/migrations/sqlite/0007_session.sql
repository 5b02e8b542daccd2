-- Sessions: credentials of people, beside the API keys of programs. A session has session_user_id in place of
-- user_id, so processes that do not know sessions find none: neither by digest nor among the keys of a user.
-- A session is good while not_before, in Unix seconds, is the user's tokens_not_before.
-- created_by is the username of the admin who created a key for another user.
ALTER TABLE api_key ADD COLUMN session_user_id INTEGER REFERENCES "user" (id) ON DELETE CASCADE
    CONSTRAINT api_key_owner_check CHECK ((user_id IS NULL) <> (session_user_id IS NULL));
ALTER TABLE api_key ADD COLUMN not_before INTEGER;
ALTER TABLE api_key ADD COLUMN client_address TEXT;
ALTER TABLE api_key ADD COLUMN user_agent TEXT;
ALTER TABLE api_key ADD COLUMN created_by TEXT;

-- As the migration before: SQLite cannot drop NOT NULL.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema
SET sql = replace(sql, 'user_id INTEGER NOT NULL REFERENCES', 'user_id INTEGER REFERENCES')
WHERE type = 'table' AND name = 'api_key';
PRAGMA writable_schema = RESET;

CREATE INDEX api_key_session_user_id_idx ON api_key (session_user_id) WHERE session_user_id IS NOT NULL;
