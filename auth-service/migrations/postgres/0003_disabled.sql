-- Whether every credential of the user is refused.
-- A constant default changes no row; processes that do not know the column write on.
ALTER TABLE "user" ADD COLUMN disabled boolean NOT NULL DEFAULT false;
