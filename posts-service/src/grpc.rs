//! Serves the use cases over gRPC. This module maps requests to use cases, and maps their results and errors to
//! responses and statuses.
//!
//! It also reserves memory for the responses to reads, because posts are long and a client may receive them slowly.

mod message;

use crate::posts::{PostError, Posts};
use prost::Message;
use rolegate_grpc_server::actor;
use rolegate_http_server::memory_budget::{MemoryBudget, Reservation};
use rolegate_proto::{
    limits::MAX_POST_BYTES,
    posts_v1::{
        BatchGetPostsRequest, BatchGetPostsResponse, CreatePostRequest, CreatePostResponse,
        DeletePostRequest, DeletePostResponse, GetPostRequest, GetPostResponse, ListPostsRequest,
        ListPostsResponse, UpdatePostRequest, UpdatePostResponse, post_service_server::PostService,
    },
};
use secrecy::SecretString;
use std::sync::Arc;
use tonic::{Request, Response, Status};

/// The maximum size of a batch, in bytes, for which memory is reserved without first reading the actual sizes of the
/// posts. All posts count with the maximum length of a post. Most batches are smaller, so they need no extra statement
/// for the sizes.
const MAX_SMALL_BATCH: usize = 2 * 1024 * 1024;
/// The maximum number of bytes that are reserved for a page. The page counts twice, because it is in memory both as
/// posts and as the message.
const MAX_PAGE: usize = 5 * 1024 * 1024;
/// The maximum size of a response, in bytes, for which no memory stays reserved while it is written to the client.
const MAX_UNRESERVED: usize = 4 * 1024;

/// Implements `rolegate.posts.v1.PostService` with the use cases.
#[derive(Clone)]
pub(crate) struct PostsGrpc {
    posts: Posts,
    memory: MemoryBudget,
}

impl PostsGrpc {
    /// Creates the service for these use cases. Reads reserve the memory for their responses from `memory`.
    pub(crate) fn new(posts: Posts, memory: MemoryBudget) -> Self {
        Self { posts, memory }
    }

    /// Reserves memory for a response before it is built. Fails with [`PostError::BUSY`] if not enough memory becomes
    /// free in time.
    async fn reserve(&self, bytes: usize) -> Result<Reservation, PostError> {
        self.memory.reserve(bytes).await.ok_or(PostError::BUSY)
    }
}

/// Returns a response with this message. Adjusts the reservation to the size of the message, and keeps it until the
/// response is written; a small response keeps none. Fails with [`PostError::BUSY`] if the message needs more memory
/// than is reserved and free.
async fn respond<M: Message>(memory: Reservation, message: M) -> RpcResult<M> {
    let size = message.encoded_len();
    let mut response = Response::new(message);
    if size > MAX_UNRESERVED {
        let reservation = memory.resize(size).await.ok_or(PostError::BUSY)?;
        response.extensions_mut().insert(Arc::new(reservation));
    }
    Ok(response)
}

type RpcResult<M> = Result<Response<M>, Status>;

fn actor_token<M>(request: &Request<M>) -> SecretString {
    SecretString::from(actor::token(request.metadata()))
}

#[tonic::async_trait]
impl PostService for PostsGrpc {
    async fn create_post(
        &self,
        request: Request<CreatePostRequest>,
    ) -> RpcResult<CreatePostResponse> {
        let actor = actor_token(&request);
        let CreatePostRequest { title, content } = request.into_inner();
        let post = self.posts.create(&actor, title, content).await?;
        Ok(Response::new(CreatePostResponse {
            post: Some(post.into()),
        }))
    }

    async fn get_post(&self, request: Request<GetPostRequest>) -> RpcResult<GetPostResponse> {
        let memory = self.reserve(MAX_POST_BYTES).await?;
        let post = self.posts.read(request.into_inner().post_id).await?;
        let message = GetPostResponse {
            post: Some(post.into()),
        };
        respond(memory, message).await
    }

    async fn batch_get_posts(
        &self,
        request: Request<BatchGetPostsRequest>,
    ) -> RpcResult<BatchGetPostsResponse> {
        let ids = request.into_inner().post_ids;
        let longest = ids.len() * MAX_POST_BYTES;
        let size = if longest <= MAX_SMALL_BATCH {
            longest
        } else {
            // The posts are in memory twice: as rows and as the message.
            2 * self.posts.size_of_all(&ids).await?
        };
        let memory = self.reserve(size).await?;
        let posts = self.posts.read_all(&ids).await?;
        let message = BatchGetPostsResponse {
            posts: posts.into_iter().map(Into::into).collect(),
        };
        respond(memory, message).await
    }

    async fn list_posts(&self, request: Request<ListPostsRequest>) -> RpcResult<ListPostsResponse> {
        let ListPostsRequest {
            page_size,
            after,
            author_id,
        } = request.into_inner();
        // The page size 0 means the default, and the use case refuses a negative one, so both reserve the maximum here.
        let max_posts = match usize::try_from(page_size) {
            Ok(0) | Err(_) => usize::MAX,
            Ok(max_posts) => max_posts,
        };
        let longest = max_posts.saturating_mul(2 * MAX_POST_BYTES);
        let memory = self.reserve(longest.min(MAX_PAGE)).await?;
        let list = self.posts.list(page_size, after, author_id).await?;
        let message = ListPostsResponse {
            posts: list.posts.into_iter().map(Into::into).collect(),
            next_after: list.next_after,
        };
        respond(memory, message).await
    }

    async fn update_post(
        &self,
        request: Request<UpdatePostRequest>,
    ) -> RpcResult<UpdatePostResponse> {
        let actor = actor_token(&request);
        let UpdatePostRequest {
            post_id,
            title,
            content,
        } = request.into_inner();
        let post = self.posts.update(&actor, post_id, title, content).await?;
        Ok(Response::new(UpdatePostResponse {
            post: Some(post.into()),
        }))
    }

    async fn delete_post(
        &self,
        request: Request<DeletePostRequest>,
    ) -> RpcResult<DeletePostResponse> {
        let actor = actor_token(&request);
        self.posts
            .delete(&actor, request.into_inner().post_id)
            .await?;
        Ok(Response::new(DeletePostResponse {}))
    }
}
