//! Connections to the services within one process: the same clients as elsewhere, no socket.

use rolegate_auth_client::{AuthClient, Stream};
use rolegate_grpc_server::Connections;
use rolegate_posts_client::PostsClient;
use std::io;
use tokio::{
    io::{DuplexStream, duplex},
    sync::mpsc::{Sender, channel},
};

/// Bytes under way in each direction; about what a socket's buffers hold.
const BUFFER: usize = 256 * 1024;

/// A client of auth-service, and the connections it will make, to be served by it.
pub(crate) fn auth() -> (AuthClient, Connections) {
    let (caller, accept) = channel(1);
    (AuthClient::with_connector(move || dial(caller.clone())), Connections::InMemory(accept))
}

/// The same for posts-service.
pub(crate) fn posts() -> (PostsClient, Connections) {
    let (caller, accept) = channel(1);
    (PostsClient::with_connector(move || dial(caller.clone())), Connections::InMemory(accept))
}

async fn dial(caller: Sender<io::Result<DuplexStream>>) -> io::Result<Box<dyn Stream>> {
    let (near, far) = duplex(BUFFER);
    let gone = |_| io::Error::from(io::ErrorKind::ConnectionRefused);
    caller.send(Ok(far)).await.map_err(gone)?;
    Ok(Box::new(near))
}
