//! Tests how programs behave when something fails, and how they start, restart and shut down.
//!
//! Each module starts the programs as processes and causes one kind of fault:
//!
//! - Settings are wrong or missing: `bad_settings`, `untrusted_peers`.
//! - PostgreSQL fails or changes: `database_outage`, `database_tls`, `failover`, `import_beside_load`, `locked_record`,
//!   `lost_standby`, `postgres_connections`, `quorum`, `standby`, `unreadable_row`.
//! - The file of SQLite fails: `full_disk`, `replaced_file`, `sqlite_locked`.
//! - A store cannot write: `read_only_sessions`.
//! - Programs start, stop or die: `kill`, `notice`, `power_cut`, `rolling_restart`, `shutdown`, `silent_start`, `start`,
//!   `terminal`.
//! - Another service or replica is missing or slow: `auth_outage`, `frozen_replica`, `posts_outage`, `replica_limits`,
//!   `session_replicas`.
//! - Clients take too much or send nonsense: `connections`, `grpc_heads`, `grpc_limits`, `login_flood`, `memory`,
//!   `overload`.
//! - Keys, certificates and clocks change: `clocks`, `forward_auth_tls`, `grpc_tls`, `key_rotation`, `posts_tls`,
//!   `second_factor_keys`, `tls_causes`.
//!
//! `client_conformance` compares the gateway with the clients in other languages. `ended_sessions` and `tls_port` are
//! helpers of several modules.

#![expect(
    clippy::too_many_lines,
    reason = "a test tells its story in order, with its values in sight"
)]

mod auth_outage;
mod bad_settings;
mod client_conformance;
mod clocks;
mod connections;
mod database_outage;
mod database_tls;
mod ended_sessions;
mod failover;
mod forward_auth_tls;
mod frozen_replica;
mod full_disk;
mod grpc_heads;
mod grpc_limits;
mod grpc_tls;
mod import_beside_load;
mod key_rotation;
mod kill;
mod locked_record;
mod login_flood;
mod lost_standby;
mod memory;
mod notice;
mod overload;
mod postgres_connections;
mod posts_outage;
mod posts_tls;
mod power_cut;
mod quorum;
mod read_only_sessions;
mod replaced_file;
mod replica_limits;
mod rolling_restart;
mod second_factor_keys;
mod session_replicas;
mod shutdown;
mod silent_start;
mod sqlite_locked;
mod standby;
mod start;
mod terminal;
mod tls_causes;
mod tls_port;
mod unreadable_row;
mod untrusted_peers;
