-- When the user was created and last logged in with a password, in Unix seconds. NULL for a user from before, and
-- of processes that do not know the columns, which write on.
-- Changes no row. Readers wait behind it, and the next start tries again.
SET LOCAL lock_timeout = '1s';
ALTER TABLE "user"
    ADD COLUMN created_at bigint,
    ADD COLUMN last_login_at bigint;
