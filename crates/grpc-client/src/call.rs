//! Calls methods of services.
//!
//! A [`Call`] says for which request a method is called, on whose behalf, until when, and whether the call may be
//! sent more than once. [`Call::send`] is the only way to a service; the channel below it picks the replica.

use crate::{BalancedChannel, CallError, hedge::ReadOnly};
use http::{HeaderName, HeaderValue, uri::PathAndQuery};
use rolegate_proto::{
    Reason, RequestId, metadata,
    methods::{ProstCodec, StreamRequest, UnaryRequest},
};
use secrecy::{ExposeSecret, SecretString};
use std::{net::IpAddr, time::Duration};
use tokio::time::{Instant, error::Elapsed, sleep, timeout_at};
use tonic::{Request, Status, Streaming, client::Grpc};

/// Sends requests through a channel, which is always ready. The request message names the method.
pub type Client = Grpc<BalancedChannel>;

/// The timeout of calls that hash no password, which take milliseconds.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// The timeout of calls that hash a password, which takes a third of a second and may wait in a queue first.
const PASSWORD_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum difference between the timers of client and service. An error that arrives this shortly before
/// the deadline may be a timeout of the service.
const CLOCK_TOLERANCE: Duration = Duration::from_millis(100);

/// The granularity of the timeouts that are announced to services.
const TIMEOUT_GRANULARITY: Duration = Duration::from_millis(100);

/// The delays between attempts. Few attempts are enough, because a lost replica is not picked again.
const RETRY_DELAYS: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(40)];

// As constants, these names are parsed once and not with each call.
const AUTHORIZATION: HeaderName = HeaderName::from_static(metadata::AUTHORIZATION);
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

/// A call of a method, without its message.
#[derive(Debug)]
pub struct Call {
    /// True if the call may be sent more than once: to another replica if the response is late, and a few times after
    /// short delays if the service is unavailable.
    is_repeatable: bool,
    deadline: Instant,
    client_address: Option<HeaderValue>,
    /// The ids of the requests that the call serves, separated by commas.
    request_ids: Option<HeaderValue>,
    authorization: Option<HeaderValue>,
}

impl Call {
    /// Creates a call that may change something, so it is sent once. Its timeout is [`CALL_TIMEOUT`].
    #[must_use]
    pub fn change(context: CallContext) -> Self {
        let client_address = context.client_address.map(|address| address.to_string());
        Self {
            is_repeatable: false,
            deadline: Instant::now() + CALL_TIMEOUT,
            client_address: client_address.and_then(|address| address.try_into().ok()),
            request_ids: join_request_ids(context.request_id),
            authorization: None,
        }
    }

    /// Creates a call that may change something and hashes a password, for which it has a longer timeout.
    #[must_use]
    pub fn hashing(context: CallContext) -> Self {
        Self {
            deadline: Instant::now() + PASSWORD_TIMEOUT,
            ..Self::change(context)
        }
    }

    /// Creates a call that changes nothing, so it may be sent more than once. Its timeout is [`CALL_TIMEOUT`].
    #[must_use]
    pub fn read(context: CallContext) -> Self {
        Self {
            is_repeatable: true,
            ..Self::change(context)
        }
    }

    /// Creates a call that serves several requests and changes nothing.
    pub(crate) fn read_for_all(
        request_ids: impl IntoIterator<Item = RequestId>,
        deadline: Instant,
    ) -> Self {
        Self {
            is_repeatable: true,
            deadline,
            client_address: None,
            request_ids: join_request_ids(request_ids),
            authorization: None,
        }
    }

    /// Makes this a call that is sent once, although it changes nothing.
    #[must_use]
    pub fn sent_once(mut self) -> Self {
        self.is_repeatable = false;
        self
    }

    /// Makes this a call on behalf of the bearer of this credential. A credential that metadata cannot carry is
    /// refused with [`Reason::TokenInvalid`].
    pub fn authenticated(mut self, credential: &SecretString) -> Result<Self, CallError> {
        let header = format!("Bearer {}", credential.expose_secret());
        let Ok(mut value) = HeaderValue::try_from(header) else {
            return Err(CallError::local(Reason::TokenInvalid));
        };
        value.set_sensitive(true);
        self.authorization = Some(value);
        Ok(self)
    }

    /// Sends a request, and fails at the deadline, whatever the service does. The service receives the remaining
    /// time in `grpc-timeout` and can stop its work. Repeats a call that changes nothing if the service is
    /// unavailable.
    pub async fn send<R: UnaryRequest + Clone>(
        &self,
        client: &Client,
        message: R,
    ) -> Result<R::Response, CallError> {
        if self.is_repeatable {
            for delay in RETRY_DELAYS {
                match self.send_or(client, message.clone(), Err).await {
                    Err(CallError::Unavailable) => sleep(delay).await,
                    result => return result,
                }
            }
        }
        self.send_or(client, message, Err).await
    }

