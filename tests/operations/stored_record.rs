//! Reads and writes the tables of the record as a whole, as an attacker with access to the database could.

use e2e::TestDatabase;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, SqliteConnection};

/// A row of one of the tables: the value of each column.
pub(crate) type Row = Map<String, Value>;

pub(crate) const ROW: [&str; 16] = [
    "revision",
    "id",
    "at",
    "event",
    "user_id",
    "username",
    "actor_id",
    "actor",
    "actor_key",
    "actor_session",
    "client_address",
    "request_id",
    "details",
    "state",
    "former_username",
    "commitments",
];
pub(crate) const SEAL: [&str; 3] = ["revision", "at", "digest"];

/// The rows of both tables, by ascending revision.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoredRecord {
    pub(crate) rows: Vec<Row>,
    pub(crate) seals: Vec<Row>,
}

/// A connection to the database of the record, which stays open between statements.
pub(crate) enum Tables {
    Postgres(PgConnection),
    Sqlite(SqliteConnection),
}

impl Tables {
    pub(crate) async fn of(database: &TestDatabase) -> Self {
        let url = database.url();
        match database {
            TestDatabase::Postgres(_) => {
                Self::Postgres(PgConnection::connect(&url).await.expect("connected"))
            }
            TestDatabase::Sqlite(_) => {
                Self::Sqlite(SqliteConnection::connect(&url).await.expect("opened"))
            }
        }
    }

    pub(crate) async fn read(&mut self) -> StoredRecord {
        let (rows, seals) = (
            self.rows("audit", &ROW).await,
            self.rows("audit_seal", &SEAL).await,
        );
        StoredRecord { rows, seals }
    }

    /// Replaces all rows of both tables.
    pub(crate) async fn write(&mut self, record: &StoredRecord) {
        let mut script = "BEGIN; DELETE FROM audit; DELETE FROM audit_seal;".to_owned();
        for (table, columns, rows) in [
            ("audit", &ROW[..], &record.rows),
            ("audit_seal", &SEAL, &record.seals),
        ] {
            let literals = |row: &Row| {
                let row: Vec<_> = columns
                    .iter()
                    .map(|column| literal(&row[*column]))
                    .collect();
                format!("({})", row.join(","))
            };
            if !rows.is_empty() {
                let (columns, rows) = (
                    columns.join(","),
                    rows.iter().map(literals).collect::<Vec<_>>().join(","),
                );
                script.extend([
                    "INSERT INTO ",
                    table,
                    "(",
                    &columns,
                    ") VALUES ",
                    &rows,
                    ";",
                ]);
            }
        }
        let script = sqlx::raw_sql(AssertSqlSafe(script + "COMMIT;"));
        match self {
            Self::Postgres(connection) => script.execute(connection).await.map(drop),
            Self::Sqlite(connection) => script.execute(connection).await.map(drop),
        }
        .expect("written");
    }

    /// Runs a statement on the database, past the service.
    pub(crate) async fn execute(&mut self, sql: String) {
        let script = sqlx::raw_sql(AssertSqlSafe(sql));
        match self {
            Self::Postgres(connection) => script.execute(connection).await.map(drop),
            Self::Sqlite(connection) => script.execute(connection).await.map(drop),
        }
        .expect("executed");
    }

    /// Adds a row that claims that retention has removed the rows up to this revision.
    pub(crate) async fn add_removal(&mut self, through: i64, before: i64, days: i64) {
        let now = e2e::token::now();
        let details = json!({
            "removed_through": through, "removed_before": before, "retention_days": days,
        });
        self.execute(format!(
            "INSERT INTO audit_pending (at, event, details) VALUES ({now}, 'audit_pruned', '{details}')"
        ))
        .await;
    }

    async fn rows(&mut self, table: &str, columns: &[&str]) -> Vec<Row> {
        let pairs: Vec<_> = columns.iter().map(|it| format!("'{it}', {it}")).collect();
        let object = match self {
            Self::Postgres(_) => "json_build_object",
            Self::Sqlite(_) => "json_object",
        };
        let select = format!(
            "SELECT CAST({object}({}) AS text) FROM {table} ORDER BY revision",
            pairs.join(",")
        );
        let select = sqlx::AssertSqlSafe(select);
        let texts: Vec<String> = match self {
            Self::Postgres(connection) => sqlx::query_scalar(select)
                .fetch_all(connection)
                .await
                .expect("read"),
            Self::Sqlite(connection) => sqlx::query_scalar(select)
                .fetch_all(connection)
                .await
                .expect("read"),
        };
        texts
            .iter()
            .map(|text| serde_json::from_str(text).expect("an object"))
            .collect()
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{}'", text.replace('\'', "''")),
        other => other.to_string(),
    }
}

