//! What every store does alike, on PostgreSQL and on SQLite. Knows no tables.
//!
//! - [`StoreUrl`], [`Place`]: from the text of a setting to a database that can be opened.
//! - [`Tables`]: the tables of one service, from the texts in its folder of migrations.
//! - [`StoreUrl::open`], [`Opened`]: migrations under a lock, pools with limits; [`NotOpened`]: what is
//!   said when there is none. [`postgres`], [`sqlite`]: what is particular to each.
//! - [`Schema`]: what a database holds, against the tables of a service; [`Inspection`]: a look at it;
//!   [`Examination`]: what `doctor` says of it.
//! - [`within`], [`StoreError`]: a statement within its time, and what its errors mean.
//! - [`PoolUse`]: how connections are used; [`show_pools`] tells it in numbers.
//! - [`SharedReads`]: concurrent look-ups by key share one statement, without staleness.

mod examination;
mod inspection;
mod metrics;
mod open;
mod pool_use;
pub mod postgres;
mod schema;
mod shared_reads;
pub mod sqlite;
mod statement;
mod tables;
mod unavailable;
mod url;

pub use examination::{Examination, Examined};
pub use inspection::{Inspection, NotInspected, Question};
pub use metrics::show_pools;
pub use open::{NotOpened, Opened};
pub use pool_use::PoolUse;
pub use schema::Schema;
pub use shared_reads::SharedReads;
pub use statement::{Answer, STATEMENT_TIME, StoreError, within};
pub use tables::{Migrations, Tables};
pub use url::{InvalidUrl, Place, StoreUrl};
