//! Fills the metadata of a call: which request it serves, and who the actor is.

use crate::CallError;
use http::{HeaderName, HeaderValue};
use rolegate_proto::{Reason, RequestId, metadata};
use secrecy::{ExposeSecret, SecretString};
use std::net::IpAddr;
use tonic::{
    Request,
    metadata::{Ascii, MetadataValue},
};

// As constants, these names are parsed once and not with each call.
const CLIENT_ADDRESS: HeaderName = HeaderName::from_static(metadata::CLIENT_ADDRESS);
const REQUEST_ID: HeaderName = HeaderName::from_static(metadata::REQUEST_ID);

/// The maximum length of a list of request ids, in bytes. It is enough for the largest batch with ids of
/// [`RequestId::new_random`].
const MAX_REQUEST_IDS_LEN: usize = 9 * 1024;

/// Marks header values that differ in each call. If they were indexed, they would evict reusable headers from
/// the HPACK tables of both ends (RFC 7541, section 6.2.3).
pub(crate) const NEVER_INDEXED: bool = true;

/// The facts about the request that a call serves. Both are `None` for a call that serves no request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallContext {
    /// The address of the end user. Services accept it only from trusted callers.
    pub client_address: Option<IpAddr>,
    /// The id of the request in the logs of both sides. Services accept it only from trusted callers.
    pub request_id: Option<RequestId>,
}

impl CallContext {
    /// Creates a request with this context in its metadata.
    pub fn request<M>(self, message: M) -> Request<M> {
        let mut request = Request::new(message);
        if let Some(address) = self.client_address
            && let Ok(value) = HeaderValue::try_from(address.to_string())
        {
            request
                .metadata_mut()
                .as_mut()
                .insert(CLIENT_ADDRESS, value);
        }
        if let Some(id) = self.request_id
            && let Ok(mut value) = HeaderValue::try_from(id.as_str())
        {
            value.set_sensitive(NEVER_INDEXED);
            request.metadata_mut().as_mut().insert(REQUEST_ID, value);
        }
        request
    }
}

/// Creates a request on behalf of the bearer of this credential. A credential that metadata cannot carry is
/// refused with [`Reason::TokenInvalid`].
pub fn authenticated_request<M>(
    message: M,
    actor: &SecretString,
    context: CallContext,
) -> Result<Request<M>, CallError> {
    let header = format!("Bearer {}", actor.expose_secret());
    let Ok(mut value) = MetadataValue::try_from(header) else {
        return Err(CallError::local(Reason::TokenInvalid));
    };
    value.set_sensitive(true);
    let mut request = context.request(message);
    request
        .metadata_mut()
        .insert(metadata::AUTHORIZATION, value);
    Ok(request)
}

/// Returns the ids of the requests that share a call, separated by commas; `None` if there are none. The list
/// ends before the first id that does not fit, because a peer rejects a call whose headers are too large.
pub(crate) fn join_request_ids(
    ids: impl Iterator<Item = RequestId>,
) -> Option<MetadataValue<Ascii>> {
    let mut list = String::new();
    for id in ids {
        if list.len() + 1 + id.as_str().len() > MAX_REQUEST_IDS_LEN {
            break;
        }
        if !list.is_empty() {
            list.push(',');
        }
        list.push_str(id.as_str());
    }
    if list.is_empty() {
        return None;
    }
    let mut value = MetadataValue::try_from(list).ok()?;
    value.set_sensitive(NEVER_INDEXED);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::{CallContext, MAX_REQUEST_IDS_LEN, join_request_ids};
    use rolegate_proto::{RequestId, metadata};
    use std::iter;

    #[test]
    fn request_ids_are_never_indexed() {
        let id = RequestId::new_random();
        let context = CallContext {
            request_id: Some(id),
            ..CallContext::default()
        };
        let request = context.request(());
        let alone = request.metadata().get(metadata::REQUEST_ID).expect("an id");
        assert!(
            alone.is_sensitive()
                && join_request_ids([id].into_iter())
                    .expect("ids")
                    .is_sensitive()
        );
    }

    #[test]
    fn id_list_is_bounded_and_fits_the_largest_batch() {
        assert_eq!(join_request_ids(iter::empty()), None);
        let ids: Vec<RequestId> = (0..256).map(|_| RequestId::new_random()).collect();
        let list = join_request_ids(ids.iter().copied()).expect("ids");
        let listed: Vec<&str> = list.to_str().expect("text").split(',').collect();
        assert_eq!(
            listed,
            ids.iter().map(RequestId::as_str).collect::<Vec<_>>()
        );
        let longest: RequestId = "x".repeat(RequestId::MAX_LEN).parse().expect("an id");
        let list = join_request_ids(iter::repeat_n(longest, 256)).expect("ids");
        assert!(list.as_bytes().len() <= MAX_REQUEST_IDS_LEN);
        assert!(
            list.to_str()
                .expect("text")
                .split(',')
                .all(|id| id == longest.as_str())
        );
    }
}
