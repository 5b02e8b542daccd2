//! Stores posts and serves them over gRPC. Authors write posts, and everybody can read them.
//!
//! This service stores neither roles nor usernames. It asks auth-service before each write whether the user may write,
//! and for the usernames of authors when posts are read.
//!
//! A call passes three layers. `grpc` maps the request to a use case, reserves memory for the response to a read, and
//! maps an error to a status. `posts` contains the use cases and their rules, and depends on neither tonic nor SQL.
//! [`store`] contains the SQL, for PostgreSQL and SQLite.
//!
//! - [`commands`] is the program with its commands, and [`settings`] its flags and environment variables.
//! - [`host`] opens the service, for this program and for rolegate.
//! - `post` defines a stored post, and the rules for its title and content.
//! - `posts/deleted_authors` follows the changes of users in the background, and deletes or detaches the posts of
//!   deleted users.

pub mod commands;
mod grpc;
pub mod host;
mod post;
mod posts;
pub mod settings;
pub mod store;
