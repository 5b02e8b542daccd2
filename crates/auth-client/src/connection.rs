//! One HTTP/2 connection to one replica of a service.
//!
//! It never reconnects by itself: when it breaks, what is in flight fails at once and whoever keeps
//! it opens another. A channel that reconnects under its callers would leave them waiting for their
//! deadlines while nobody is there.

use crate::call_span;
use http::{Request, Response};
use hyper::{
    body::Incoming,
    client::conn::http2::{Builder, SendRequest},
};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tonic::body::Body;
use tower_service::Service;
use tracing::Instrument as _;

/// A peer that does not answer a ping is gone, whatever the kernel believes.
const PING_EVERY: Duration = Duration::from_secs(10);
const PONG_WITHIN: Duration = Duration::from_secs(5);
/// Room for answers under way on one connection, in bytes.
const WINDOW: u32 = 1024 * 1024;

/// A stream of bytes to a replica.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// An open connection. Clones share it.
#[derive(Clone, Debug)]
pub struct Connection {
    send: SendRequest<Body>,
}

impl Connection {
    pub(crate) async fn open(stream: Box<dyn Stream>) -> hyper::Result<Self> {
        let (send, connection) = Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PONG_WITHIN)
            .keep_alive_while_idle(true)
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .handshake(TokioIo::new(stream))
            .await?;
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to a replica broke");
            }
        });
        Ok(Self { send })
    }
}

impl Service<Request<Body>> for Connection {
    type Response = Response<Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = hyper::Result<Response<Incoming>>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<hyper::Result<()>> {
        self.send.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let span = call_span::of(&mut request);
        let answer = self.send.send_request(request);
        if span.is_disabled() {
            return Box::pin(answer);
        }
        let traced = async move {
            let answer = answer.await;
            call_span::end(&tracing::Span::current(), &answer);
            answer
        };
        Box::pin(traced.instrument(span))
    }
}
