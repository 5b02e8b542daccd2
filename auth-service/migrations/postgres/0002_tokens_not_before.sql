-- Unix seconds: tokens issued earlier are not good any more. Moved on by every change of the password.
-- A constant default changes no row; instances that do not know the column write on.
ALTER TABLE "user" ADD COLUMN tokens_not_before bigint NOT NULL DEFAULT 0
    CONSTRAINT user_tokens_not_before_check CHECK (tokens_not_before >= 0);

-- For pages of users with one role: by id, from where the page before ended.
CREATE INDEX user_role_id_idx ON "user" (role, id);
