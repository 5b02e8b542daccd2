//! One HTTP/2 connection to one replica.
//!
//! A connection never reconnects. When it breaks, its calls fail at once and [`crate::replica_monitor`] opens
//! another one. On a channel that reconnects by itself, calls would wait until their deadlines.
//!
//! This file uses `h2` directly. The client of hyper passes the head of each request to the task of the
//! connection, and the body to another task. Headers and message are then two writes, and the replica wakes up
//! twice for a call.

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

/// The interval at which a connection is pinged, to detect a peer that died without closing it.
const PING_INTERVAL: Duration = Duration::from_secs(10);
const PING_TIMEOUT: Duration = Duration::from_secs(5);
/// The flow-control window of each stream, in bytes.
const STREAM_WINDOW: u32 = 1024 * 1024;
/// The flow-control window of a connection, in bytes. It is larger than the window of a stream, so that
/// responses that are read slowly do not hold up other calls.
const CONNECTION_WINDOW: u32 = 4 * STREAM_WINDOW;
/// The maximum number of streams until the replica announces a limit of its own. RFC 9113, section 6.5.2,
/// recommends that limits are not lower than 100.
const INITIAL_MAX_STREAMS: usize = 100;
/// The maximum size of the headers of a response, in bytes.
const MAX_HEADER_LIST: u32 = 16 * 1024;

/// A byte stream to a replica.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// A connection that accepts calls. Clones share it. It closes when the last clone is dropped and the last call
/// has ended.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    sender: SendRequest<Bytes>,
    ended_streams: EndedStreams,
}

/// Streams that have ended and are not dropped yet.
///
/// Dropping a stream wakes the task of the connection, and with it a second thread, just when the caller should
/// run. So the next call drops the ended streams, because it wakes that task anyway.
type EndedStreams = Arc<Mutex<Vec<RecvStream>>>;

/// The maximum number of ended streams to keep. Beyond this number, a stream is dropped as soon as it ends.
const MAX_ENDED_STREAMS: usize = 64;

/// A connection that was just opened.
#[derive(Debug)]
pub(crate) struct NewConnection {
    pub(crate) connection: Connection,
    /// Receives the error that ends the connection, if there is one.
    pub(crate) failure: oneshot::Receiver<io::Error>,
}

/// Performs the HTTP/2 handshake on a stream, and starts the task that drives the connection and pings the
/// replica.
pub(crate) async fn open(stream: Box<dyn Stream>) -> io::Result<NewConnection> {
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
    let (failure_sender, failure) = oneshot::channel();
    tokio::spawn(async move {
        let outcome = select! {
            biased;
            outcome = connection => outcome.map_err(io::Error::other),
            () = wait_for_missed_ping(pings) => Err(io::ErrorKind::TimedOut.into()),
        };
        if let Err(error) = outcome {
            tracing::debug!(%error, "connection to a replica failed");
            let _ = failure_sender.send(error);
        }
    });
    let connection = Connection {
        sender,
        ended_streams: EndedStreams::default(),
    };
    Ok(NewConnection {
        connection,
        failure,
    })
}

/// Pings the replica at intervals, and returns when it does not answer a ping in time. Never returns if the
/// connection fails for another reason.
async fn wait_for_missed_ping(pings: Option<PingPong>) {
    let Some(mut pings) = pings else {
        return std::future::pending().await;
    };
    loop {
        sleep(PING_INTERVAL).await;
        match timeout(PING_TIMEOUT, pings.ping(Ping::opaque())).await {
            Ok(Ok(_)) => {}
            // The connection has failed, and its own error says why.
            Ok(Err(_)) => return std::future::pending().await,
            Err(_elapsed) => return,
        }
    }
}

impl Connection {
    /// Returns whether the connection broke, or the replica accepts no more calls on it.
    pub(crate) fn is_closed(&self) -> bool {
        let polled = self
            .sender
            .clone()
            .poll_ready(&mut Context::from_waker(Waker::noop()));
        matches!(polled, Poll::Ready(Err(_)))
    }

    /// Sends a request of one message, and returns the response as soon as its headers have arrived.
    pub(crate) async fn send(mut self, request: Request<Body>) -> Result<Response<Body>, Status> {
        let (head, body) = request.into_parts();
        let message = body.collect().await?.to_bytes();
        let to_status = |error: h2::Error| Status::from_error(error.into());
        let (response, mut stream) = self
            .sender
            .send_request(Request::from_parts(head, ()), false)
            .map_err(to_status)?;
        stream.send_data(message, true).map_err(to_status)?;
        // Only this list moves into the response. The sender does not, because it would keep the connection open
        // while the response is read.
        let ended_streams = self.ended_streams;
        drop(mem::take(&mut *ended_streams.lock()));
        let response = response.await.map_err(to_status)?;
        Ok(response.map(|stream| {
            Body::new(ResponseBody {
                stream: Some(stream),
                has_data: true,
                ended_streams,
            })
        }))
    }
}

/// The body of a response, which reads its data and trailers from a stream of `h2`.
struct ResponseBody {
    stream: Option<RecvStream>,
    /// True until all data was read, after which only trailers may follow.
    has_data: bool,
    ended_streams: EndedStreams,
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        if let Some(stream) = self.stream.take_if(|stream| stream.is_end_stream()) {
            let mut ended_streams = self.ended_streams.lock();
            if ended_streams.len() < MAX_ENDED_STREAMS {
                ended_streams.push(stream);
            }
        }
    }
}

impl http_body::Body for ResponseBody {
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
                // Data that was read no longer takes space in the window. Releasing the space fails only after
                // the end of the stream.
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
