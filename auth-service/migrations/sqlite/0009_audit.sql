-- The record of what happened to users and their credentials. A change writes its row to audit_pending in its own
-- transaction, so rows are there in the order of ids and not of commits. Behind the commits they move to audit, get
-- revisions without gaps, and are sealed by a chain of SHA-256. Times are Unix seconds. No references to users, who
-- may be deleted. state is the role of the user after a change that other services learn of, followed by " disabled".
-- Processes that do not know these tables change users without rows.
CREATE TABLE audit_pending (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    event TEXT NOT NULL,
    user_id INTEGER,
    username TEXT,
    actor_id INTEGER,
    actor TEXT,
    actor_key INTEGER,
    actor_session INTEGER,
    client_address TEXT,
    request_id TEXT,
    details TEXT NOT NULL,
    state TEXT
);

-- commitments: for the name of the user, and for the name and the address of the actor, a salt, or after an erasure
-- the salted digests.
CREATE TABLE audit (
    revision INTEGER PRIMARY KEY,
    id INTEGER NOT NULL,
    at INTEGER NOT NULL,
    event TEXT NOT NULL,
    user_id INTEGER,
    username TEXT,
    actor_id INTEGER,
    actor TEXT,
    actor_key INTEGER,
    actor_session INTEGER,
    client_address TEXT,
    request_id TEXT,
    details TEXT NOT NULL,
    state TEXT,
    commitments TEXT NOT NULL
);
CREATE INDEX audit_user_id_idx ON audit (user_id, revision);
CREATE INDEX audit_actor_id_idx ON audit (actor_id, revision) WHERE actor_id IS NOT NULL;
CREATE INDEX audit_event_idx ON audit (event, revision);
CREATE INDEX audit_state_idx ON audit (revision) WHERE state IS NOT NULL;

-- The record is complete behind the oldest seal: users may exist before the record, and retention removes rows.
CREATE TABLE audit_seal (
    revision INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    digest TEXT NOT NULL
);
INSERT INTO audit_seal (revision, at, digest)
    SELECT CASE WHEN EXISTS (SELECT 1 FROM "user") THEN 1 ELSE 0 END, 0, '';
