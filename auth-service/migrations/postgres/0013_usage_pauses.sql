-- Sessions end for lack of use, which is written once a minute. While it cannot be written, no process knows of the uses
-- at the others, so that time does not count. usage_write: when a process last wrote what was used; each does so once a
-- minute, also where nothing was used. usage_pause: when that was impossible. Times are Unix seconds.
CREATE TABLE usage_write (
    id integer PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    written_at bigint NOT NULL
);
INSERT INTO usage_write (written_at) VALUES (floor(date_part('epoch', clock_timestamp()))::bigint);

CREATE TABLE usage_pause (
    began bigint NOT NULL,
    ended bigint NOT NULL
);
CREATE INDEX usage_pause_ended_idx ON usage_pause (ended);
