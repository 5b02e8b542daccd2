//! Builds statements in SQL that both engines understand, and runs them. Where the engines differ, the builder
//! writes the form of the engine that the statement is for. `span.rs` traces the statements of a traced request.

use crate::{
    StoreError,
    clock::{NOW, UPTIME, uptime},
    dialect::Dialect,
    row::{Column, Columns, Rows, TableRow},
    span::{describe, trace},
};
use futures_util::future::BoxFuture;
use serde::Serialize;
use sqlx::{
    Arguments as _, AssertSqlSafe, Encode, PgConnection, Postgres, Sqlite, SqliteConnection, Type,
    postgres::PgArguments, query_with, sqlite::SqliteArguments,
};
use std::{fmt::Write as _, sync::Arc, time::Duration};
use tokio::time::{Instant, timeout_at};
use tracing::Span;

/// The time limit of a statement, from waiting for a connection to the last row.
pub const STATEMENT_TIMEOUT: Duration = Duration::from_secs(3);

/// A future that runs one or more statements on a connection.
pub type QueryFuture<'c, T> = BoxFuture<'c, sqlx::Result<T>>;

/// Runs one or more statements until `deadline`, and converts their error to a [`StoreError`]. If the request is
/// traced, they get a span. `system` is the name of the engine in spans.
pub(crate) async fn run_until<T>(
    deadline: Instant,
    system: &'static str,
    statements: impl Future<Output = sqlx::Result<T>>,
) -> Result<T, StoreError> {
    let limited = async {
        match timeout_at(deadline, statements).await {
            Ok(outcome) => Ok(outcome?),
            Err(_elapsed) => Err(StoreError::TimedOut),
        }
    };
    // Statements outside a request, such as the readiness check, are not traced.
    if Span::current().is_none() {
        limited.await
    } else {
        trace(system, limited).await
    }
}

/// A type of values that both engines can encode.
pub trait Value<'v>:
    Encode<'v, Postgres> + Type<Postgres> + Encode<'v, Sqlite> + Type<Sqlite>
{
}

impl<'v, V> Value<'v> for V where
    V: Encode<'v, Postgres> + Type<Postgres> + Encode<'v, Sqlite> + Type<Sqlite>
{
}

/// A connection to either engine, perhaps inside a transaction.
#[derive(Debug)]
pub(crate) enum Connection<'c> {
    Postgres(&'c mut PgConnection),
    Sqlite(&'c mut SqliteConnection),
}

impl Connection<'_> {
    pub(crate) fn dialect(&self) -> Dialect {
        match self {
            Self::Postgres(_) => Dialect::Postgres,
            Self::Sqlite(_) => Dialect::Sqlite,
        }
    }

    pub(crate) fn statement(&self, sql: &str) -> Statement {
        Statement::new(sql, self.dialect())
    }
}

/// A statement and its values.
///
/// The text consists of literals, so no value can become SQL. Placeholders are `$1`, `$2`… on both engines.
#[must_use = "a statement does nothing until it is run"]
#[derive(Clone, Debug)]
pub struct Statement {
    sql: String,
    values: Values,
    /// The error of a value that could not be bound, if there is one. Running the statement returns it.
    encoding: Result<(), EncodeError>,
}

/// The reason why a value cannot be bound. Clones of a statement share it, because a statement is cloned to run
/// again.
type EncodeError = Arc<dyn std::error::Error + Send + Sync>;

#[derive(Clone, Debug)]
enum Values {
    Postgres(PgArguments),
    Sqlite(SqliteArguments),
}

impl Statement {
    pub(crate) fn new(start: &str, dialect: Dialect) -> Self {
        let values = match dialect {
            Dialect::Postgres => Values::Postgres(PgArguments::default()),
            Dialect::Sqlite => Values::Sqlite(SqliteArguments::default()),
        };
        let statement = Self {
            // 512 bytes are enough for most statements, whose text is appended piece by piece.
            sql: String::with_capacity(512),
            values,
            encoding: Ok(()),
        };
        statement.append(start)
    }

    /// Appends a piece of SQL to the statement. In the SQL, `$NOW` stands for the time of the database's clock
    /// when the statement runs, in Unix seconds.
    pub fn push(self, sql: &'static str) -> Self {
        self.append(sql)
    }

    fn append(mut self, sql: &str) -> Self {
        let now = match self.dialect() {
            Dialect::Postgres => "floor(date_part('epoch', clock_timestamp()))::bigint",
            Dialect::Sqlite => NOW,
        };
        // Few pieces contain the time, and a search for it is much faster than splitting the text.
        if sql.contains("$NOW") {
            self.sql.push_str(&sql.replace("$NOW", now));
        } else {
            self.sql.push_str(sql);
        }
        self
    }

