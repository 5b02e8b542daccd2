//! Statements in SQL that both engines understand; where they differ, the builder knows both forms.

use crate::{
    span::describe,
    uptime::{NOW, UPTIME, uptime},
};
use serde::Serialize;
use sqlx::{
    Arguments as _, AssertSqlSafe, Encode, FromRow, PgConnection, Postgres, Sqlite,
    SqliteConnection, Type,
    postgres::{PgArguments, PgRow},
    query_with,
    sqlite::{SqliteArguments, SqliteRow},
};
use std::{collections::BTreeSet, fmt::Write as _, sync::Arc};

/// A value that both engines encode.
pub trait Value<'v>:
    Encode<'v, Postgres> + Type<Postgres> + Encode<'v, Sqlite> + Type<Sqlite>
{
}

impl<'v, V> Value<'v> for V where
    V: Encode<'v, Postgres> + Type<Postgres> + Encode<'v, Sqlite> + Type<Sqlite>
{
}

/// A type that the rows of both engines decode to.
pub trait TableRow:
    for<'r> FromRow<'r, PgRow> + for<'r> FromRow<'r, SqliteRow> + Send + Unpin + 'static
{
}

impl<R> TableRow for R where
    R: for<'r> FromRow<'r, PgRow> + for<'r> FromRow<'r, SqliteRow> + Send + Unpin + 'static
{
}

/// The rows of a statement, decoded by who asked for them: what runs statements is compiled once, not for
/// each type of rows.
pub(crate) enum Rows {
    Postgres(Vec<PgRow>),
    Sqlite(Vec<SqliteRow>),
}

impl Rows {
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Postgres(rows) => rows.is_empty(),
            Self::Sqlite(rows) => rows.is_empty(),
        }
    }

    pub(crate) fn decode<R: TableRow>(&self) -> sqlx::Result<Vec<R>> {
        match self {
            Self::Postgres(rows) => rows.iter().map(R::from_row).collect(),
            Self::Sqlite(rows) => rows.iter().map(R::from_row).collect(),
        }
    }
}

/// A connection in a transaction.
#[derive(Debug)]
pub(crate) enum Connection<'c> {
    Postgres(&'c mut PgConnection),
    Sqlite(&'c mut SqliteConnection),
}

impl Connection<'_> {
    pub(crate) fn statement(&self, sql: &str) -> Statement {
        Statement::new(sql, matches!(self, Self::Postgres(_)))
    }
}

/// A statement and its values. The text consists of literals, so no value can become SQL. Placeholders
/// are `$1`, `$2`…, in SQLite too.
#[must_use = "a statement does nothing until it is run"]
#[derive(Clone, Debug)]
pub struct Statement {
    sql: String,
    values: Values,
    encoded: Result<(), EncodeError>,
}

/// Why a value cannot be bound. Shared, so that a statement can run again.
type EncodeError = Arc<dyn std::error::Error + Send + Sync>;

#[derive(Clone, Debug)]
enum Values {
    Postgres(PgArguments),
    Sqlite(SqliteArguments),
}

impl Statement {
    pub(crate) fn new(start: &str, is_postgres: bool) -> Self {
        // Room for most statements, which are appended piece by piece.
        let mut sql = String::with_capacity(512);
        sql.push_str(start);
        let values = if is_postgres {
            Values::Postgres(PgArguments::default())
        } else {
            Values::Sqlite(SqliteArguments::default())
        };
        Self {
            sql,
            values,
            encoded: Ok(()),
        }
    }

    /// Appends SQL.
    pub fn push(mut self, sql: &'static str) -> Self {
        self.sql.push_str(sql);
        self
    }

    /// Appends the time of the clock of the database when the statement runs, in Unix seconds.
    pub fn push_now(self) -> Self {
        let of_postgres = "floor(date_part('epoch', clock_timestamp()))::bigint";
        let now = if self.is_postgres() { of_postgres } else { NOW };
        self.push(now)
    }

