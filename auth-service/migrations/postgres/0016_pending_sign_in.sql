-- Sign-ins whose password was right, and whose code is asked for on a page of its own. digest: SHA-256 in hex of the
-- token in that page and of the place where the page is. not_before: the tokens_not_before of the user when the password
-- was checked; the sign-in is good while they are equal. expires_at: Unix seconds.
-- A table of its own, so that processes that do not know it never take such a token for a session.
-- Readers wait behind the lock, and the next start tries again.
SET LOCAL lock_timeout = '1s';
CREATE TABLE pending_sign_in (
    digest text PRIMARY KEY,
    user_id bigint NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    not_before bigint NOT NULL,
    expires_at bigint NOT NULL
);
CREATE INDEX pending_sign_in_user_id_idx ON pending_sign_in (user_id);
