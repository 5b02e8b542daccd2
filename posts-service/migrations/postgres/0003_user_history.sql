-- The history of users that is followed.
SET LOCAL lock_timeout = '1s';
ALTER TABLE posts.user_cursor
    -- The last seal of the history that was seen; '' for none.
    ADD COLUMN seal text NOT NULL DEFAULT '',
    -- Whether an operator has accepted the next history, whatever it is.
    ADD COLUMN accepts_any boolean NOT NULL DEFAULT false,
    -- Grows when an operator does so: processes that still follow the history before store nothing any more.
    ADD COLUMN generation bigint NOT NULL DEFAULT 0;

-- When the author of a post was created, in Unix seconds: it tells the author from a later user with the same id. NULL if
-- it is unknown, and in posts that an older version writes which is still running.
ALTER TABLE posts.post ADD COLUMN author_created_at bigint;

-- Finds the times of authors without reading posts. It is empty now.
CREATE INDEX post_author_created_at ON posts.post (author_id, author_created_at, id)
    WHERE author_created_at IS NOT NULL;
