-- The history of users that is followed.
-- The last seal of it that was seen; '' for none.
ALTER TABLE user_cursor ADD COLUMN seal TEXT NOT NULL DEFAULT '';
-- Whether an operator has accepted the next history, whatever it is.
ALTER TABLE user_cursor ADD COLUMN accepts_any INTEGER NOT NULL DEFAULT 0
    CONSTRAINT user_cursor_accepts_any_check CHECK (accepts_any IN (0, 1));
-- Grows when an operator does so: processes that still follow the history before store nothing any more.
ALTER TABLE user_cursor ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;

-- When the author of a post was created, in Unix seconds: it tells the author from a later user with the same id. NULL if
-- it is unknown, and in posts that an older version writes which is still running.
ALTER TABLE post ADD COLUMN author_created_at INTEGER;

-- Finds the times of authors without reading posts. It is empty now.
CREATE INDEX post_author_created_at ON post (author_id, author_created_at, id) WHERE author_created_at IS NOT NULL;
