//! Reads the clock by which memberships, accounts and credentials end.

use crate::TestDatabase;
use sqlx::{Connection as _, PgConnection};
use std::time::Duration;

/// The clock of a test's database. It decides what has ended, whatever the clocks of the programs show.
#[derive(Debug)]
pub enum DatabaseClock {
    /// The clock of the PostgreSQL server.
    Postgres(PgConnection),
    /// The clock of an SQLite file, which showed this time when the machine booted.
    Sqlite(Duration),
}

impl DatabaseClock {
    /// Opens the clock. On SQLite, a service must be using the file, because the first one starts its clock.
    ///
    /// # Panics
    ///
    /// Panics if the clock cannot be read.
    pub async fn open(database: &TestDatabase) -> Self {
        if let TestDatabase::Postgres(_) = database {
            let connection = PgConnection::connect(&database.url()).await;
            return Self::Postgres(connection.expect("connected"));
        }
        let zero = database.read_number("SELECT zero FROM clock").await;
        Self::Sqlite(Duration::from_millis(zero.cast_unsigned()))
    }

    /// Returns the time since 1970, rounded down to milliseconds.
    ///
    /// # Panics
    ///
    /// Panics if the clock cannot be read.
    pub async fn now(&mut self) -> Duration {
        const SQL: &str = "SELECT floor(date_part('epoch', clock_timestamp()) * 1000)::bigint";
        match self {
            Self::Postgres(connection) => {
                let read = sqlx::query_scalar::<_, i64>(SQL).fetch_one(connection);
                Duration::from_millis(read.await.expect("a time").cast_unsigned())
            }
            Self::Sqlite(zero) => {
                let uptime = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
                let uptime: Duration = uptime.try_into().expect("after the boot");
                // The file counts whole milliseconds since the boot.
                *zero + Duration::from_millis(u64::try_from(uptime.as_millis()).expect("few"))
            }
        }
    }
}

/// Returns a time that is given in seconds since 1970 as the API takes it.
#[must_use]
pub fn timestamp(seconds: u64) -> String {
    humantime::format_rfc3339_seconds(std::time::UNIX_EPOCH + Duration::from_secs(seconds))
        .to_string()
}
