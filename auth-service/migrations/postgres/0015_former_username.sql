-- The name that a user had before a renaming, behind its salt and a blank. The details of the row have the digest of both.
-- Processes that do not know the columns leave them empty.
-- Readers wait behind the lock, and the next start tries again.
SET LOCAL lock_timeout = '1s';
ALTER TABLE audit_pending ADD COLUMN former_username text;
ALTER TABLE audit ADD COLUMN former_username text;
