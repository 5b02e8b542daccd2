//! Connections to the services within one process: the usual clients, without sockets.

use rolegate_auth_client::{AuthClient, BalancedChannel, Stream};
use rolegate_grpc_server::InMemoryStreams;
use rolegate_posts_client::PostsClient;
use std::io;
use tokio::{
    io::{DuplexStream, duplex},
    sync::mpsc::{Sender, channel},
};

/// Bytes in flight in each direction; about the size of a socket's buffers.
const BUFFER_SIZE: usize = 256 * 1024;

/// The clients within this process, and their connections for the servers.
pub(crate) struct Connections {
    /// The gateway and posts-service share it, and thereby its batches.
    pub(crate) auth_client: AuthClient,
    pub(crate) auth_streams: InMemoryStreams,
    /// `None` without posts.
    pub(crate) posts_client: Option<PostsClient>,
    pub(crate) posts_streams: InMemoryStreams,
}

impl Connections {
    pub(crate) fn new(has_posts: bool) -> Self {
        let (auth_client, auth_streams) = auth();
        let (posts_client, posts_streams) = posts();
        Self {
            auth_client,
            auth_streams,
            posts_client: has_posts.then_some(posts_client),
            posts_streams,
        }
    }
}

/// A client of auth-service, and its connections for the server.
#[must_use]
pub fn auth() -> (AuthClient, InMemoryStreams) {
    let (sender, incoming) = channel(1);
    let channel = || {
        let sender = sender.clone();
        let connector = move || connect(sender.clone());
        BalancedChannel::with_connector(AuthClient::SERVICE, connector)
    };
    (AuthClient::new(channel(), channel()), incoming)
}

/// A client of posts-service, and its connections for the server.
fn posts() -> (PostsClient, InMemoryStreams) {
    let (sender, incoming) = channel(1);
    let connector = move || connect(sender.clone());
    let channel = BalancedChannel::with_connector(PostsClient::SERVICE, connector);
    (PostsClient::new(channel), incoming)
}

async fn connect(sender: Sender<io::Result<DuplexStream>>) -> io::Result<Box<dyn Stream>> {
    let (near, far) = duplex(BUFFER_SIZE);
    let closed = |_| io::Error::from(io::ErrorKind::ConnectionRefused);
    sender.send(Ok(far)).await.map_err(closed)?;
    Ok(Box::new(near))
}
