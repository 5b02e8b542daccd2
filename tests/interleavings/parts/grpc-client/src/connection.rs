//! Replaces HTTP/2 connections to replicas by replicas in memory, which report their health and answer calls.

use bytes::Bytes;
use futures_util::stream::unfold;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use shuttle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::{io, net::SocketAddr, sync::Arc};
use tokio::{
    sync::{oneshot, watch},
    task::yield_now,
};
use tonic::{Status, body::Body};

/// A stream that leads to a replica.
pub trait Stream: Send {
    /// Returns the replica at the other end.
    fn host(&self) -> Arc<Host>;
}

impl Stream for Arc<Host> {
    fn host(&self) -> Arc<Host> {
        Arc::clone(self)
    }
}

/// A replica in memory.
#[derive(Debug)]
pub struct Host {
    pub(crate) address: SocketAddr,
    /// The health of the replica: whether it serves, or `None` once it is gone.
    health: watch::Sender<Option<bool>>,
    /// Set if the replica does not answer, so that calls wait until it is gone.
    hangs: bool,
    /// The number of calls that the replica got, without those for its health.
    pub(crate) calls: AtomicU32,
}

impl Host {
    /// Creates a replica that serves, at an address that ends with this number.
    pub(crate) fn new(number: u8, hangs: bool) -> Arc<Self> {
        let address = SocketAddr::from(([10, 0, 0, number], 50051));
        let (health, calls) = (watch::Sender::new(Some(true)), AtomicU32::new(0));
        Arc::new(Self { address, health, hangs, calls })
    }

    pub(crate) fn report(&self, health: Option<bool>) {
        self.health.send_replace(health);
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.health.borrow().is_none()
    }

    async fn answer(&self) -> Result<Response<Body>, Status> {
        self.calls.fetch_add(1, SeqCst);
        if self.hangs {
            let _ = self.health.subscribe().wait_for(Option::is_none).await;
        }
        yield_now().await;
        if self.is_gone() { Err(gone()) } else { Ok(Response::new(Body::empty())) }
    }

    /// Answers with the stream of the replica's health, as `grpc.health.v1` encodes it.
    fn watch(&self) -> Response<Body> {
        let first = (true, self.health.subscribe());
        let updates = unfold(first, async |(is_first, mut health)| {
            if !is_first {
                health.changed().await.ok()?;
            }
            let now = *health.borrow_and_update();
            let status = |serving| if serving { 1 } else { 2 };
            let message = now.map(|serving| Bytes::from(vec![0, 0, 0, 0, 2, 8, status(serving)]));
            Some((message.map(Frame::data).ok_or_else(gone), (false, health)))
        });
        let mut response = Response::new(Body::new(StreamBody::new(Box::pin(updates))));
        let grpc = http::HeaderValue::from_static("application/grpc");
        response.headers_mut().insert(http::header::CONTENT_TYPE, grpc);
        response
    }
}

fn gone() -> Status {
    Status::unavailable("the replica is gone")
}

#[derive(Clone, Debug)]
pub(crate) struct Connection {
    host: Arc<Host>,
}

impl Connection {
    pub(crate) fn to(host: &Arc<Host>) -> Self {
        Self { host: Arc::clone(host) }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.host.is_gone()
    }

    pub(crate) async fn send(self, request: Request<Body>) -> Result<Response<Body>, Status> {
        match request.uri().path() {
            _ if self.host.is_gone() => Err(gone()),
            "/grpc.health.v1.Health/Watch" => Ok(self.host.watch()),
            _ => self.host.answer().await,
        }
    }
}

#[derive(Debug)]
pub(crate) struct NewConnection {
    pub(crate) connection: Connection,
    pub(crate) failure: oneshot::Receiver<io::Error>,
}

pub(crate) async fn open(stream: Box<dyn Stream>) -> io::Result<NewConnection> {
    yield_now().await;
    let host = stream.host();
    if host.is_gone() {
        return Err(io::ErrorKind::ConnectionReset.into());
    }
    let (_, failure) = oneshot::channel();
    let connection = Connection { host };
    Ok(NewConnection { connection, failure })
}
