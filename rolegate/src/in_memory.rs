//! Connects the gateway, auth-service and posts-service within one process, with the usual gRPC clients, but through
//! memory instead of sockets.

use rolegate_auth_client::{AuthClient, BalancedChannel, Stream};
use rolegate_grpc_server::InMemoryStreams;
use rolegate_posts_client::PostsClient;
use std::io;
use tokio::{
    io::{DuplexStream, duplex},
    sync::mpsc::{Sender, channel},
};

/// The maximum number of bytes in flight in each direction, about the size of a socket's buffers.
const BUFFER_SIZE: usize = 256 * 1024;

/// The clients within this process, and the connections that the servers accept from these clients.
pub(crate) struct Connections {
    /// The client of auth-service. The gateway and posts-service share it, so that their calls share batches.
    pub(crate) auth_client: AuthClient,
    pub(crate) auth_streams: InMemoryStreams,
    /// The client of posts-service; `None` if `POSTS` is off.
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

/// Returns a client of auth-service, and the connections that the server accepts from it.
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

/// Returns a client of posts-service, and the connections that the server accepts from it.
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
