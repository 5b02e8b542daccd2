-- The revision of the last change of a user that was made use of, in one row; 0 for none. author_id 0 stands for an
-- author who was deleted: users have ids of at least 1, and processes from before this migration find no name for it.
CREATE TABLE user_cursor (
    revision INTEGER NOT NULL
) STRICT;
INSERT INTO user_cursor (revision) VALUES (0);