pub(crate) fn number(row: &Row, column: &str) -> i64 {
    row[column].as_i64().expect("a number")
}

pub(crate) fn text<'a>(row: &'a Row, column: &str) -> &'a str {
    row[column].as_str().expect("text")
}

impl StoredRecord {
    /// Returns the revision of the last row, which is also that of the last seal.
    pub(crate) fn last(&self) -> i64 {
        number(self.seals.last().expect("a seal"), "revision")
    }

    /// Numbers the rows anew, so that their revisions have no gaps.
    pub(crate) fn renumber(&mut self) {
        let first = number(&self.seals[0], "revision") + 1;
        for (row, revision) in self.rows.iter_mut().zip(first..) {
            row.insert("revision".to_owned(), revision.into());
        }
    }

    /// Computes every seal but the oldest anew, each from the rows up to its revision, as the program does.
    pub(crate) fn seal(&mut self) {
        let mut rows = self.rows.as_slice();
        for index in 1..self.seals.len() {
            let (before, revision) = (
                self.seals[index - 1].clone(),
                number(&self.seals[index], "revision"),
            );
            let (batch, rest) =
                rows.split_at(rows.partition_point(|row| number(row, "revision") <= revision));
            rows = rest;
            let at = batch
                .iter()
                .map(|row| number(row, "at"))
                .chain([number(&before, "at")])
                .max();
            let at = at.expect("that of the seal before");
            let mut chain = Sha256::new_with_prefix(text(&before, "digest"));
            chain.update(number(&before, "at").to_be_bytes());
            for row in batch {
                chain.update(digest(row));
            }
            chain.update(at.to_be_bytes());
            self.seals[index].insert("at".to_owned(), at.into());
            self.seals[index].insert("digest".to_owned(), hex(&chain.finalize()).into());
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .map(|digit| char::from_digit(digit.into(), 16).expect("below 16"))
        .collect()
}

/// Computes the salted digests of the user's name, the actor's name, and the actor's address.
fn committed(row: &Row) -> [String; 3] {
    let (user, actor) = text(row, "commitments").split_once(' ').expect("two salts");
    let salted =
        |salt: &str, column: &str| hex(&Sha256::digest(json!([salt, row[column]]).to_string()));
    let user = match user.strip_prefix('=') {
        Some(digest) => digest.to_owned(),
        None => salted(user, "username"),
    };
    let (actor, address) = match actor.strip_prefix('=').map(|it| it.split_once('=')) {
        Some(digests) => {
            let (actor, address) = digests.expect("two digests");
            (actor.to_owned(), address.to_owned())
        }
        None => (salted(actor, "actor"), salted(actor, "client_address")),
    };
    [user, actor, address]
}

fn digest(row: &Row) -> [u8; 32] {
    let columns = [
        "revision",
        "id",
        "at",
        "event",
        "user_id",
        "actor_id",
        "actor_key",
        "actor_session",
        "request_id",
        "details",
        "state",
    ];
    let mut values: Vec<_> = columns.iter().map(|column| row[*column].clone()).collect();
    values.push(json!(committed(row)));
    Sha256::digest(Value::from(values).to_string()).into()
}

/// Erases the name of the user, or the name and the address of the actor, as the command does.
pub(crate) fn erase(row: &mut Row, of_user: bool) {
    let [user, actor, address] = committed(row);
    let (old_user, old_actor) = text(row, "commitments").split_once(' ').expect("two salts");
    let (commitments, erased) = if of_user {
        (
            format!("={user} {old_actor}"),
            &["username", "former_username"][..],
        )
    } else {
        (
            format!("{old_user} ={actor}={address}"),
            &["actor", "client_address"][..],
        )
    };
    row.insert("commitments".to_owned(), commitments.into());
    for column in erased {
        row.insert((*column).to_owned(), Value::Null);
    }
}