    /// Binds the next placeholder.
    pub fn bind<'v>(mut self, value: impl Value<'v>) -> Self {
        let added = match &mut self.values {
            Values::Postgres(values) => values.add(value),
            Values::Sqlite(values) => values.add(value),
        };
        self.encoded = self.encoded.and(added.map_err(EncodeError::from));
        self
    }

    /// Appends the next placeholder and binds it.
    pub fn push_bind<'v>(mut self, value: impl Value<'v>) -> Self {
        let number = self.next_placeholder();
        let _ = write!(self.sql, "${number}");
        self.bind(value)
    }

    /// Appends the condition that the column before it is one of these values.
    pub fn push_any<'v, V: Serialize>(mut self, values: &'v [V]) -> Self
    where
        &'v V: Value<'v>,
        &'v [V]: Encode<'v, Postgres> + Type<Postgres>,
    {
        // PostgreSQL would plan a short array anew each time: it expects ten values in any array.
        if let [only] = values {
            return self.push(" = ").push_bind(only);
        }
        let number = self.next_placeholder();
        let Values::Postgres(arguments) = &mut self.values else {
            let _ = write!(self.sql, " IN (SELECT value FROM json_each(${number}))");
            return self.bind_json(values);
        };
        let _ = write!(self.sql, " = ANY(${number})");
        let added = arguments.add(values);
        Self {
            encoded: self.encoded.and(added.map_err(EncodeError::from)),
            ..self
        }
    }

    /// Appends the condition that the column before it contains this text, taken literally but for the case
    /// of its letters. The engines and the locale of a cluster differ about letters beyond ASCII.
    pub fn push_contains(self, text: &str) -> Self {
        let is_postgres = self.is_postgres();
        let pattern: String = text.chars().map(|c| in_any_case(c, is_postgres)).collect();
        if is_postgres {
            return self.push(" ~ ").push_bind(pattern);
        }
        self.push(" GLOB ").push_bind(format!("*{pattern}*"))
    }

    /// Appends a `FROM` clause with these rows, whose fields are the columns, each with its type in
    /// PostgreSQL. It ends so that `ON CONFLICT` may follow.
    pub fn push_rows<R: Serialize>(
        mut self,
        columns: &[(&'static str, &'static str)],
        rows: &[R],
    ) -> Self {
        let (number, is_postgres) = (self.next_placeholder(), self.is_postgres());
        let column = |&(name, of): &(&str, &str)| {
            if is_postgres {
                format!("{name} {of}")
            } else {
                format!("value ->> '{name}' AS {name}")
            }
        };
        let columns = columns.iter().map(column).collect::<Vec<_>>().join(", ");
        let _ = if is_postgres {
            write!(
                self.sql,
                " FROM json_to_recordset(${number}::json) AS r ({columns})"
            )
        } else {
            write!(
                self.sql,
                " FROM (SELECT {columns} FROM json_each(${number})) AS r"
            )
        };
        self.bind_json(rows).push(" WHERE true")
    }

    fn bind_json(self, values: &(impl Serialize + ?Sized)) -> Self {
        match serde_json::to_string(values) {
            Ok(json) => self.bind(json),
            Err(error) => Self {
                encoded: Err(Arc::new(error)),
                ..self
            },
        }
    }

    fn is_postgres(&self) -> bool {
        matches!(self.values, Values::Postgres(_))
    }

    fn next_placeholder(&self) -> usize {
        1 + match &self.values {
            Values::Postgres(values) => values.len(),
            Values::Sqlite(values) => values.len(),
        }
    }

    /// The text and the values, for PostgreSQL.
    pub(crate) fn into_postgres(self) -> sqlx::Result<(String, PgArguments)> {
        self.encoded
            .map_err(|error| sqlx::Error::Encode(Box::new(error)))?;
        match self.values {
            Values::Postgres(values) => Ok((self.sql, values)),
            Values::Sqlite(_) => Err(other_engine()),
        }
    }

    pub(crate) async fn fetch_one<R: TableRow>(
        self,
        connection: &mut Connection<'_>,
    ) -> sqlx::Result<R> {
        self.fetch(connection)
            .await?
            .decode()?
            .pop()
            .ok_or(sqlx::Error::RowNotFound)
    }

    /// The rows of a `SELECT`, locked for a later statement of its transaction. SQLite needs no lock,
    /// because it has one writer. The span of a transaction is about what it writes.
    pub(crate) async fn lock(self, connection: &mut Connection<'_>) -> sqlx::Result<Rows> {
        let lock = if self.is_postgres() {
            " FOR UPDATE"
        } else {
            ""
        };
        self.push(lock).run(connection).await
    }

    pub(crate) async fn fetch(self, connection: &mut Connection<'_>) -> sqlx::Result<Rows> {
        describe(&self.sql);
        self.run(connection).await
    }

    /// The rows of a statement that follows in a transaction, whose span is about the one before.
    pub(crate) async fn run(mut self, connection: &mut Connection<'_>) -> sqlx::Result<Rows> {
        if self.sql.contains(UPTIME) {
            self.sql = self
                .sql
                .replace(UPTIME, &format!("${}", self.next_placeholder()));
            self = self.bind(uptime());
        }
        self.encoded
            .map_err(|error| sqlx::Error::Encode(Box::new(error)))?;
        let sql = AssertSqlSafe(self.sql);
        // All rows are read, because SQLite commits a write only then: see `sqlite`.
        Ok(match (connection, self.values) {
            (Connection::Postgres(connection), Values::Postgres(values)) => {
                Rows::Postgres(query_with(sql, values).fetch_all(&mut **connection).await?)
            }
            (Connection::Sqlite(connection), Values::Sqlite(values)) => {
                Rows::Sqlite(query_with(sql, values).fetch_all(&mut **connection).await?)
            }
            _ => return Err(other_engine()),
        })
    }
}

/// A regular expression, or a pattern of GLOB, for a letter in any case, or for any other character.
fn in_any_case(c: char, is_postgres: bool) -> String {
    // Without cases of several characters, such as SS for ß.
    let upper = only(c.to_uppercase()).unwrap_or(c);
    let lower = [c, upper].map(|c| only(c.to_lowercase()).unwrap_or(c));
    let cases = BTreeSet::from([c, upper, lower[0], lower[1]]);
    if cases.len() > 1 {
        format!("[{}]", cases.into_iter().collect::<String>())
    } else if is_postgres && c.is_ascii_punctuation() {
        format!("\\{c}")
    } else if !is_postgres && "*?[".contains(c) {
        format!("[{c}]")
    } else {
        c.to_string()
    }
}

fn only(mut characters: impl ExactSizeIterator<Item = char>) -> Option<char> {
    if characters.len() == 1 {
        characters.next()
    } else {
        None
    }
}

fn other_engine() -> sqlx::Error {
    sqlx::Error::Protocol("the statement is for the other engine".to_owned())
}
