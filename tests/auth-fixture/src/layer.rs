//! The layer in front of the service: records calls, and fails, holds or ends them or edits their responses.

use crate::calls::{Call, Calls, Ending};
use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use futures_util::stream::unfold;
use http::{HeaderMap, Request, Response, header::HeaderValue};
use http_body::Frame;
use http_body_util::{BodyExt as _, Full, StreamBody};
use rolegate_grpc_server::{GrpcServer, Next};
use rolegate_proto::{ERROR_DOMAIN, Reason, metadata};
use std::{collections::HashMap, convert::Infallible, time::Duration};
use tonic::{Status, body::Body};
use tonic_types::{ErrorDetails, StatusExt as _};

/// The bytes before a message of gRPC: whether it is compressed, and its length.
const FRAME_HEAD: usize = 5;

/// Returns the status with which the service refuses a call for this reason. A client may try again in seven seconds.
#[must_use]
pub fn refusal(reason: Reason) -> Status {
    let mut details = ErrorDetails::with_error_info(reason.as_str(), ERROR_DOMAIN, HashMap::new());
    details.set_retry_info(Some(Duration::from_secs(7)));
    Status::with_error_details(reason.code(), "", details)
}

/// Puts the layer in front of the methods of a service.
pub(crate) fn observe(server: &mut GrpcServer, calls: &Calls) {
    let calls = calls.clone();
    server.wrap_methods(move |request, next| Box::pin(pass(calls.clone(), request, next)));
}

async fn pass(calls: Calls, request: Request<Body>, next: Next) -> Response<Body> {
    let path = request.uri().path().to_owned();
    if path.starts_with("/grpc.") {
        return next(request).await;
    }
    let (head, body) = request.into_parts();
    let body = match body.collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => Bytes::new(),
    };
    let text = |value: &HeaderValue| value.to_str().expect("ASCII").to_owned();
    let call = Call {
        method: path.rsplit('/').next().unwrap_or_default().to_owned(),
        client_address: head.headers.get(metadata::CLIENT_ADDRESS).map(text),
        has_deadline: head.headers.contains_key("grpc-timeout"),
        request: body.slice(FRAME_HEAD.min(body.len())..),
        response: None,
        is_answered: false,
    };
    let index = calls.record(call.clone());
    let ending = calls.take_ending(&call);
    if let Some(ending) = &ending
        && ending.after_messages == 0
    {
        calls.answer(index, &call).await;
        return ending.status.clone().into_http();
    }
    let response = next(Request::from_parts(head, Body::new(Full::new(body)))).await;
    calls.answer(index, &call).await;
    let (head, body) = response.into_parts();
    let messages = Messages {
        calls,
        index,
        method: call.method,
        ending,
        sent: 0,
        body,
        received: BytesMut::new(),
    };
    let frames = unfold(Some(messages), Messages::next_frame);
    Response::from_parts(head, Body::new(StreamBody::new(frames)))
}

/// The messages of a response on their way to the caller.
struct Messages {
    calls: Calls,
    index: usize,
    method: String,
    ending: Option<Ending>,
    sent: usize,
    body: Body,
    /// The received bytes of the next messages.
    received: BytesMut,
}

impl Messages {
    /// Returns the next message or the trailers, and the messages after it. The trailers are the last frame.
    async fn next_frame(
        messages: Option<Self>,
    ) -> Option<(Result<Frame<Bytes>, Infallible>, Option<Self>)> {
        let mut messages = messages?;
        if let Some(trailers) = messages.early_trailers() {
            return Some((Ok(Frame::trailers(trailers)), None));
        }
        loop {
            if let Some(message) = messages.take_message() {
                messages.sent += 1;
                let edited = messages
                    .calls
                    .edit_message(messages.index, &messages.method, message);
                return Some((Ok(Frame::data(frame(&edited))), Some(messages)));
            }
            let frame = messages.body.frame().await?;
            match frame.expect("a response of this process").into_data() {
                Ok(data) => messages.received.extend_from_slice(&data),
                Err(trailers) => return Some((Ok(trailers), None)),
            }
        }
    }

    /// Returns the trailers with which the layer ends the response now, if it does.
    fn early_trailers(&self) -> Option<HeaderMap> {
        let ending = self.ending.as_ref()?;
        if self.sent < ending.after_messages {
            return None;
        }
        let mut trailers = HeaderMap::new();
        ending
            .status
            .add_header(&mut trailers)
            .expect("a valid status");
        Some(trailers)
    }

    /// Removes a message from what was received, once it is complete.
    fn take_message(&mut self) -> Option<Bytes> {
        let mut head = self.received.get(1..FRAME_HEAD)?;
        let length = usize::try_from(head.get_u32()).expect("a length");
        if self.received.len() < FRAME_HEAD + length {
            return None;
        }
        self.received.advance(FRAME_HEAD);
        Some(self.received.split_to(length).freeze())
    }
}

/// Returns a message as gRPC sends it.
fn frame(message: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(FRAME_HEAD + message.len());
    frame.put_u8(0);
    frame.put_u32(message.len().try_into().expect("a small message"));
    frame.extend_from_slice(message);
    frame.freeze()
}
