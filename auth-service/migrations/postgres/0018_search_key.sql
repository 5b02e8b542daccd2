-- The key by which a username is searched and sorted: the name without case and accents. search_key_of is the name of
-- which it was made. Processes that do not know the columns leave them as they are. A service fills the keys in the
-- background.
-- Readers wait behind the lock, and the next start tries again.
SET LOCAL lock_timeout = '1s';
ALTER TABLE "user"
    ADD COLUMN search_key text COLLATE "C",
    ADD COLUMN search_key_of text COLLATE "C";
