-- The record of what happened to users and their credentials. A change writes its row to audit_pending in its own
-- transaction, so rows are there in the order of ids and not of commits. Behind the commits they move to audit, get
-- revisions without gaps, and are sealed by a chain of SHA-256. Times are Unix seconds. No references to users, who
-- may be deleted. state is the role of the user after a change that other services learn of, followed by " disabled".
-- Processes that do not know these tables change users without rows.
CREATE TABLE audit_pending (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at bigint NOT NULL,
    event text NOT NULL,
    user_id bigint,
    username text,
    actor_id bigint,
    actor text,
    actor_key bigint,
    actor_session bigint,
    client_address text,
    request_id text,
    details text NOT NULL,
    state text
);

-- commitments: for the name of the user, and for the name and the address of the actor, a salt, or after an erasure
-- the salted digests.
CREATE TABLE audit (
    revision bigint PRIMARY KEY,
    id bigint NOT NULL,
    at bigint NOT NULL,
    event text NOT NULL,
    user_id bigint,
    username text,
    actor_id bigint,
    actor text,
    actor_key bigint,
    actor_session bigint,
    client_address text,
    request_id text,
    details text NOT NULL,
    state text,
    commitments text NOT NULL
);
CREATE INDEX audit_user_id_idx ON audit (user_id, revision);
CREATE INDEX audit_actor_id_idx ON audit (actor_id, revision) WHERE actor_id IS NOT NULL;
CREATE INDEX audit_event_idx ON audit (event, revision);
CREATE INDEX audit_state_idx ON audit (revision) WHERE state IS NOT NULL;

-- The record is complete behind the oldest seal: users may exist before the record, and retention removes rows.
CREATE TABLE audit_seal (
    revision bigint PRIMARY KEY,
    at bigint NOT NULL,
    digest text NOT NULL
);
INSERT INTO audit_seal (revision, at, digest)
    SELECT CASE WHEN EXISTS (SELECT 1 FROM "user") THEN 1 ELSE 0 END, 0, '';
