//! One HTTP/2 connection to one replica.
//!
//! A connection never reconnects. When it breaks, its calls fail at once and [`crate::replica`] opens
//! another. Calls on a channel that reconnects by itself would wait until their deadlines.

use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::time::Duration;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::oneshot,
};
use tonic::body::Body;

/// Detects peers that died without closing the connection.
const PING_INTERVAL: Duration = Duration::from_secs(10);
const PING_TIMEOUT: Duration = Duration::from_secs(5);
/// The flow-control window of a connection and of each stream, in bytes.
const WINDOW_SIZE: u32 = 1024 * 1024;

/// A byte stream to a replica.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Performs the HTTP/2 handshake. Clones of the sender share the connection, which closes with the last.
/// The other value is the error that ends the connection, if one does.
pub(crate) async fn open(
    stream: Box<dyn Stream>,
) -> hyper::Result<(SendRequest<Body>, oneshot::Receiver<hyper::Error>)> {
    let (sender, connection) = Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT)
        .keep_alive_while_idle(true)
        .initial_stream_window_size(WINDOW_SIZE)
        .initial_connection_window_size(WINDOW_SIZE)
        .handshake(TokioIo::new(stream))
        .await?;
    let (failed, failure) = oneshot::channel();
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "connection to a replica failed");
            let _ = failed.send(error);
        }
    });
    Ok((sender, failure))
}
