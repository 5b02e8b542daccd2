-- Times are milliseconds since 1970-01-01T00:00:00Z. AUTOINCREMENT: the id of a deleted post is never
-- given out again.
CREATE TABLE post (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    author_id INTEGER NOT NULL,
    title TEXT NOT NULL,
    content TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

-- A page of one author's posts is a range of this index.
CREATE INDEX post_author_id_id ON post (author_id, id);
