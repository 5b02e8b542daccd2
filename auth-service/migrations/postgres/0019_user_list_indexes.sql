-- Finds users whose search key is missing or outdated, and sorts users by the key and by the end of the account. Users
-- without an end come last.
-- Writers wait behind the lock, and the next start tries again. Readers do not wait: these statements are not in the
-- migration that adds the columns, because its lock would be kept until the indexes are built.
SET LOCAL lock_timeout = '1s';
CREATE INDEX user_unindexed_idx ON "user" (id) WHERE search_key_of IS DISTINCT FROM username;
CREATE INDEX user_search_key_idx ON "user" (search_key, id);
CREATE INDEX user_until_idx ON "user" (coalesce(until, 9223372036854775807), id);
