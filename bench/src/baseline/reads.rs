//! Reads users for the baseline, with one query per request or with batched queries.
//!
//! All limits are those of auth-service, so that only the design differs.

use rolegate_batcher::{Batcher, Limits};
use sqlx::{PgPool, postgres::PgPoolOptions};
use std::{collections::HashMap, sync::Arc, time::Duration};

/// The size of the pool, as in auth-service.
const MAX_CONNECTIONS: u32 = 10;
/// The maximum number of reads in a batch, as in auth-service.
const MAX_BATCH_SIZE: usize = 512;
/// The maximum number of batches in flight, as in auth-service.
const MAX_IN_FLIGHT: usize = 1;
/// The time after which a batch in flight no longer delays the next one, as in auth-service.
const STALL_TIMEOUT: Duration = Duration::from_millis(20);
/// The maximum number of batches in flight if some are stalled, as in auth-service.
const MAX_IN_FLIGHT_STALLED: usize = 4;

/// The way in which the baseline reads users.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Reading {
    /// Each request makes a prepared query, which is the usual design.
    PerRequest,
    /// Concurrent requests share a query, with the batcher of the services.
    Shared,
}

impl Reading {
    /// Returns the value on the command line.
    pub(crate) const fn flag(self) -> &'static str {
        match self {
            Self::PerRequest => "per-request",
            Self::Shared => "shared",
        }
    }
}

#[derive(Clone)]
pub(super) struct User {
    pub(super) username: String,
    pub(super) role: String,
}

/// A row with the id, the username and the role.
type Row = (i64, String, String);

type Found = Result<Option<User>, Arc<sqlx::Error>>;

#[derive(Clone)]
pub(super) enum Reads {
    PerRequest(PgPool),
    Shared(Batcher<i64, Found>),
}

impl Reads {
    pub(super) async fn open(reading: Reading, database_url: &str) -> sqlx::Result<Self> {
        let pool = PgPoolOptions::new()
            .max_connections(MAX_CONNECTIONS)
            // A ping before each query would nearly halve the throughput.
            .test_before_acquire(false)
            .connect(database_url)
            .await?;
        Ok(match reading {
            Reading::PerRequest => Self::PerRequest(pool),
            Reading::Shared => {
                let limits = Limits {
                    max_batch_size: MAX_BATCH_SIZE,
                    max_in_flight: MAX_IN_FLIGHT,
                    stall_timeout: STALL_TIMEOUT,
                    max_in_flight_stalled: MAX_IN_FLIGHT_STALLED,
                };
                Self::Shared(Batcher::new(limits, move |ids| read_all(pool.clone(), ids)))
            }
        })
    }

    pub(super) async fn user(&self, id: i64) -> Found {
        match self {
            Self::PerRequest(pool) => {
                let sql = r#"SELECT id, username, role FROM "user" WHERE id = $1"#;
                let row = sqlx::query_as(sql).bind(id).fetch_optional(pool).await?;
                Ok(row.map(|(_, username, role): Row| User { username, role }))
            }
            Self::Shared(reads) => {
                let lost = |_| Arc::new(sqlx::Error::WorkerCrashed);
                reads.submit(id).await.map_err(lost)?
            }
        }
    }
}

async fn read_all(pool: PgPool, ids: Vec<i64>) -> Vec<Found> {
    let sql = r#"SELECT id, username, role FROM "user" WHERE id = ANY($1)"#;
    match sqlx::query_as::<_, Row>(sql)
        .bind(&ids)
        .fetch_all(&pool)
        .await
    {
        Ok(rows) => {
            let users = rows
                .into_iter()
                .map(|(id, username, role)| (id, User { username, role }));
            let users: HashMap<i64, User> = users.collect();
            ids.iter().map(|id| Ok(users.get(id).cloned())).collect()
        }
        Err(error) => {
            let error = Arc::new(error);
            ids.iter().map(|_| Err(Arc::clone(&error))).collect()
        }
    }
}
