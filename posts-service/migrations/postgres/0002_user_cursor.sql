-- The revision of the last change of a user that was made use of, in one row; 0 for none. author_id 0 stands for an
-- author who was deleted: users have ids of at least 1, and processes from before this migration find no name for it.
SET LOCAL lock_timeout = '1s';
CREATE TABLE posts.user_cursor (
    revision bigint NOT NULL
);
INSERT INTO posts.user_cursor (revision) VALUES (0);
