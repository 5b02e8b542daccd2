-- The key by which a username is searched and sorted: the name without case and accents. search_key_of is the name of
-- which it was made. Processes that do not know the columns leave them as they are. A service fills the keys in the
-- background.
ALTER TABLE "user" ADD COLUMN search_key TEXT;
ALTER TABLE "user" ADD COLUMN search_key_of TEXT;
