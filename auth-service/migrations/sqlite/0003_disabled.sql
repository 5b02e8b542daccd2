-- Whether every credential of the user is refused.
-- A constant default changes no row; processes that do not know the column write on.
ALTER TABLE "user" ADD COLUMN disabled INTEGER NOT NULL DEFAULT 0
    CONSTRAINT user_disabled_check CHECK (disabled IN (0, 1));
