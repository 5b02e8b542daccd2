//! Gateway and auth-service in one process, on the embedded store unless told otherwise.
//!
//! - [`program()`]: what the binary runs.
//! - [`settings`]: flags and environment.
//! - `data_dir`: the folder of everything it writes, with the secrets it makes for itself.
//! - `in_memory`: the gateway's connection to auth-service: the same generated client, no socket.
//! - `welcome`: what it says to the person who started it.

mod data_dir;
mod in_memory;
mod program;
pub mod settings;
mod welcome;

pub use program::program;
