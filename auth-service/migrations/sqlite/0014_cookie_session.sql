-- Sessions in the cookies of applications. cookie_only: the session is good only where a cookie is presented, and is no
-- token of the API. A session that was made before this column is restricted when a cookie first presents it.
-- pair_id: one sign-in made both sessions that have it, one for the console and one for applications.
-- A constant default changes no row; processes that do not know the columns write on, and accept the sessions as before.
ALTER TABLE api_key ADD COLUMN cookie_only INTEGER NOT NULL DEFAULT 0
    CONSTRAINT api_key_cookie_only_check CHECK (cookie_only IN (0, 1));
ALTER TABLE api_key ADD COLUMN pair_id INTEGER;
