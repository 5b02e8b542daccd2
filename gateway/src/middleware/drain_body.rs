//! Reads and discards the part of a request body that the handler did not read.
//!
//! If a server responds and closes the connection while the client still sends, TCP resets the connection. The client
//! then sees a broken pipe instead of its 413 or 401. So an early response waits for the rest of the body, within
//! limits.

use crate::memory::BodyMemory;
use axum::{
    body::{Body, Bytes},
    extract::Request,
    response::Response,
};
use http::{
    HeaderValue, StatusCode,
    header::{CONNECTION, EXPECT},
};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt;
use rolegate_http_server::memory_budget::MemoryBudget;
use std::{
    mem,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{sync::oneshot, time::timeout};

/// The maximum number of bytes that are read after the handler has returned.
const MAX_DRAIN: u64 = 8 * 1024 * 1024;
/// The maximum time for which the rest of a body is read.
pub(crate) const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum time for which the rest of a body is read after a 503. It is short, because an overloaded gateway must
/// not wait for slow bodies.
const BUSY_DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// Calls `handler`, then reads and discards the rest of the body, and returns the handler's response.
///
/// If the rest exceeds the limits, the connection is closed after the response. The bytes that the handler reads count
/// against `memory` until it has returned.
pub(crate) async fn drain_unread<F: Future<Output = Response>>(
    mut request: Request,
    memory: &MemoryBudget,
    handler: impl FnOnce(Request) -> F,
) -> Response {
    let expects_continue = request.headers().contains_key(EXPECT);
    let (on_drop, mut dropped) = oneshot::channel();
    let memory = BodyMemory::new(memory);
    request.extensions_mut().insert(memory.clone());
    let request = request.map(|body| {
        Body::new(TrackedBody {
            unread: Unread {
                body,
                is_started: false,
            },
            on_drop: Some(on_drop),
        })
    });
    let mut response = handler(request).await;
    drop(memory);
    let is_drained = match dropped.try_recv() {
        // The client waits for a 100 (Continue), and may never send the body. So nothing is read, and the connection
        // closes.
        Ok(rest) if expects_continue && !rest.is_started => false,
        // A 408 means that the client has already had the time to send the body, so no more is read.
        Ok(_) if response.status() == StatusCode::REQUEST_TIMEOUT => false,
        Ok(rest) if response.status() == StatusCode::SERVICE_UNAVAILABLE => {
            drain(rest.body, BUSY_DRAIN_TIMEOUT).await
        }
        Ok(rest) => drain(rest.body, DRAIN_TIMEOUT).await,
        // The handler read the whole body.
        Err(_) => true,
    };
    if !is_drained {
        response
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Reads and discards the rest of a body. Returns `true` if the body ended within the limits.
pub(crate) async fn drain(mut body: Body, time: Duration) -> bool {
    if body.size_hint().lower() > MAX_DRAIN {
        return false;
    }
    let read = async {
        let mut bytes = 0;
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else { return false };
            bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
            if bytes > MAX_DRAIN {
                return false;
            }
        }
        true
    };
    timeout(time, read).await.unwrap_or(false)
}

/// A body that sends its inner body to [`drain_unread`] if it is dropped before its end.
struct TrackedBody {
    unread: Unread,
    on_drop: Option<oneshot::Sender<Unread>>,
}

#[derive(Default)]
struct Unread {
    body: Body,
    is_started: bool,
}

impl http_body::Body for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.unread.is_started = true;
        let frame = Pin::new(&mut self.unread.body).poll_frame(cx);
        if matches!(frame, Poll::Ready(None)) {
            self.on_drop = None;
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.unread.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.unread.body.size_hint()
    }
}

impl Drop for TrackedBody {
    fn drop(&mut self) {
        if let Some(on_drop) = self.on_drop.take() {
            let _ = on_drop.send(mem::take(&mut self.unread));
        }
    }
}

#[cfg(test)]
mod tests;
