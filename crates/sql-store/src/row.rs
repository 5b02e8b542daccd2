//! The rows that a statement returns, decoded on both engines.

use sqlx::{FromRow, postgres::PgRow, sqlite::SqliteRow};

/// A type that the rows of both engines decode to.
pub trait TableRow:
    for<'r> FromRow<'r, PgRow> + for<'r> FromRow<'r, SqliteRow> + Send + Unpin + 'static
{
}

impl<R> TableRow for R where
    R: for<'r> FromRow<'r, PgRow> + for<'r> FromRow<'r, SqliteRow> + Send + Unpin + 'static
{
}

/// The rows of a statement before they are decoded. Only who asked for them decodes them, so that the code that
/// runs statements is compiled once, not for each type of rows.
pub(crate) enum Rows {
    Postgres(Vec<PgRow>),
    Sqlite(Vec<SqliteRow>),
}

impl Rows {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Postgres(rows) => rows.len(),
            Self::Sqlite(rows) => rows.len(),
        }
    }

    pub(crate) fn decode<R: TableRow>(&self) -> sqlx::Result<Vec<R>> {
        match self {
            Self::Postgres(rows) => rows.iter().map(R::from_row).collect(),
            Self::Sqlite(rows) => rows.iter().map(R::from_row).collect(),
        }
    }

    /// The values of rows that have one column.
    pub(crate) fn decode_column<T>(&self) -> sqlx::Result<Vec<T>>
    where
        (T,): TableRow,
    {
        let rows = self.decode::<(T,)>()?;
        Ok(rows.into_iter().map(|(value,)| value).collect())
    }
}

/// Declares a row of a statement: its fields have the names of the columns, or of their aliases. A first field that is
/// written `..user: User` has the columns of another row.
///
/// The derive macro of sqlx does the same, but its crate doubles the time of a build.
///
/// ```ignore
/// rolegate_sql_store::row! {
///     /// A link that is still open.
///     struct LinkRow {
///         user_id: i64,
///         expires_at: Option<i64>,
///     }
/// }
/// ```
#[macro_export]
macro_rules! row {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $Row:ident {
            $( ..$part:ident: $Part:ty, )?
            $( $(#[$field_attribute:meta])* $field_visibility:vis $field:ident: $Type:ty, )+
        }
    ) => {
        $(#[$attribute])*
        $visibility struct $Row {
            $( $part: $Part, )?
            $( $(#[$field_attribute])* $field_visibility $field: $Type, )+
        }

        impl<'r, R: ::sqlx::Row> ::sqlx::FromRow<'r, R> for $Row
        where
            &'static str: ::sqlx::ColumnIndex<R>,
            $( $Part: ::sqlx::FromRow<'r, R>, )?
            $( $Type: ::sqlx::Decode<'r, R::Database> + ::sqlx::Type<R::Database>, )+
        {
            fn from_row(row: &'r R) -> ::sqlx::Result<Self> {
                Ok(Self {
                    $( $part: ::sqlx::FromRow::from_row(row)?, )?
                    $( $field: row.try_get(stringify!($field))?, )+
                })
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use crate::{DatabaseUrl, FileClock, Migration, Tables};

    const TABLES: Tables = Tables {
        owner: "test",
        marker_table: "t",
        schema: None,
        postgres: &[],
        sqlite: &[Migration {
            version: 1,
            name: "t",
            sql: "CREATE TABLE t (name TEXT, age BIGINT); INSERT INTO t VALUES (NULL, 7)",
        }],
    };

    row! {
        #[derive(Debug, PartialEq)]
        struct Person {
            name: Option<String>,
            age: i64,
        }
    }

    #[tokio::test]
    async fn columns_are_found_by_name_in_any_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let url = DatabaseUrl::from_file("DATABASE_URL", folder.path().join("t.db"));
        let database = url.open(&TABLES, FileClock::Unused).await.expect("opened");
        let people: Vec<Person> = database
            .read(database.statement("SELECT age, name FROM t"))
            .await
            .expect("read");
        assert_eq!(people, [Person { name: None, age: 7 }]);
        let other = database.statement("SELECT age AS years, name FROM t");
        assert!(database.read::<Person>(other).await.is_err());
    }
}
