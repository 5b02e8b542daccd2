//! The layer in front of the service: records calls, and fails them or edits their responses on demand.

use axum::{
    body::{Body, to_bytes},
    extract::{Request, State},
    middleware::{Next, from_fn_with_state},
    response::Response,
};
use bytes::{BufMut as _, Bytes, BytesMut};
use http_body_util::{BodyExt as _, Full};
use prost::Message;
use rolegate_proto::{ERROR_DOMAIN, Reason, metadata};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};
use tonic::{Status, service::Routes};
use tonic_types::{ErrorDetails, StatusExt as _};

/// The bytes before a message of gRPC: whether it is compressed, and its length.
const FRAME_HEAD: usize = 5;

type Edit = Arc<dyn Fn(&[u8]) -> Vec<u8> + Send + Sync>;

/// A call that the service received.
#[derive(Clone, Debug)]
pub struct Call {
    /// The name of the method in the contract, such as `ListUsers`.
    pub method: String,
    /// The address of the client that the caller reported.
    pub client_address: Option<String>,
    request: Bytes,
    /// The response, once there is one with a message.
    response: Option<Bytes>,
}

impl Call {
    /// Returns the message of the call.
    #[must_use]
    pub fn request<M: Message + Default>(&self) -> M {
        M::decode(&*self.request).expect("a request of this method")
    }

    /// Returns the message of the response, which must have been a success.
    #[must_use]
    pub fn response<M: Message + Default>(&self) -> M {
        let response = self.response.as_ref().expect("a response");
        M::decode(&**response).expect("a response of this method")
    }
}

#[derive(Default)]
struct Script {
    calls: Vec<Call>,
    /// The status of each call whose message contains the text.
    failures: Vec<(&'static str, Status)>,
    edits: HashMap<&'static str, Edit>,
}

/// The calls that a service received, and what the layer does with the next ones.
#[derive(Clone, Default)]
pub struct Calls(Arc<Mutex<Script>>);

impl Calls {
    fn script(&self) -> MutexGuard<'_, Script> {
        self.0.lock().expect("no panic")
    }

    /// Returns the calls in the order in which they arrived.
    #[must_use]
    pub fn all(&self) -> Vec<Call> {
        self.script().calls.clone()
    }

    /// Returns the methods of the calls.
    #[must_use]
    pub fn methods(&self) -> Vec<String> {
        self.all().into_iter().map(|call| call.method).collect()
    }

    /// Returns the messages of the calls of a method.
    #[must_use]
    pub fn requests<M: Message + Default>(&self, method: &str) -> Vec<M> {
        let calls = self.all();
        let calls = calls.iter().filter(|call| call.method == method);
        calls.map(Call::request).collect()
    }

    /// Returns the response to the last call, which must have been one of this method.
    #[must_use]
    pub fn last_response<M: Message + Default>(&self, method: &str) -> M {
        let calls = self.all();
        let call = calls.iter().rfind(|call| call.method == method);
        call.expect("a call of this method").response()
    }

    /// Forgets the calls until now.
    pub fn clear(&self) {
        self.script().calls.clear();
    }

    /// Fails each call whose message contains this text, such as a username, before it reaches the service.
    pub fn fail(&self, text: &'static str, status: Status) {
        self.script().failures.push((text, status));
    }

    /// Edits the responses of a method, to make those that a service of another release would give.
    pub fn edit<M: Message + Default>(
        &self,
        method: &'static str,
        edit: impl Fn(&mut M) + Send + Sync + 'static,
    ) {
        let edit = move |response: &[u8]| {
            let mut message = M::decode(response).expect("a response of this method");
            edit(&mut message);
            message.encode_to_vec()
        };
        self.script().edits.insert(method, Arc::new(edit));
    }

    /// Puts the layer in front of the routes of a service.
    pub(crate) fn observe(&self, routes: Routes) -> Routes {
        routes
            .into_axum_router()
            .layer(from_fn_with_state(self.clone(), pass))
            .into()
    }

    /// Records a call, and returns its index.
    fn record(&self, call: Call) -> usize {
        let mut script = self.script();
        script.calls.push(call);
        script.calls.len() - 1
    }

    fn failure(&self, request: &[u8]) -> Option<Status> {
        let script = self.script();
        let mut newest_first = script.failures.iter().rev();
        newest_first
            .find(|(text, _)| contains(request, text.as_bytes()))
            .map(|(_, status)| status.clone())
    }
}

fn contains(message: &[u8], text: &[u8]) -> bool {
    message.windows(text.len()).any(|window| window == text)
}

/// Returns the status with which the service refuses a call for this reason. A client may try again in seven seconds.
#[must_use]
pub fn refusal(reason: Reason) -> Status {
    let mut details = ErrorDetails::with_error_info(reason.as_str(), ERROR_DOMAIN, HashMap::new());
    details.set_retry_info(Some(Duration::from_secs(7)));
    Status::with_error_details(reason.code(), "", details)
}

async fn pass(State(calls): State<Calls>, call: Request, next: Next) -> Response {
    let path = call.uri().path().to_owned();
    if path.starts_with("/grpc.") {
        return next.run(call).await;
    }
    let method = path.rsplit('/').next().unwrap_or_default();
    let (head, body) = call.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let request = body.slice(FRAME_HEAD.min(body.len())..);
    let client_address = head.headers.get(metadata::CLIENT_ADDRESS);
    let index = calls.record(Call {
        method: method.to_owned(),
        client_address: client_address.map(|value| value.to_str().expect("ASCII").to_owned()),
        request: request.clone(),
        response: None,
    });
    if let Some(status) = calls.failure(&request) {
        return status.into_http::<Body>();
    }
    let response = next.run(Request::from_parts(head, Body::from(body))).await;
    if method == "WatchUsers" {
        return response;
    }
    let (head, body) = response.into_parts();
    let body = body.collect().await.expect("a response of this process");
    let trailers = body.trailers().cloned();
    let mut body = body.to_bytes();
    if body.len() >= FRAME_HEAD {
        let edit = calls.script().edits.get(method).cloned();
        if let Some(edit) = edit {
            body = frame(&edit(&body[FRAME_HEAD..]));
        }
        if let Some(call) = calls.script().calls.get_mut(index) {
            call.response = Some(body.slice(FRAME_HEAD..));
        }
    }
    let body = Full::new(body).with_trailers(async move { trailers.map(Ok) });
    Response::from_parts(head, Body::new(body))
}

/// Returns a message as gRPC sends it.
fn frame(message: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(FRAME_HEAD + message.len());
    frame.put_u8(0);
    frame.put_u32(message.len().try_into().expect("a small message"));
    frame.extend_from_slice(message);
    frame.freeze()
}
