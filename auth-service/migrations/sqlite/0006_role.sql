-- A role is a name; the setting EXTRA_ROLES says which there are.
-- SQLite cannot change a constraint. This is the second procedure of "Making Other Kinds Of Table Schema
-- Changes" in https://www.sqlite.org/lang_altertable.html, for constraints that every row meets.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema
SET sql = replace(
    sql,
    'CHECK (role IN (''user'', ''author'', ''admin''))',
    'CHECK (role GLOB ''[a-z]*'' AND role NOT GLOB ''*[^a-z0-9_-]*'' AND length(role) <= 32)'
)
WHERE type = 'table' AND name IN ('user', 'api_key');
PRAGMA writable_schema = RESET;
-- So that other connections read the schema again.
CREATE TABLE reread (one INTEGER);
DROP TABLE reread;
