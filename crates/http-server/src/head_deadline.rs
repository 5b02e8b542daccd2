//! The deadline of an HTTP/1.1 request head.
//!
//! hyper has one timer for both an idle connection and an incomplete request head. A load balancer
//! keeps idle connections for a minute, but an incomplete head for a minute is an attack (slowloris).
//! So the timer of hyper bounds idle time, and this reader bounds the head: from its first byte (for
//! the first request from the accept) to the call of the service.

use crate::activity::Activity;
use std::{
    future::Future,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, ReadBuf, Take},
    time::{Sleep, sleep},
};

/// Bytes of one read. hyper begins with 8 KiB and doubles its buffer after a read that fills it.
const MAX_READ: u64 = 8 * 1024 - 1;

pub(crate) struct HeadDeadline<R> {
    reader: Take<R>,
    activity: Arc<Activity>,
    timeout: Duration,
    /// Runs while a head arrives.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<R: AsyncRead> HeadDeadline<R> {
    pub(crate) fn new(reader: R, activity: Arc<Activity>, timeout: Duration) -> Self {
        let reader = reader.take(MAX_READ);
        Self { reader, activity, timeout, timer: Some(Box::pin(sleep(timeout))) }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for HeadDeadline<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.activity.has_request() {
            this.timer = None;
        }
        if this.timer.as_mut().is_some_and(|timer| timer.as_mut().poll(cx).is_ready()) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let before = buffer.filled().len();
        this.reader.set_limit(MAX_READ);
        let Poll::Ready(read) = Pin::new(&mut this.reader).poll_read(cx, buffer) else {
            // hyper writes what it has before it waits for the next head.
            this.activity.rest();
            return Poll::Pending;
        };
        read?;
        if !this.activity.is_serving() {
            if buffer.filled().len() > before && !this.activity.begin_head() {
                return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
            }
            this.timer.get_or_insert_with(|| Box::pin(sleep(this.timeout)));
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::HeadDeadline;
    use crate::activity::{Activity, Ticks};
    use std::{io::ErrorKind, sync::Arc, time::Duration};
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
        time::{Instant, advance},
    };

    const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

    fn connection() -> (DuplexStream, HeadDeadline<DuplexStream>, Arc<Activity>) {
        let (client, server) = duplex(8);
        let activity = Arc::new(Activity::new(&Ticks::default()));
        (client, HeadDeadline::new(server, Arc::clone(&activity), HEAD_TIMEOUT), activity)
    }

    #[tokio::test(start_paused = true)]
    async fn an_incomplete_head_times_out() {
        let (mut client, mut server, _) = connection();
        let start = Instant::now();
        client.write_all(b"GET").await.expect("sent");
        assert_eq!(server.read(&mut [0; 8]).await.expect("read"), 3);
        let error = server.read(&mut [0; 8]).await.expect_err("incomplete");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert_eq!(start.elapsed(), HEAD_TIMEOUT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_running_request_and_an_idle_connection_have_no_head_deadline() {
        let (mut client, mut server, activity) = connection();
        client.write_all(b"GET").await.expect("sent");
        assert_eq!(server.read(&mut [0; 8]).await.expect("read"), 3);
        assert!(activity.begin_request());
        advance(HEAD_TIMEOUT * 2).await;
        client.write_all(b"body").await.expect("sent");
        assert_eq!(server.read(&mut [0; 8]).await.expect("read"), 4);
        activity.end_request();
        advance(HEAD_TIMEOUT * 2).await;
        client.write_all(b"GET").await.expect("sent");
        assert_eq!(server.read(&mut [0; 8]).await.expect("read"), 3);
    }
}
