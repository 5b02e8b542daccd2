//! Gateway, auth-service and posts-service in one process, on the embedded store unless told otherwise.
//!
//! - [`program()`]: what the binary runs.
//! - [`settings`]: flags and environment.
//! - `data_dir`: the folder of everything it writes, with the secrets it makes for itself.
//! - `in_memory`: the connections between its parts: the same generated clients, no socket.
//! - `posts`: the part that is posts-service.
//! - `stores`: where it keeps users and posts.
//! - `welcome`: what it says to the person who started it.

mod data_dir;
mod in_memory;
mod posts;
mod program;
pub mod settings;
mod stores;
mod welcome;

pub use program::program;
