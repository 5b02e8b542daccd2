//! What a call says about the request that it serves.

use crate::{CallError, Reason};
use rolegate_proto::{RequestId, metadata};
use secrecy::{ExposeSecret, SecretString};
use std::net::IpAddr;
use tonic::{
    Request,
    metadata::{Ascii, MetadataValue},
};

/// The most that one header tells of requests that share a call, in bytes: room for the ids of the
/// largest batch, as [`RequestId::new_random`] makes them.
const LONGEST_LIST: usize = 9 * 1024;

/// For whom a call is made. Empty for calls on a service's own behalf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallContext {
    /// The address of the end user; auth-service believes it from trusted callers only.
    pub client_address: Option<IpAddr>,
    /// The request that is served, as the logs of both sides call it; believed likewise.
    pub request_id: Option<RequestId>,
}

impl CallContext {
    /// Puts it into the metadata of a call.
    pub fn inject<M>(self, request: &mut Request<M>) {
        if let Some(address) = self.client_address
            && let Ok(value) = MetadataValue::try_from(address.to_string())
        {
            request.metadata_mut().insert(metadata::CLIENT_ADDRESS, value);
        }
        if let Some(id) = self.request_id
            && let Ok(value) = MetadataValue::try_from(id.as_str())
        {
            request.metadata_mut().insert(metadata::REQUEST_ID, value);
        }
    }
}

/// The ids of requests that share a call. Those for which there is no room are left out: a list that
/// is too long would cost all of them their answer.
pub(crate) fn id_list(ids: impl IntoIterator<Item = RequestId>) -> Option<MetadataValue<Ascii>> {
    let mut list = String::new();
    for id in ids {
        if list.len() + 1 + id.as_str().len() > LONGEST_LIST {
            break;
        }
        if !list.is_empty() {
            list.push(',');
        }
        list.push_str(id.as_str());
    }
    (!list.is_empty()).then(|| MetadataValue::try_from(list).ok())?
}

/// A call for whoever has this access token. Refused here when that cannot be a token at all, because
/// metadata cannot carry its characters.
pub fn with_actor<M>(
    message: M,
    actor: &SecretString,
    context: CallContext,
) -> Result<Request<M>, CallError> {
    let header = format!("Bearer {}", actor.expose_secret());
    let Ok(mut value) = MetadataValue::try_from(header) else {
        return Err(CallError::local(Reason::TokenInvalid));
    };
    value.set_sensitive(true);
    let mut request = Request::new(message);
    context.inject(&mut request);
    request.metadata_mut().insert(metadata::AUTHORIZATION, value);
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_LIST, id_list};
    use rolegate_proto::RequestId;

    #[test]
    fn a_list_of_ids_is_bounded_and_holds_the_largest_batch_of_ours() {
        assert_eq!(id_list([]), None);
        let ids: Vec<RequestId> = (0..256).map(|_| RequestId::new_random()).collect();
        let list = id_list(ids.iter().copied()).expect("ids");
        let listed: Vec<&str> = list.to_str().expect("text").split(',').collect();
        assert_eq!(listed, ids.iter().map(RequestId::as_str).collect::<Vec<_>>());
        let longest: RequestId = "x".repeat(RequestId::LONGEST_BYTES).parse().expect("an id");
        let list = id_list(std::iter::repeat_n(longest, 256)).expect("ids");
        assert!(list.as_bytes().len() <= LONGEST_LIST);
        assert!(list.to_str().expect("text").split(',').all(|id| id == longest.as_str()));
    }
}
