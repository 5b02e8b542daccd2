//! The calls of `rolegate.posts.v1.PostService`, typed.

use crate::{Post, PostInput, PostPage, PostQuery, reads::Reads, wire::Wire};
use rolegate_auth_client::{
    CallContext, CallError, ClientTls, InvalidAddress, Stream,
    service_client::{DECISION, Replicas, repeat_within, with_actor, within},
};
use rolegate_proto::posts_v1::{
    CreatePostRequest, DeletePostRequest, ListPostsRequest, UpdatePostRequest,
};
use secrecy::SecretString;
use std::{io, sync::Arc};
use tokio::time::Instant;

/// A client of posts-service. Cheap to clone; clones share their connections and their batches.
#[derive(Clone, Debug)]
pub struct PostsClient(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    replicas: Replicas<Wire>,
    reads: Reads,
}

impl PostsClient {
    /// A client of the posts-service at `address`, such as `http://posts-service:50052`, not encrypted.
    /// Begins to connect at once, in the background. Calls are balanced over every replica that the
    /// name resolves to, now and later.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn connect_lazy(address: &str) -> Result<Self, InvalidAddress> {
        Replicas::connect_lazy(address).map(Self::with)
    }

    /// The same, encrypted, at an address such as `https://posts-service:50052`. Every replica must
    /// prove to be the host of the address.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn connect_lazy_tls(address: &str, tls: ClientTls) -> Result<Self, InvalidAddress> {
        Replicas::connect_lazy_tls(address, tls).map(Self::with)
    }

    /// A client of the one posts-service at the far end of whatever `dial` opens.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn with_connector<F>(dial: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = io::Result<Box<dyn Stream>>> + Send + 'static,
    {
        Self::with(Replicas::with_connector(dial))
    }

    fn with(replicas: Replicas<Wire>) -> Self {
        let reads = Reads::new(replicas.clone());
        Self(Arc::new(Parts { replicas, reads }))
    }

    /// Creates a post; `actor`, the access token of an author or admin, becomes its author.
    pub async fn create(
        &self,
        actor: &SecretString,
        draft: PostInput,
        context: CallContext,
    ) -> Result<Post, CallError> {
        let message = CreatePostRequest { title: draft.title, content: draft.content };
        let request = with_actor(message, actor, context)?;
        let answer = within(DECISION, request, |request| async {
            let mut lease = self.0.replicas.lease().await?;
            lease.client.0.create_post(request).await
        });
        Post::required(answer.await?.post)
    }

    /// The post with this id, as it was stored when this was asked or later. Concurrent reads share
    /// calls.
    pub async fn get_post(&self, id: i64, context: CallContext) -> Result<Post, CallError> {
        self.0.reads.post(id, context.request_id).await
    }

    /// Calls `observer` with the number of reads in each call that is made for some; for whoever counts.
    /// The first observer stays.
    pub fn observe_reads(&self, observer: impl Fn(usize) + Send + Sync + 'static) {
        self.0.reads.observe(observer);
    }

    /// Lists posts by ascending id.
    pub async fn list(
        &self,
        query: PostQuery,
        context: CallContext,
    ) -> Result<PostPage, CallError> {
        let message = ListPostsRequest {
            page_size: query.limit.map_or(0, i32::from),
            after: query.after.unwrap_or(0),
            author_id: query.author_id,
        };
        let answer = repeat_within(Instant::now() + DECISION, message, |mut request| async {
            context.inject(&mut request);
            let mut lease = self.0.replicas.lease().await?;
            lease.client.0.list_posts(request).await
        });
        let answer = answer.await?;
        let posts = answer.posts.into_iter().map(Post::try_from).collect::<Result<_, _>>()?;
        Ok(PostPage { posts, next: answer.next_after })
    }

    /// Replaces title and content; `actor` is the access token of its author or of an admin.
    pub async fn update(
        &self,
        actor: &SecretString,
        post_id: i64,
        draft: PostInput,
        context: CallContext,
    ) -> Result<Post, CallError> {
        let message = UpdatePostRequest { post_id, title: draft.title, content: draft.content };
        let request = with_actor(message, actor, context)?;
        let answer = within(DECISION, request, |request| async {
            let mut lease = self.0.replicas.lease().await?;
            lease.client.0.update_post(request).await
        });
        Post::required(answer.await?.post)
    }

    /// Deletes a post for good; `actor` is the access token of its author or of an admin.
    pub async fn delete(
        &self,
        actor: &SecretString,
        post_id: i64,
        context: CallContext,
    ) -> Result<(), CallError> {
        let request = with_actor(DeletePostRequest { post_id }, actor, context)?;
        let answer = within(DECISION, request, |request| async {
            let mut lease = self.0.replicas.lease().await?;
            lease.client.0.delete_post(request).await
        });
        answer.await.map(drop)
    }
}
