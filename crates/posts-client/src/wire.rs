//! The generated client, over connections that follow the replicas.

use http::Uri;
use rolegate_auth_client::service_client::{Connection, ServiceClient};
use rolegate_proto::posts_v1::post_service_client::PostServiceClient;

/// A batch of the longest posts has 13 MiB.
const LARGEST_ANSWER: usize = 16 * 1024 * 1024;

/// The generated client.
#[derive(Clone, Debug)]
pub(crate) struct Wire(pub(crate) PostServiceClient<Connection>);

impl ServiceClient for Wire {
    const PROGRAM: &'static str = "posts-service";
    const PORT: u16 = 50052;
    const SERVICE: &'static str = "rolegate.posts.v1.PostService";

    fn over(connection: Connection, origin: Uri) -> Self {
        let client = PostServiceClient::with_origin(connection, origin);
        Self(client.max_decoding_message_size(LARGEST_ANSWER))
    }
}
