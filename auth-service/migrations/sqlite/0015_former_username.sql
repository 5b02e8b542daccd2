-- The name that a user had before a renaming, behind its salt and a blank. The details of the row have the digest of both.
-- Processes that do not know the columns leave them empty.
ALTER TABLE audit_pending ADD COLUMN former_username TEXT;
ALTER TABLE audit ADD COLUMN former_username TEXT;
