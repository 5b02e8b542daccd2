//! Decodes the rows that a statement returns, on both engines.

use sqlx::{
    ColumnIndex, Decode, Postgres, Row as _, Sqlite, Type, TypeInfo as _,
    postgres::{PgRow, PgTypeInfo},
    sqlite::SqliteRow,
};

/// The result of a read, and the time of the database's clock when the read began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed<T> {
    /// The time in Unix seconds. It is not earlier than the call of the read, and not later than the state that
    /// the read has seen.
    pub at: u64,
    /// The result of the read.
    pub value: T,
}

impl<T> Timed<T> {
    /// Converts the result, and keeps the time.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Timed<U> {
        Timed {
            at: self.at,
            value: convert(self.value),
        }
    }
}

/// A type into which rows of both engines can be decoded.
///
/// These types are the structs of [`row!`](crate::row), structs that convert what they read, and the types of
/// single values, for statements with one column.
pub trait TableRow: Sized + Send + 'static {
    /// Decodes a row of either engine. Fails if a column is missing or has another type.
    fn from_row(row: Row<'_>) -> sqlx::Result<Self>;
}

impl<T: ColumnValue + Send + 'static> TableRow for T {
    fn from_row(row: Row<'_>) -> sqlx::Result<Self> {
        row.get(0)
    }
}

/// A type of values that both engines can decode.
pub trait ColumnValue:
    for<'r> Decode<'r, Postgres> + Type<Postgres> + for<'r> Decode<'r, Sqlite> + Type<Sqlite>
{
}

impl<T> ColumnValue for T where
    T: for<'r> Decode<'r, Postgres> + Type<Postgres> + for<'r> Decode<'r, Sqlite> + Type<Sqlite>
{
}

/// A struct of [`row!`](crate::row), whose fields are columns. Statements take the list of the columns from it.
pub trait Columns {
    /// The columns in the order of the fields, without those of a part.
    const COLUMNS: &'static [Column];

    /// Returns the names of the columns.
    fn column_names() -> impl Iterator<Item = &'static str> + Clone {
        Self::COLUMNS.iter().map(|column| column.name)
    }
}

/// A column of a struct of [`row!`](crate::row).
#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub(crate) name: &'static str,
    type_info: fn() -> PgTypeInfo,
}

impl Column {
    /// Creates a column whose values have the type `T`.
    #[must_use]
    pub const fn new<T: ColumnValue>(name: &'static str) -> Self {
        Self {
            name,
            type_info: <T as Type<Postgres>>::type_info,
        }
    }

    /// Returns the column as PostgreSQL defines it in a list of columns: the name, followed by the type.
    pub(crate) fn definition(&self) -> String {
        format!("{} {}", self.name, (self.type_info)().name())
    }
}

/// A row of either engine.
#[derive(Clone, Copy)]
pub enum Row<'r> {
    /// A row of a PostgreSQL server.
    Postgres(&'r PgRow),
    /// A row of an SQLite file.
    Sqlite(&'r SqliteRow),
}

impl Row<'_> {
    /// Returns the value of a column, which is found by its name or its position.
    pub fn get<T: ColumnValue>(
        self,
        column: impl ColumnIndex<PgRow> + ColumnIndex<SqliteRow>,
    ) -> sqlx::Result<T> {
        match self {
            Self::Postgres(row) => row.try_get(column),
            Self::Sqlite(row) => row.try_get(column),
        }
    }

    /// Returns the time in a column, in Unix seconds. Fails if the stored number is negative.
    pub fn seconds(
        self,
        column: impl ColumnIndex<PgRow> + ColumnIndex<SqliteRow>,
    ) -> sqlx::Result<u64> {
        decode_seconds(self.get(column)?)
    }

    /// Returns the time in a column, in Unix seconds; `None` if it is `NULL`. Fails if the stored number is negative.
    pub fn optional_seconds(
        self,
        column: impl ColumnIndex<PgRow> + ColumnIndex<SqliteRow>,
    ) -> sqlx::Result<Option<u64>> {
        self.get::<Option<i64>>(column)?
            .map(decode_seconds)
            .transpose()
    }
}

/// Converts a stored time in Unix seconds. Fails if it is negative.
pub(crate) fn decode_seconds(stored: i64) -> sqlx::Result<u64> {
    stored
        .try_into()
        .map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

/// The rows of a statement before they are decoded. The code that runs statements passes them on in this form,
/// so that it is compiled once and not for each type of rows.
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
            Self::Postgres(rows) => rows.iter().map(Row::Postgres).map(R::from_row).collect(),
            Self::Sqlite(rows) => rows.iter().map(Row::Sqlite).map(R::from_row).collect(),
        }
    }
}

/// Declares the struct of a row of a statement. Its fields have the names of the columns, or of their aliases.
/// Statements that read or insert whole rows take the list of the columns from the struct: see [`Columns`].
///
/// If the first field is written `..user: User`, it is decoded from the same row as a struct `User`, so that
/// several structs can share columns. The derive macro of sqlx does the same, but its crate doubles the time of
/// a build.
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
        $visibility:vis struct $Struct:ident {
            $( ..$part:ident: $Part:ty, )?
            $( $(#[$field_attribute:meta])* $field_visibility:vis $field:ident: $Type:ty, )+
        }
    ) => {
        $(#[$attribute])*
        $visibility struct $Struct {
            $( $part: $Part, )?
            $( $(#[$field_attribute])* $field_visibility $field: $Type, )+
        }

        impl $crate::TableRow for $Struct {
            fn from_row(row: $crate::Row<'_>) -> $crate::sqlx::Result<Self> {
                Ok(Self {
                    $( $part: $crate::TableRow::from_row(row)?, )?
                    $( $field: row.get(stringify!($field))?, )+
                })
            }
        }

        impl $crate::Columns for $Struct {
            const COLUMNS: &'static [$crate::Column] =
                &[$( $crate::Column::new::<$Type>(stringify!($field)), )+];
        }
    };
}

#[cfg(test)]
mod tests {
    use crate::{DatabaseUrl, test_support::open_with_table};

    const CREATE: &str = "CREATE TABLE t (name TEXT, age BIGINT); INSERT INTO t VALUES (NULL, 7)";

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
        let database = open_with_table(&url, CREATE).await;
        let people: Vec<Person> = database
            .read(database.statement("SELECT age, name FROM t"))
            .await
            .expect("read");
        assert_eq!(people, [Person { name: None, age: 7 }]);
        let other = database.statement("SELECT age AS years, name FROM t");
        assert!(database.read::<Person>(other).await.is_err());
    }
}
