//! The gateway's connection to auth-service within one process.

use auth_client::AuthClient;
use auth_service::server::Connections;
use hyper_util::rt::TokioIo;
use std::io;
use tokio::{
    io::{DuplexStream, duplex},
    sync::mpsc,
};
use tonic::transport::{Endpoint, Uri};
use tower::service_fn;

/// Bytes under way in each direction; about what a socket's buffers hold.
const BUFFER: usize = 256 * 1024;

/// A client, and the connections it will make, to be served by auth-service.
pub(crate) fn connect() -> (AuthClient, Connections) {
    let (dial, accept) = mpsc::channel::<io::Result<DuplexStream>>(1);
    let connector = service_fn(move |_: Uri| {
        let dial = dial.clone();
        async move {
            let (near, far) = duplex(BUFFER);
            let gone = |_| io::Error::from(io::ErrorKind::ConnectionRefused);
            dial.send(Ok(far)).await.map_err(gone)?;
            io::Result::Ok(TokioIo::new(near))
        }
    });
    let channel = Endpoint::from_static("http://auth-service.in-memory")
        .connect_with_connector_lazy(connector);
    (AuthClient::over(channel), Connections::InMemory(accept))
}