    /// Binds a value to the next placeholder. If the value cannot be encoded, running the statement fails.
    pub fn bind<'v>(mut self, value: impl Value<'v>) -> Self {
        let added = match &mut self.values {
            Values::Postgres(values) => values.add(value),
            Values::Sqlite(values) => values.add(value),
        };
        self.encoding = self.encoding.and(added.map_err(EncodeError::from));
        self
    }

    /// Appends the next placeholder and binds a value to it.
    pub fn push_bind<'v>(mut self, value: impl Value<'v>) -> Self {
        let number = self.next_placeholder();
        let _ = write!(self.sql, "${number}");
        self.bind(value)
    }

    /// Appends the condition that the preceding column has one of these values.
    pub fn push_any<'v, V: Serialize>(mut self, values: &'v [V]) -> Self
    where
        &'v V: Value<'v>,
        &'v [V]: Encode<'v, Postgres> + Type<Postgres>,
    {
        // A single value is compared directly. PostgreSQL would plan a statement with a short array anew each
        // time, because it expects ten values in any array.
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
            encoding: self.encoding.and(added.map_err(EncodeError::from)),
            ..self
        }
    }

    /// Appends the condition that the preceding column contains this text, which is taken literally. The column
    /// must have no ASCII capitals, because SQLite does not distinguish them from small letters here.
    pub fn push_contains(self, text: &str) -> Self {
        let mut pattern = String::from("%");
        for character in text.chars() {
            if matches!(character, '%' | '_' | '\\') {
                pattern.push('\\');
            }
            pattern.push(character);
        }
        pattern.push('%');
        self.push(" LIKE ").push_bind(pattern).push(" ESCAPE '\\'")
    }

    /// Appends the columns of a struct of [`row!`](crate::row), with commas between them.
    pub fn push_columns<R: Columns>(self) -> Self {
        self.push_list(R::column_names())
    }

    /// Appends pieces of SQL with commas between them, such as the names of columns.
    pub fn push_list(self, items: impl IntoIterator<Item = &'static str>) -> Self {
        let items: Vec<_> = items.into_iter().collect();
        self.append(&items.join(", "))
    }

    /// Appends a `FROM` clause with these rows, whose fields become columns. The clause ends in `WHERE true`,
    /// without which SQLite could not parse an `ON CONFLICT` that follows.
    pub fn push_rows<'r, R: Columns + Serialize + 'r>(
        mut self,
        rows: impl IntoIterator<Item = &'r R>,
    ) -> Self {
        let number = self.next_placeholder();
        let _ = match self.dialect() {
            Dialect::Postgres => {
                let columns: Vec<_> = R::COLUMNS.iter().map(Column::definition).collect();
                let columns = columns.join(", ");
                write!(
                    self.sql,
                    " FROM json_to_recordset(${number}::json) AS r ({columns})"
                )
            }
            Dialect::Sqlite => {
                let columns: Vec<_> = R::column_names()
                    .map(|name| format!("value ->> '{name}' AS {name}"))
                    .collect();
                let columns = columns.join(", ");
                write!(
                    self.sql,
                    " FROM (SELECT {columns} FROM json_each(${number})) AS r"
                )
            }
        };
        let rows: Vec<&R> = rows.into_iter().collect();
        self.bind_json(&rows).push(" WHERE true")
    }

    fn bind_json(self, values: &(impl Serialize + ?Sized)) -> Self {
        match serde_json::to_string(values) {
            Ok(json) => self.bind(json),
            Err(error) => Self {
                encoding: Err(Arc::new(error)),
                ..self
            },
        }
    }

    fn dialect(&self) -> Dialect {
        match self.values {
            Values::Postgres(_) => Dialect::Postgres,
            Values::Sqlite(_) => Dialect::Sqlite,
        }
    }

    fn next_placeholder(&self) -> usize {
        1 + match &self.values {
            Values::Postgres(values) => values.len(),
            Values::Sqlite(values) => values.len(),
        }
    }

    /// Returns the text and the values, for PostgreSQL. Fails if a value could not be bound, or if the
    /// statement is for SQLite.
    pub(crate) fn into_postgres(self) -> sqlx::Result<(String, PgArguments)> {
        self.encoding
            .map_err(|error| sqlx::Error::Encode(Box::new(error)))?;
        match self.values {
            Values::Postgres(values) => Ok((self.sql, values)),
            Values::Sqlite(_) => Err(other_engine()),
        }
    }

    /// Appends a lock to a `SELECT`, so that no other transaction deletes its rows before this one ends. SQLite needs
    /// no lock, because it has one writer.
    pub fn push_key_share(self) -> Self {
        match self.dialect() {
            Dialect::Postgres => self.push(" FOR KEY SHARE"),
            Dialect::Sqlite => self,
        }
    }

    /// Runs the statement and returns its only row. Fails if there is none.
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

    /// Runs a `SELECT`, locks its rows for a later statement of its transaction, and returns the rows. SQLite
    /// needs no lock, because it has one writer.
    ///
    /// The span does not mention this statement, because the span describes what the transaction writes.
    pub(crate) async fn lock(self, connection: &mut Connection<'_>) -> sqlx::Result<Rows> {
        let select = match self.dialect() {
            Dialect::Postgres => self.push(" FOR UPDATE"),
            Dialect::Sqlite => self,
        };
        select.run(connection).await
    }

    /// Runs the statement and returns its rows. The span describes this statement.
    pub(crate) async fn fetch(self, connection: &mut Connection<'_>) -> sqlx::Result<Rows> {
        if !Span::current().is_none() {
            describe(&self.sql);
        }
        self.run(connection).await
    }

    /// Runs the statement and returns its rows. The span does not mention this statement, because it locks rows
    /// for the main statement of its transaction or follows that statement.
    pub(crate) async fn run(mut self, connection: &mut Connection<'_>) -> sqlx::Result<Rows> {
        if self.sql.contains(UPTIME) {
            let placeholder = format!("${}", self.next_placeholder());
            self.sql = self.sql.replace(UPTIME, &placeholder);
            self = self.bind(uptime());
        }
        self.encoding
            .map_err(|error| sqlx::Error::Encode(Box::new(error)))?;
        let sql = AssertSqlSafe(self.sql);
        // All rows are read, because SQLite commits a write only then: see `sqlite.rs`.
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

fn other_engine() -> sqlx::Error {
    sqlx::Error::Protocol("the statement is for the other engine".to_owned())
}
