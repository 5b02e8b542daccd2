-- AUTOINCREMENT: the id of a deleted user is never given out again.
CREATE TABLE "user" (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    username TEXT NOT NULL,
    password TEXT NOT NULL,
    role TEXT NOT NULL DEFAULT 'user' CONSTRAINT user_role_check CHECK (role IN ('user', 'author', 'admin'))
) STRICT;

CREATE UNIQUE INDEX user_username_key ON "user" (username);
