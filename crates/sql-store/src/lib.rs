//! What every store does alike, on PostgreSQL and on SQLite. Knows no tables.
//!
//! - [`DatabaseUrl`], [`DatabaseTarget`]: from the text of a setting to a database that can be opened.
//! - [`Tables`]: the tables of one service, from the texts in its folder of migrations.
//! - [`DatabaseUrl::open`], [`Opened`]: migrations under a lock, pools with limits; [`OpenError`]: what is
//!   said when there is none. [`postgres`], [`sqlite`]: what is particular to each.
//! - [`Schema`]: what a database holds, against the tables of a service; [`Inspection`]: a look at it;
//!   [`DatabaseCheck`]: what `doctor` says of it.
//! - [`within`], [`StoreError`]: a statement within its time, and what its errors mean.
//! - [`PoolStats`]: how connections are used; [`register_pool_metrics`] tells it in numbers.
//! - [`BatchedReads`]: concurrent look-ups by key share one statement, without staleness.

mod batched_reads;
mod examination;
mod inspection;
mod metrics;
mod open;
mod pool_stats;
pub mod postgres;
mod schema;
pub mod sqlite;
mod statement;
mod tables;
mod transient;
mod url;

pub use batched_reads::BatchedReads;
pub use examination::{CheckReport, DatabaseCheck};
pub use inspection::{InspectError, Inspection, ProbeQuery};
pub use metrics::register_pool_metrics;
pub use open::{OpenError, Opened};
pub use pool_stats::PoolStats;
pub use schema::Schema;
pub use statement::{QueryFuture, STATEMENT_TIMEOUT, StoreError, with_timeout};
pub use tables::{Migrations, Tables};
pub use url::{DatabaseTarget, DatabaseUrl, InvalidUrl};
