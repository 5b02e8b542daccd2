//! Takes in what a client still sends when the answer does not depend on it.
//!
//! An answer that is given while the client is sending reaches nobody: the connection is closed
//! under bytes that nobody read, TCP resets it, and the client sees a broken pipe in place of its
//! 413 or 401. So every early answer waits for the rest of the body, within bounds.

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
use std::{
    mem,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{sync::oneshot, time::timeout};

/// Bytes beyond those that the handler read.
const MOST: u64 = 8 * 1024 * 1024;
/// For slow senders.
const LONGEST: Duration = Duration::from_secs(5);

/// Lends the body to the handler and reads to the end what the handler left. Where that is too
/// much, the connection is closed after the answer.
pub(crate) async fn drain_unread<F: Future<Output = Response>>(
    request: Request,
    handle: impl FnOnce(Request) -> F,
) -> Response {
    if request.body().is_end_stream() {
        return handle(request).await;
    }
    let waits_for_continue = request.headers().contains_key(EXPECT);
    let (back, mut returned) = oneshot::channel();
    let request =
        request.map(|body| Body::new(TrackedBody { body, touched: false, back: Some(back) }));
    let mut response = handle(request).await;
    let at_end = match returned.try_recv() {
        // The client has not started, and does not when it gets a final answer instead of the 100.
        Ok(rest) if waits_for_continue && !rest.touched => false,
        // It had its time.
        Ok(_) if response.status() == StatusCode::REQUEST_TIMEOUT => false,
        Ok(rest) => read_to_end(rest.body).await,
        // Read to its end.
        Err(_) => true,
    };
    if !at_end {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

async fn read_to_end(mut body: Body) -> bool {
    // To read a part of it would help nobody.
    if body.size_hint().lower() > MOST {
        return false;
    }
    let read = async {
        let mut bytes = 0;
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else { return false };
            bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
            if bytes > MOST {
                return false;
            }
        }
        true
    };
    timeout(LONGEST, read).await.unwrap_or(false)
}

/// A body that comes back when its borrower drops it before the end.
struct TrackedBody {
    body: Body,
    touched: bool,
    back: Option<oneshot::Sender<Rest>>,
}

struct Rest {
    body: Body,
    touched: bool,
}

impl http_body::Body for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.touched = true;
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if matches!(frame, Poll::Ready(None)) {
            self.back = None;
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for TrackedBody {
    fn drop(&mut self) {
        if let Some(back) = self.back.take() {
            let _ = back.send(Rest { body: mem::take(&mut self.body), touched: self.touched });
        }
    }
}

#[cfg(test)]
mod tests;
