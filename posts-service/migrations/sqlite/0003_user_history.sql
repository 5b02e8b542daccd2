-- Which history of users the revision of user_cursor is of: seal is the last seal of it that was seen, '' for none.
-- accepts_any is true after an operator has said that the next history is right, whatever it is.
-- When the author of a post was made, in Unix seconds: it tells the author from another user who got the same id
-- later. NULL if that is not known, and from processes that do not know the column, which write on.
ALTER TABLE user_cursor ADD COLUMN seal TEXT NOT NULL DEFAULT '';
ALTER TABLE user_cursor ADD COLUMN accepts_any INTEGER NOT NULL DEFAULT 0
    CONSTRAINT user_cursor_accepts_any_check CHECK (accepts_any IN (0, 1));
ALTER TABLE post ADD COLUMN author_created_at INTEGER;
