-- When the user was created and last logged in with a password, in Unix seconds. NULL for a user from before, and
-- of processes that do not know the columns, which write on.
ALTER TABLE "user" ADD COLUMN created_at INTEGER;
ALTER TABLE "user" ADD COLUMN last_login_at INTEGER;
