-- Wrong codes count apart, so that those of a signed-in caller keep nobody from signing in, and wrong one-time codes block
-- no recovery code. Each count has the time at which its window began, in Unix seconds. wrong_codes, from before, counts
-- the one-time codes of sign-ins, and for programs of the version before every code.
ALTER TABLE second_factor ADD COLUMN wrong_recovery_codes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE second_factor ADD COLUMN wrong_recovery_since INTEGER NOT NULL DEFAULT 0;
ALTER TABLE second_factor ADD COLUMN wrong_confirmations INTEGER NOT NULL DEFAULT 0;
ALTER TABLE second_factor ADD COLUMN wrong_confirmations_since INTEGER NOT NULL DEFAULT 0;
ALTER TABLE second_factor ADD COLUMN wrong_recovery_confirmations INTEGER NOT NULL DEFAULT 0;
ALTER TABLE second_factor ADD COLUMN wrong_recovery_confirmations_since INTEGER NOT NULL DEFAULT 0;
