-- Groups, memberships, and ends of accounts. A name of a group never changes, so memberships and API keys refer to it.
-- until: Unix seconds by the clock of the database. A membership counts, and an account can be used, while it is later
-- than now or NULL; nothing is written when it passes. group_names of an API key: names in ascending order with commas
-- between them; empty for none of its user's groups, NULL if the key names no groups.
ALTER TABLE "user" ADD COLUMN until INTEGER;
ALTER TABLE api_key ADD COLUMN group_names TEXT;

CREATE TABLE "group" (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE CONSTRAINT group_name_check
        CHECK (name GLOB '[a-z]*' AND name NOT GLOB '*[^a-z0-9_-]*' AND length(name) <= 32)
) STRICT;

CREATE TABLE membership (
    user_id INTEGER NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    group_name TEXT NOT NULL REFERENCES "group" (name) ON DELETE CASCADE,
    until INTEGER,
    PRIMARY KEY (user_id, group_name)
) STRICT, WITHOUT ROWID;
CREATE INDEX membership_group_name_idx ON membership (group_name, user_id);
