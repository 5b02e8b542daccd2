-- Finds users whose search key is missing or outdated, and sorts users by the key and by the end of the account. Users
-- without an end come last.
-- The condition is not written as IS DISTINCT FROM, because programs with SQLite before 3.39 could not open the file.
CREATE INDEX user_unindexed_idx ON "user" (id) WHERE search_key_of IS NOT username;
CREATE INDEX user_search_key_idx ON "user" (search_key);
CREATE INDEX user_until_idx ON "user" (coalesce(until, 9223372036854775807));