    /// Sends a request without repeating it. If it fails with a status, of the service or of the connection to it,
    /// returns what `map_status` makes of this status.
    pub async fn send_or<R: UnaryRequest>(
        &self,
        client: &Client,
        message: R,
        map_status: impl FnOnce(Status) -> Result<R::Response, Status>,
    ) -> Result<R::Response, CallError> {
        let mut request = self.request(message);
        let remaining = self.deadline.saturating_duration_since(Instant::now());
        request.set_timeout(announced_timeout(remaining));
        if self.is_repeatable {
            request.extensions_mut().insert(ReadOnly);
        }
        let mut client = client.clone();
        let path = PathAndQuery::from_static(R::PATH);
        let response = async {
            match client.unary(request, path, ProstCodec::default()).await {
                Ok(response) => Ok(response.into_inner()),
                Err(status) => map_status(status),
            }
        };
        self.outcome(timeout_at(self.deadline, response).await)
    }

    /// Sends a request whose response is a stream of messages. It is sent once, even if the call is repeatable. The
    /// stream must begin before the deadline of the call, and has none itself. The service does not receive the
    /// deadline, because a proxy would end the stream then.
    pub async fn open_stream<R: StreamRequest>(
        &self,
        client: &Client,
        message: R,
    ) -> Result<Streaming<R::Response>, CallError> {
        let request = self.request(message);
        let mut client = client.clone();
        let path = PathAndQuery::from_static(R::PATH);
        let response = async {
            client
                .server_streaming(request, path, ProstCodec::default())
                .await
        };
        let response = self.outcome(timeout_at(self.deadline, response).await)?;
        Ok(response.into_inner())
    }

    /// Converts the error of a call, or of one without a response before the deadline.
    fn outcome<A>(&self, response: Result<Result<A, Status>, Elapsed>) -> Result<A, CallError> {
        match response {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(status)) => {
                let is_overdue = Instant::now() + CLOCK_TOLERANCE >= self.deadline;
                Err(CallError::from_status(&status, is_overdue))
            }
            Err(_elapsed) => Err(CallError::DeadlineExceeded),
        }
    }

    fn request<M>(&self, message: M) -> Request<M> {
        let mut request = Request::new(message);
        let headers = request.metadata_mut().as_mut();
        for (name, value) in [
            (CLIENT_ADDRESS, &self.client_address),
            (REQUEST_ID, &self.request_ids),
            (AUTHORIZATION, &self.authorization),
        ] {
            if let Some(value) = value {
                headers.insert(name, value.clone());
            }
        }
        request
    }
}

/// Returns the timeout that the service receives. It is rounded up, so that calls with different times left
/// until their deadlines send few distinct values, which HPACK can index. A timeout of less than a second stays
/// exact.
fn announced_timeout(timeout: Duration) -> Duration {
    if timeout < Duration::from_secs(1) {
        return timeout;
    }
    let multiple = timeout
        .as_micros()
        .div_ceil(TIMEOUT_GRANULARITY.as_micros());
    TIMEOUT_GRANULARITY.saturating_mul(u32::try_from(multiple).unwrap_or(u32::MAX))
}

/// Returns the ids of the requests that share a call, separated by commas; `None` if there are none. The list
/// ends before the first id that does not fit, because a peer rejects a call whose headers are too large.
fn join_request_ids(ids: impl IntoIterator<Item = RequestId>) -> Option<HeaderValue> {
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
    let mut value = HeaderValue::try_from(list).ok()?;
    value.set_sensitive(NEVER_INDEXED);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::{
        Call, CallContext, MAX_REQUEST_IDS_LEN, REQUEST_ID, announced_timeout, join_request_ids,
    };
    use rolegate_proto::RequestId;
    use std::{iter, time::Duration};

    #[test]
    fn request_ids_are_never_indexed() {
        let context = CallContext {
            request_id: Some(RequestId::new_random()),
            ..CallContext::default()
        };
        let mut request = Call::read(context).request(());
        let id = request.metadata_mut().as_mut().remove(REQUEST_ID);
        assert!(id.expect("an id").is_sensitive());
    }

    #[test]
    fn id_list_is_bounded_and_fits_the_largest_batch() {
        assert_eq!(join_request_ids(None), None);
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

    #[test]
    fn announced_timeouts_are_few_and_never_shorter_than_the_deadline() {
        for (exact, expected) in [
            (10_000_000, 10_000_000),
            (4_999_871, 5_000_000),
            (4_900_001, 5_000_000),
            (4_900_000, 4_900_000),
            (1_000_001, 1_100_000),
            (999_999, 999_999),
            (0, 0),
        ] {
            assert_eq!(
                announced_timeout(Duration::from_micros(exact)),
                Duration::from_micros(expected)
            );
        }
    }
}
