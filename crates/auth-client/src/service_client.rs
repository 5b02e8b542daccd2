//! For clients of other internal services, who call as [`AuthClient`](crate::AuthClient) does: every
//! replica behind a name, followed by its health; deadlines that this side keeps; the contract's
//! reasons as errors.
//!
//! A client implements [`ServiceClient`] for its generated client, holds [`Replicas`] of it, and makes
//! each call on a [`Lease`] with [`within`] or [`repeat_within`]. Reads that share calls are [`Asker`]s of
//! a [`SharedCall`].

pub use crate::{
    call_context::with_actor,
    connection::Connection,
    deadline::{DECISION, repeat_within, within},
    replica::ServiceClient,
    replicas::{Lease, Replicas},
    shared_call::{Asker, SharedCall},
};
