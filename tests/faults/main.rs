//! Tests how programs behave when something fails, and how they start, restart and shut down.

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
