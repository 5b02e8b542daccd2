-- Unix seconds: tokens issued earlier are not good any more. Moved on by every change of the password.
-- A constant default changes no row; processes that do not know the column write on.
ALTER TABLE "user" ADD COLUMN tokens_not_before INTEGER NOT NULL DEFAULT 0
    CONSTRAINT user_tokens_not_before_check CHECK (tokens_not_before >= 0);

-- For pages of users with one role: an index ends in the id, by which pages are read.
CREATE INDEX user_role_idx ON "user" (role);
