//! Calls posts-service.

use rolegate_batcher::answer_by_key;
use rolegate_grpc_client::{
    BalancedChannel, Call, CallBatcher, CallContext, CallError, Client, ServiceInfo,
};
use rolegate_program::metrics::{Histogram, SIZE_BUCKETS, histogram, observe_size};
use rolegate_proto::{
    Reason,
    limits::{MAX_POST_BATCH, MAX_POST_BYTES},
    posts_v1::{
        BatchGetPostsRequest, CreatePostRequest, DeletePostRequest, GetPostRequest,
        ListPostsRequest, ListPostsResponse, Post, SERVICE_NAME, UpdatePostRequest,
    },
};
use secrecy::SecretString;
use std::collections::HashMap;
use std::sync::LazyLock;

/// The number of reads of single posts that share a call; pages are not counted. All clients of a process share
/// this histogram.
pub static READS: LazyLock<Histogram> = LazyLock::new(|| {
    let help = "Reads of posts in one call to posts-service.";
    histogram("rolegate_client_batch_size_posts", help, SIZE_BUCKETS)
});

/// A client of posts-service. Clones are cheap and share connections and batches.
#[derive(Clone, Debug)]
pub struct PostsClient {
    client: Client,
    reads: CallBatcher<i64, Option<Post>>,
}

/// The `actor` of a call is the access token, session or API key of an author or an admin. Authors may change
/// only their own posts.
impl PostsClient {
    /// The service that this client calls.
    pub const SERVICE: ServiceInfo = ServiceInfo {
        program: "posts-service",
        default_port: 50052,
        health_name: SERVICE_NAME,
    };

    /// Creates a client from a channel to [`PostsClient::SERVICE`].
    #[must_use]
    pub fn new(channel: BalancedChannel) -> Self {
        let client =
            Client::new(channel).max_decoding_message_size(MAX_POST_BATCH * MAX_POST_BYTES);
        let reads = post_batcher(client.clone());
        Self { client, reads }
    }

    /// Creates a post and returns it. The actor becomes its author.
    pub async fn create(
        &self,
        actor: &SecretString,
        message: CreatePostRequest,
        context: CallContext,
    ) -> Result<Post, CallError> {
        let call = Call::change(context).authenticated(actor)?;
        let response = call.send(&self.client, message).await?;
        response.post.ok_or(CallError::Malformed)
    }

    /// Returns the post with this id as it is stored now. Concurrent reads share calls. A shared call carries
    /// the request ids of all its readers, but no client address.
    pub async fn get_post(&self, id: i64, context: CallContext) -> Result<Post, CallError> {
        let post = self.reads.submit(id, context.request_id).await?;
        post.ok_or_else(|| CallError::local(Reason::PostNotFound))
    }

    /// Returns a page of posts by ascending id.
    pub async fn list(
        &self,
        message: ListPostsRequest,
        context: CallContext,
    ) -> Result<ListPostsResponse, CallError> {
        Call::read(context).send(&self.client, message).await
    }

    /// Replaces the title and the content of a post, and returns the changed post.
    pub async fn update(
        &self,
        actor: &SecretString,
        message: UpdatePostRequest,
        context: CallContext,
    ) -> Result<Post, CallError> {
        let call = Call::change(context).authenticated(actor)?;
        let response = call.send(&self.client, message).await?;
        response.post.ok_or(CallError::Malformed)
    }

    /// Deletes a post.
    pub async fn delete(
        &self,
        actor: &SecretString,
        post_id: i64,
        context: CallContext,
    ) -> Result<(), CallError> {
        let message = DeletePostRequest { post_id };
        let call = Call::change(context).authenticated(actor)?;
        call.send(&self.client, message).await.map(drop)
    }
}

/// Batches reads of single posts. One read is sent as `GetPost`, several as `BatchGetPosts`. For a post that does
/// not exist, the outcome is `None` in a batch, and [`Reason::PostNotFound`] otherwise.
fn post_batcher(client: Client) -> CallBatcher<i64, Option<Post>> {
    CallBatcher::new(MAX_POST_BATCH, move |ids, call| {
        observe_size(&READS, ids.len());
        let client = client.clone();
        answer_by_key(ids, async move |ids| get_posts(&client, &call, ids).await)
    })
}

async fn get_posts(
    client: &Client,
    call: &Call,
    post_ids: Vec<i64>,
) -> Result<HashMap<i64, Post>, CallError> {
    if let [post_id] = post_ids[..] {
        let message = GetPostRequest { post_id };
        let response = call.send(client, message).await?;
        let post = response.post.ok_or(CallError::Malformed)?;
        return Ok(HashMap::from([(post_id, post)]));
    }
    let message = BatchGetPostsRequest { post_ids };
    let response = call.send(client, message).await?;
    let posts = response.posts.into_iter();
    Ok(posts.map(|post| (post.id, post)).collect())
}
