//! Bytes of messages that have begun to arrive and are not complete.
//!
//! tonic keeps what has arrived of a message. A message has a limit, but a connection carries 256 at a
//! time, and a server has thousands of connections.

use crate::error_status;
use http_body::{Body, Frame, SizeHint};
use rolegate_proto::Reason;
use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};
use tonic::Status;

/// Bytes of one connection.
const MAX_OF_CONNECTION: usize = 8 * 1024 * 1024;
/// Bytes of all connections.
const MAX: usize = 64 * 1024 * 1024;

static ALL: AtomicUsize = AtomicUsize::new(0);

/// The unfinished bytes of a connection. Clones share the count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unfinished(Arc<AtomicUsize>);

impl Unfinished {
    /// Counts a body of this connection. Calls whose body exceeds the limits fail.
    pub(crate) fn count<B>(&self, body: B) -> CountedBody<B> {
        CountedBody { body, connection: self.clone(), counted: 0 }
    }

    fn add(&self, bytes: usize) -> Result<(), Status> {
        let of_connection = self.0.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let of_all = ALL.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if of_connection > MAX_OF_CONNECTION || of_all > MAX {
            return Err(error_status(Reason::Overloaded, &TooMuchUnfinished, None, None));
        }
        Ok(())
    }

    fn subtract(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
        ALL.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[derive(Debug, thiserror::Error)]
#[error("too many bytes of unfinished messages")]
struct TooMuchUnfinished;

/// A body whose bytes are counted until it is dropped. One that arrives in one piece is not counted.
#[derive(Debug)]
pub(crate) struct CountedBody<B> {
    body: B,
    connection: Unfinished,
    counted: usize,
}

impl<B> Body for CountedBody<B>
where
    B: Body<Data: AsRef<[u8]>, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Unpin,
{
    type Data = B::Data;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, Self::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx).map_err(Into::into);
        if let Poll::Ready(Some(Ok(frame))) = &frame
            && let Some(data) = frame.data_ref()
            && !self.body.is_end_stream()
        {
            let bytes = data.as_ref().len();
            self.counted += bytes;
            if let Err(status) = self.connection.add(bytes) {
                return Poll::Ready(Some(Err(status.into())));
            }
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

impl<B> Drop for CountedBody<B> {
    fn drop(&mut self) {
        if self.counted > 0 {
            self.connection.subtract(self.counted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_OF_CONNECTION, Unfinished};
    use axum::body::{Body, Bytes};
    use http_body_util::BodyExt as _;
    use std::{convert::Infallible, sync::atomic::Ordering};
    use tokio_stream::StreamExt as _;
    use tonic::{Code, Status};

    /// A body of these parts that never ends.
    fn unfinished(parts: Vec<Bytes>) -> Body {
        let parts = parts.into_iter().map(Ok::<_, Infallible>);
        Body::from_stream(tokio_stream::iter(parts).chain(tokio_stream::pending()))
    }

    #[tokio::test]
    async fn unfinished_bytes_of_a_connection_are_limited_and_freed_with_their_body() {
        let connection = Unfinished::default();
        let half = Bytes::from(vec![0; MAX_OF_CONNECTION / 2]);
        let mut body = connection.count(unfinished(vec![half.clone(), half]));
        for _ in 0..2 {
            body.frame().await.expect("a frame").expect("within the limit");
        }
        let mut other = connection.count(unfinished(vec![Bytes::from_static(b"x")]));
        let error = other.frame().await.expect("a frame").expect_err("over the limit");
        let status = error.downcast::<Status>().expect("a status");
        assert_eq!(status.code(), Code::ResourceExhausted);

        let another = Unfinished::default();
        let mut elsewhere = another.count(Body::from("complete"));
        elsewhere.frame().await.expect("a frame").expect("another connection");
        assert_eq!(another.0.load(Ordering::Relaxed), 0, "a complete body was counted");
        drop((body, other));
        assert_eq!(connection.0.load(Ordering::Relaxed), 0);
    }
}
