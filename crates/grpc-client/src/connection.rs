//! One HTTP/2 connection to one replica.
//!
//! A connection never reconnects. When it breaks, its calls fail at once and [`crate::replica`] opens
//! another. Calls on a channel that reconnects by itself would wait until their deadlines.
//!
//! On `h2` itself: a client of hyper passes each request to a task of the connection and its body to one
//! more, so that headers and message are two writes, and the replica wakes twice for a call.

use bytes::Bytes;
use h2::{
    Ping, PingPong, RecvStream,
    client::{Builder, SendRequest},
};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::BodyExt as _;
use parking_lot::Mutex;
use std::{
    io, mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker, ready},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    select,
    sync::oneshot,
    time::{sleep, timeout},
};
use tonic::{Status, body::Body};

/// Detects peers that died without closing the connection.
const PING_INTERVAL: Duration = Duration::from_secs(10);
const PING_TIMEOUT: Duration = Duration::from_secs(5);
/// The flow-control window of each stream, in bytes.
const STREAM_WINDOW: u32 = 1024 * 1024;
/// That of a connection: responses that are read slowly hold up no other call.
const CONNECTION_WINDOW: u32 = 4 * STREAM_WINDOW;
/// Until the replica announces its limit: what RFC 9113, section 6.5.2, expects of every peer.
const INITIAL_MAX_STREAMS: usize = 100;
/// Of the headers of a response, in bytes.
const MAX_HEADER_LIST: u32 = 16 * 1024;

/// A byte stream to a replica.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Clones share the connection, which closes with the last of them and of its calls.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    sender: SendRequest<Bytes>,
    ended: Ended,
}

/// Streams that have ended. Dropping one wakes the task of the connection, and with it a second thread,
/// just when the caller is to run: the next call drops them, which wakes that task anyway.
type Ended = Arc<Mutex<Vec<RecvStream>>>;

/// A stream that ends beside so many is dropped at once.
const MAX_ENDED: usize = 64;

/// Performs the HTTP/2 handshake. The other value is the error that ends the connection, if one does.
pub(crate) async fn open(
    stream: Box<dyn Stream>,
) -> io::Result<(Connection, oneshot::Receiver<io::Error>)> {
    let (sender, mut connection) = Builder::new()
        .enable_push(false)
        .initial_max_send_streams(INITIAL_MAX_STREAMS)
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_header_list_size(MAX_HEADER_LIST)
        .handshake(stream)
        .await
        .map_err(io::Error::other)?;
    let pings = connection.ping_pong();
    let (failed, failure) = oneshot::channel();
    tokio::spawn(async move {
        let ended = select! {
            biased;
            ended = connection => ended.map_err(io::Error::other),
            () = missed_ping(pings) => Err(io::ErrorKind::TimedOut.into()),
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "connection to a replica failed");
            let _ = failed.send(error);
        }
    });
    Ok((
        Connection {
            sender,
            ended: Ended::default(),
        },
        failure,
    ))
}

/// Ends when the replica does not answer a ping in time.
async fn missed_ping(pings: Option<PingPong>) {
    let Some(mut pings) = pings else {
        return std::future::pending().await;
    };
    loop {
        sleep(PING_INTERVAL).await;
        match timeout(PING_TIMEOUT, pings.ping(Ping::opaque())).await {
            Ok(Ok(_)) => {}
            // The connection itself knows why.
            Ok(Err(_)) => return std::future::pending().await,
            Err(_elapsed) => return,
        }
    }
}

impl Connection {
    /// Whether it broke, or the replica takes no more calls on it.
    pub(crate) fn is_closed(&self) -> bool {
        let polled = self
            .sender
            .clone()
            .poll_ready(&mut Context::from_waker(Waker::noop()));
        matches!(polled, Poll::Ready(Err(_)))
    }

    /// Sends a request, which has one message, and waits for the headers of its response.
    pub(crate) async fn send(mut self, request: Request<Body>) -> Result<Response<Body>, Status> {
        let (head, body) = request.into_parts();
        let message = body.collect().await?.to_bytes();
        let failed = |error: h2::Error| Status::from_error(error.into());
        let (response, mut stream) = self
            .sender
            .send_request(Request::from_parts(head, ()), false)
            .map_err(failed)?;
        stream.send_data(message, true).map_err(failed)?;
        let Self { ended, .. } = self;
        drop(mem::take(&mut *ended.lock()));
        let response = response.await.map_err(failed)?;
        let body = |stream| {
            Body::new(Received {
                stream: Some(stream),
                has_data: true,
                ended,
            })
        };
        Ok(response.map(body))
    }
}

/// The body of a response.
struct Received {
    stream: Option<RecvStream>,
    has_data: bool,
    ended: Ended,
}

impl Drop for Received {
    fn drop(&mut self) {
        if let Some(stream) = self.stream.take_if(|stream| stream.is_end_stream()) {
            let mut ended = self.ended.lock();
            if ended.len() < MAX_ENDED {
                ended.push(stream);
            }
        }
    }
}

impl http_body::Body for Received {
    type Data = Bytes;
    type Error = h2::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, h2::Error>>> {
        let Self {
            stream: Some(stream),
            has_data,
            ..
        } = &mut *self
        else {
            return Poll::Ready(None);
        };
        if *has_data {
            if let Some(data) = ready!(stream.poll_data(context)) {
                let data = data?;
                // The window is for what has not been read. It fails only after the end of the stream.
                let _ = stream.flow_control().release_capacity(data.len());
                return Poll::Ready(Some(Ok(Frame::data(data))));
            }
            *has_data = false;
        }
        let trailers = ready!(stream.poll_trailers(context))?;
        Poll::Ready(trailers.map(|trailers| Ok(Frame::trailers(trailers))))
    }

    fn is_end_stream(&self) -> bool {
        self.stream.as_ref().is_none_or(RecvStream::is_end_stream)
    }
}

#[cfg(test)]
mod tests;
