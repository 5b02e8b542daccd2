-- Wrong codes count apart, so that those of a signed-in caller keep nobody from signing in, and wrong one-time codes block
-- no recovery code. Each count has the time at which its window began, in Unix seconds. wrong_codes, from before, counts
-- the one-time codes of sign-ins, and for programs of the version before every code.
-- Readers wait behind the lock, and the next start tries again.
SET LOCAL lock_timeout = '1s';
ALTER TABLE second_factor
    ADD COLUMN wrong_recovery_codes bigint NOT NULL DEFAULT 0,
    ADD COLUMN wrong_recovery_since bigint NOT NULL DEFAULT 0,
    ADD COLUMN wrong_confirmations bigint NOT NULL DEFAULT 0,
    ADD COLUMN wrong_confirmations_since bigint NOT NULL DEFAULT 0,
    ADD COLUMN wrong_recovery_confirmations bigint NOT NULL DEFAULT 0,
    ADD COLUMN wrong_recovery_confirmations_since bigint NOT NULL DEFAULT 0;
