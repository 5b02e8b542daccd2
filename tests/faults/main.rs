//! What the services do when something fails, starts, moves or ends.

mod bad_settings;
mod database_encryption;
mod database_outage;
mod encrypted_port;
mod encryption;
mod key_rotation;
mod kill;
mod outage;
mod overload;
mod postgres_connections;
mod posts_encryption;
mod posts_outage;
mod rolling_restart;
mod shutdown;
mod sqlite_writes;
mod start;
