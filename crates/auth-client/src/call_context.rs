//! What a call says about the request that it serves.

use auth_proto::metadata;
use secrecy::{ExposeSecret, SecretString};
use std::net::IpAddr;
use tonic::{Request, metadata::MetadataValue};

/// For whom a call is made. Empty for calls on a service's own behalf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallContext {
    /// The address of the end user; auth-service believes it from trusted callers only.
    pub client_address: Option<IpAddr>,
}

impl CallContext {
    pub(crate) fn write<M>(self, request: &mut Request<M>) {
        if let Some(address) = self.client_address
            && let Ok(value) = MetadataValue::try_from(address.to_string())
        {
            request.metadata_mut().insert(metadata::CLIENT_ADDRESS, value);
        }
    }
}

/// Puts the actor's token into the metadata. `false` when it cannot be a token at all, because
/// metadata cannot carry its characters.
pub(crate) fn write_actor<M>(actor: &SecretString, request: &mut Request<M>) -> bool {
    let header = format!("Bearer {}", actor.expose_secret());
    let Ok(mut value) = MetadataValue::try_from(header) else { return false };
    value.set_sensitive(true);
    request.metadata_mut().insert(metadata::AUTHORIZATION, value);
    true
}
