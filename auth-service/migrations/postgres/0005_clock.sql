-- Tokens issued before this time, in Unix seconds, count only if their headers have this number. For an
-- operator who lowers a `tokens_not_before` in the future, which revives none of them.
-- A constant default changes no row; processes that do not know the column write on.
ALTER TABLE "user" ADD COLUMN tokens_marked_until bigint NOT NULL DEFAULT 0
    CONSTRAINT user_tokens_marked_until_check CHECK (tokens_marked_until >= 0);
