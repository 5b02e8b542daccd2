-- Bearer credentials of programs. Of a key the SHA-256 is stored, in hex. Times are Unix seconds.
-- ON DELETE CASCADE: processes that do not know the table delete users, and their keys with them.
CREATE TABLE api_key (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    prefix TEXT NOT NULL,
    digest TEXT NOT NULL,
    role TEXT CONSTRAINT api_key_role_check CHECK (role IN ('user', 'author', 'admin')),
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    last_used_at INTEGER
) STRICT;

CREATE UNIQUE INDEX api_key_digest_key ON api_key (digest);
CREATE INDEX api_key_user_id_idx ON api_key (user_id);
