-- A role is a name; the setting EXTRA_ROLES says which there are.
-- NOT VALID: no row is read, because each has one of the three names that were allowed before.
-- Readers wait behind it, and the next start tries again.
SET LOCAL lock_timeout = '1s';
ALTER TABLE "user"
    DROP CONSTRAINT user_role_check,
    ADD CONSTRAINT user_role_check CHECK (role ~ '^[a-z][a-z0-9_-]{0,31}$') NOT VALID;
