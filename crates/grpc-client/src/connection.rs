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
use std::{
    io,
    pin::Pin,
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
/// The flow-control window of a connection and of each stream, in bytes.
const WINDOW_SIZE: u32 = 1024 * 1024;
/// Until the replica announces its limit: what RFC 9113, section 6.5.2, expects of every peer.
const INITIAL_MAX_STREAMS: usize = 100;
/// Of the headers of a response, in bytes.
const MAX_HEADER_LIST: u32 = 16 * 1024;

/// A byte stream to a replica.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Clones share the connection, which closes with the last of them and of its calls.
#[derive(Clone, Debug)]
pub(crate) struct Connection(SendRequest<Bytes>);

/// Performs the HTTP/2 handshake. The other value is the error that ends the connection, if one does.
pub(crate) async fn open(
    stream: Box<dyn Stream>,
) -> io::Result<(Connection, oneshot::Receiver<io::Error>)> {
    let (sender, mut connection) = Builder::new()
        .enable_push(false)
        .initial_max_send_streams(INITIAL_MAX_STREAMS)
        .initial_window_size(WINDOW_SIZE)
        .initial_connection_window_size(WINDOW_SIZE)
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
    Ok((Connection(sender), failure))
}

/// Ends when the replica does not answer a ping in time.
async fn missed_ping(pings: Option<PingPong>) {
    let Some(mut pings) = pings else { return std::future::pending().await };
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
        let polled = self.0.clone().poll_ready(&mut Context::from_waker(Waker::noop()));
        matches!(polled, Poll::Ready(Err(_)))
    }

    /// Sends a request, which has one message, and waits for the headers of its response.
    pub(crate) async fn send(mut self, request: Request<Body>) -> Result<Response<Body>, Status> {
        let (head, body) = request.into_parts();
        let message = body.collect().await?.to_bytes();
        let failed = |error: h2::Error| Status::from_error(error.into());
        let (response, mut stream) =
            self.0.send_request(Request::from_parts(head, ()), false).map_err(failed)?;
        // Its copy would keep a connection open that nobody else uses.
        drop(self);
        stream.send_data(message, true).map_err(failed)?;
        let response = response.await.map_err(failed)?;
        Ok(response.map(|stream| Body::new(Received { stream, has_data: true })))
    }
}

/// The body of a response.
struct Received {
    stream: RecvStream,
    /// Whether the trailers are still to come.
    has_data: bool,
}

impl http_body::Body for Received {
    type Data = Bytes;
    type Error = h2::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, h2::Error>>> {
        if self.has_data {
            if let Some(data) = ready!(self.stream.poll_data(context)) {
                let data = data?;
                // The window is for what has not been read. It fails only after the end of the stream.
                let _ = self.stream.flow_control().release_capacity(data.len());
                return Poll::Ready(Some(Ok(Frame::data(data))));
            }
            self.has_data = false;
        }
        let trailers = ready!(self.stream.poll_trailers(context))?;
        Poll::Ready(trailers.map(|trailers| Ok(Frame::trailers(trailers))))
    }

    fn is_end_stream(&self) -> bool {
        self.stream.is_end_stream()
    }
}
