//! What every store does alike, on PostgreSQL and on SQLite. Knows no tables.
//!
//! - [`StoreUrl`]: from the text of a setting to a database that can be opened.
//! - [`postgres`], [`sqlite`]: opening: migrations under a lock, pools with limits.
//! - [`migrator`]: the migrations of one service, from the texts in its folder.
//! - [`within`], [`StoreError`]: a statement within its time, and what its errors mean.
//! - [`PoolUse`]: how connections are used.
//! - [`SharedReads`]: concurrent look-ups by key share one statement, without staleness.

mod migrations;
mod pool_use;
pub mod postgres;
mod shared_reads;
pub mod sqlite;
mod statement;
mod unavailable;
mod url;

pub use migrations::migrator;
pub use pool_use::PoolUse;
pub use shared_reads::SharedReads;
pub use statement::{STATEMENT_TIME, StoreError, within};
pub use url::{OpenError, StoreUrl};
