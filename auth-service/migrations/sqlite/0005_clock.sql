-- Tokens issued before this time, in Unix seconds, count only if their headers have this number. For an
-- operator who lowers a `tokens_not_before` in the future, which revives none of them.
-- A constant default changes no row; processes that do not know the column write on.
ALTER TABLE "user" ADD COLUMN tokens_marked_until INTEGER NOT NULL DEFAULT 0
    CONSTRAINT user_tokens_marked_until_check CHECK (tokens_marked_until >= 0);

-- One row: the clock by which tokens and keys are judged. Times are Unix milliseconds.
CREATE TABLE clock (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    -- The boot of the system, and the time of the clock at its start.
    boot TEXT,
    zero INTEGER NOT NULL,
    -- The clock has not passed this time. After another boot it begins here or later.
    latest INTEGER NOT NULL DEFAULT 0
) STRICT;
