-- Which history of users the revision of user_cursor is of: seal is the last seal of it that was seen, '' for none.
-- accepts_any is true after an operator has said that the next history is right, whatever it is.
-- When the author of a post was made, in Unix seconds: it tells the author from another user who got the same id
-- later. NULL if that is not known, and from processes that do not know the column, which write on.
-- Constant defaults change no row. Readers wait behind the lock, and the next start tries again.
SET LOCAL lock_timeout = '1s';
ALTER TABLE posts.user_cursor
    ADD COLUMN seal text NOT NULL DEFAULT '',
    ADD COLUMN accepts_any boolean NOT NULL DEFAULT false;
ALTER TABLE posts.post ADD COLUMN author_created_at bigint;
