-- What retention may remove, and the order in which the record is sealed. removed_before: rows from before this time in
-- Unix seconds may be removed. It moves at most two days an hour, whichever process moves it and however often they
-- start. moved_at: when it last moved. base_revision: where the record began then; a record that still begins there
-- has a batch that spans more than two days, so the time moves on.
CREATE TABLE audit_retention (
    id INTEGER PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    base_revision INTEGER NOT NULL DEFAULT 0,
    removed_before INTEGER NOT NULL DEFAULT 0,
    moved_at INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO audit_retention DEFAULT VALUES;

-- A record from which rows were removed before removals were recorded begins here.
INSERT INTO audit_pending (at, event, details)
    SELECT unixepoch(), 'audit_begins',
        '{"removed_through":' || revision || '}'
    FROM (SELECT revision, digest FROM audit_seal ORDER BY revision LIMIT 1) AS oldest WHERE digest <> '';

-- The rows of an import are many. Other rows are sealed before them.
CREATE INDEX audit_pending_urgent_idx ON audit_pending (id) WHERE event <> 'user_imported';
CREATE INDEX audit_pending_imported_idx ON audit_pending (user_id) WHERE event = 'user_imported';

-- When something was added to a user in the last minute: an API key, a session, or a second factor that was begun. They
-- are counted here and not in the record, so that a record that is locked keeps nobody from signing in.
CREATE TABLE addition (
    user_id INTEGER NOT NULL,
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX addition_user_id_idx ON addition (user_id, at);
