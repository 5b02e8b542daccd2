//! One HTTP/2 connection to one replica.
//!
//! A connection never reconnects. When it breaks, its calls fail at once and [`crate::replica_monitor`] opens another.
//! Calls on a channel that reconnects by itself would wait until their deadlines.
//!
//! It uses `h2` directly: a client of hyper passes each request to a task of the connection and its body to one more, so
//! that headers and message are two writes, and the replica wakes twice for a call.

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
/// The flow-control window of a connection, in bytes: responses that are read slowly hold up no other call.
const CONNECTION_WINDOW: u32 = 4 * STREAM_WINDOW;
/// The limit until the replica announces its own: what RFC 9113, section 6.5.2, expects of every peer.
const INITIAL_MAX_STREAMS: usize = 100;
/// The size of the headers of a response, in bytes.
const MAX_HEADER_LIST: u32 = 16 * 1024;

/// A byte stream to a replica.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Clones share the connection, which closes with the last of them and of its calls.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    sender: SendRequest<Bytes>,
    ended_streams: EndedStreams,
}

/// Streams that have ended. Dropping one wakes the task of the connection, and with it a second thread,
/// just when the caller is to run: the next call drops them, which wakes that task anyway.
type EndedStreams = Arc<Mutex<Vec<RecvStream>>>;

/// A stream that ends beside so many is dropped at once.
const MAX_ENDED_STREAMS: usize = 64;

/// A connection that was just opened.
#[derive(Debug)]
pub(crate) struct NewConnection {
    pub(crate) connection: Connection,
    /// Receives the error that ends the connection, if one does.
    pub(crate) failure: oneshot::Receiver<io::Error>,
}

/// Performs the HTTP/2 handshake.
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

/// Ends when the replica does not answer a ping in time.
async fn wait_for_missed_ping(pings: Option<PingPong>) {
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
        let to_status = |error: h2::Error| Status::from_error(error.into());
        let (response, mut stream) = self
            .sender
            .send_request(Request::from_parts(head, ()), false)
            .map_err(to_status)?;
        stream.send_data(message, true).map_err(to_status)?;
        // The sender is not kept while the response is read, because it would keep the connection open.
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

/// The body of a response.
struct ResponseBody {
    stream: Option<RecvStream>,
    /// Whether more data may come, before the trailers.
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
