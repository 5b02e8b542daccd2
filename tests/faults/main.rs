//! Failures, starts, restarts and shutdowns.

mod auth_outage;
mod bad_settings;
mod connections;
mod database_outage;
mod database_tls;
mod failover;
mod frozen_replica;
mod full_disk;
mod grpc_tls;
mod key_rotation;
mod kill;
mod lost_standby;
mod memory;
mod overload;
mod postgres_connections;
mod posts_outage;
mod posts_tls;
mod rolling_restart;
mod shutdown;
mod silent_start;
mod sqlite_locked;
mod standby;
mod start;
mod terminal;
mod tls_port;
mod untrusted_peers;
