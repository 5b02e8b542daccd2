//! From a URL to an open store, and what is said when there is none.

use crate::{Place, StoreUrl, Tables, postgres, sqlite};
use service_runtime::{program::Failure, settings::SettingError};

/// An open store, its schema up to date.
#[derive(Clone, Debug)]
pub enum Opened {
    /// In PostgreSQL.
    Postgres(postgres::Connections),
    /// In an SQLite file.
    Sqlite(sqlite::Pools),
}

/// Why a store was not opened: one line, which names it.
#[derive(Debug, thiserror::Error)]
pub enum NotOpened {
    /// The setting leads to what can be no store of this service, however often it is tried.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The setting may be right: the machine, or we, failed.
    #[error("cannot open {place}: {error}")]
    Failed {
        /// The database.
        place: Place,
        /// What it, or the system, says.
        error: sqlx::Error,
    },
}

/// What [`NotOpened`] is before it knows which setting led here.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// Goes on from the name of the setting.
    Setting(String),
    /// Goes on from the name of the database.
    Foreign(String),
    Failed(sqlx::Error),
}

impl From<sqlx::Error> for Trouble {
    fn from(error: sqlx::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<NotOpened> for Failure {
    fn from(error: NotOpened) -> Self {
        match error {
            NotOpened::Setting(error) => Self::Setting(error),
            failed @ NotOpened::Failed { .. } => Self::Other(Box::new(failed)),
        }
    }
}

impl StoreUrl {
    /// Opens the store and brings its schema up to date. A PostgreSQL that is not there (yet) is
    /// waited for, saying so; an SQLite file that cannot be opened will not get better by waiting.
    pub async fn open(&self, tables: &Tables) -> Result<Opened, NotOpened> {
        let opened = match self.place() {
            Place::Postgres(options) => postgres::open(options, tables).await.map(Opened::Postgres),
            Place::Sqlite(file) => sqlite::open(file, tables).await.map(Opened::Sqlite),
        };
        opened.map_err(|trouble| self.not_opened(trouble))
    }

    /// What an error of this database says about it, in the words of [`StoreUrl::open`].
    #[must_use]
    pub fn explain(&self, error: sqlx::Error) -> NotOpened {
        self.not_opened(match self.place() {
            Place::Postgres(options) => postgres::explain(options, error),
            Place::Sqlite(file) => sqlite::explain(file, error),
        })
    }

    /// The setting leads to a database with a [`Schema::Foreign`](crate::Schema::Foreign).
    #[must_use]
    pub fn foreign(&self, why: &str) -> SettingError {
        self.wrong(format!("{} {why}", self.place()))
    }

    fn not_opened(&self, trouble: Trouble) -> NotOpened {
        match trouble {
            Trouble::Setting(problem) => self.wrong(problem).into(),
            Trouble::Foreign(why) => self.foreign(&why).into(),
            Trouble::Failed(error) => NotOpened::Failed { place: self.place().clone(), error },
        }
    }
}
