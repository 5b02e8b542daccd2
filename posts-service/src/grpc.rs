//! Serves the use cases over gRPC. This module maps requests to use cases, and maps their results and errors to
//! responses and statuses.
//!
//! It also reserves memory for the responses to reads, because posts are long and a client may receive them slowly.

mod message;

use crate::posts::{PostError, Posts};
use prost::Message;
use rolegate_grpc_server::{Call, MAX_LONG_MESSAGE, Methods};
use rolegate_http_server::memory_budget::{MemoryBudget, Reservation};
use rolegate_proto::{
    limits::MAX_POST_BYTES,
    posts_v1::{
        BatchGetPostsRequest, BatchGetPostsResponse, CreatePostRequest, CreatePostResponse,
        DeletePostRequest, DeletePostResponse, GetPostRequest, GetPostResponse, ListPostsRequest,
        ListPostsResponse, UpdatePostRequest, UpdatePostResponse,
    },
};
use secrecy::SecretString;
use std::sync::Arc;
use tonic::Response;

/// The maximum size of a batch, in bytes, for which memory is reserved without first reading the actual sizes of the
/// posts. All posts count with the maximum length of a post. Most batches are smaller, so they need no extra statement
/// for the sizes.
const MAX_SMALL_BATCH: usize = 2 * 1024 * 1024;
/// The maximum number of bytes that are reserved for a page. The page counts twice, because it is in memory both as
/// posts and as the message.
const MAX_PAGE: usize = 5 * 1024 * 1024;
/// The maximum size of a response, in bytes, for which no memory stays reserved while it is written to the client.
const MAX_UNRESERVED: usize = 4 * 1024;

/// The outcome of a call: its response, or the error of the use case.
type RpcResult<M> = Result<Response<M>, PostError>;

/// Implements `rolegate.posts.v1.PostService` with the use cases.
pub(crate) struct PostsGrpc {
    pub(crate) posts: Posts,
    /// Reads reserve the memory for their responses from this budget.
    pub(crate) memory: MemoryBudget,
}

impl PostsGrpc {
    /// Returns the methods of the service. The requests that contain a post may be longer than others.
    pub(crate) fn methods() -> Methods<Self> {
        Methods::default()
            .unary_with_limit(MAX_LONG_MESSAGE, Self::create_post)
            .unary(Self::get_post)
            .unary(Self::batch_get_posts)
            .unary(Self::list_posts)
            .unary_with_limit(MAX_LONG_MESSAGE, Self::update_post)
            .unary(Self::delete_post)
    }

    async fn create_post(
        self: Arc<Self>,
        call: Call,
        message: CreatePostRequest,
    ) -> RpcResult<CreatePostResponse> {
        let CreatePostRequest { title, content } = message;
        let post = self.posts.create(&actor(&call), title, content).await?;
        Ok(Response::new(CreatePostResponse {
            post: Some(post.into()),
        }))
    }

    async fn get_post(
        self: Arc<Self>,
        _: Call,
        message: GetPostRequest,
    ) -> RpcResult<GetPostResponse> {
        let memory = self.reserve(MAX_POST_BYTES).await?;
        let post = self.posts.read(message.post_id).await?;
        let response = GetPostResponse {
            post: Some(post.into()),
        };
        respond(memory, response).await
    }

    async fn batch_get_posts(
        self: Arc<Self>,
        _: Call,
        message: BatchGetPostsRequest,
    ) -> RpcResult<BatchGetPostsResponse> {
        let ids = message.post_ids;
        let longest = ids.len() * MAX_POST_BYTES;
        let size = if longest <= MAX_SMALL_BATCH {
            longest
        } else {
            // The posts are in memory twice: as rows and as the message.
            2 * self.posts.size_of_all(&ids).await?
        };
        let memory = self.reserve(size).await?;
        let posts = self.posts.read_all(&ids).await?;
        let response = BatchGetPostsResponse {
            posts: posts.into_iter().map(Into::into).collect(),
        };
        respond(memory, response).await
    }

    async fn list_posts(
        self: Arc<Self>,
        _: Call,
        message: ListPostsRequest,
    ) -> RpcResult<ListPostsResponse> {
        let ListPostsRequest {
            page_size,
            after,
            author_id,
        } = message;
        // The page size 0 means the default, and the use case refuses a negative one, so both reserve the maximum here.
        let max_posts = match usize::try_from(page_size) {
            Ok(0) | Err(_) => usize::MAX,
            Ok(max_posts) => max_posts,
        };
        let longest = max_posts.saturating_mul(2 * MAX_POST_BYTES);
        let memory = self.reserve(longest.min(MAX_PAGE)).await?;
        let list = self.posts.list(page_size, after, author_id).await?;
        let response = ListPostsResponse {
            posts: list.posts.into_iter().map(Into::into).collect(),
            next_after: list.next_after,
        };
        respond(memory, response).await
    }

    async fn update_post(
        self: Arc<Self>,
        call: Call,
        message: UpdatePostRequest,
    ) -> RpcResult<UpdatePostResponse> {
        let UpdatePostRequest {
            post_id,
            title,
            content,
        } = message;
        let post = self
            .posts
            .update(&actor(&call), post_id, title, content)
            .await?;
        Ok(Response::new(UpdatePostResponse {
            post: Some(post.into()),
        }))
    }

    async fn delete_post(
        self: Arc<Self>,
        call: Call,
        message: DeletePostRequest,
    ) -> RpcResult<DeletePostResponse> {
        self.posts.delete(&actor(&call), message.post_id).await?;
        Ok(Response::new(DeletePostResponse {}))
    }

    /// Reserves memory for a response before it is built. Fails with [`PostError::BUSY`] if not enough memory becomes
    /// free in time.
    async fn reserve(&self, bytes: usize) -> Result<Reservation, PostError> {
        self.memory.reserve(bytes).await.ok_or(PostError::BUSY)
    }
}

fn actor(call: &Call) -> SecretString {
    SecretString::from(call.credential())
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

#[cfg(test)]
mod tests {
    use super::PostsGrpc;
    use prost::Message as _;
    use prost_types::FileDescriptorSet;
    use rolegate_proto::POSTS_DESCRIPTORS;
    use std::collections::BTreeSet;

    #[test]
    fn every_method_of_the_contract_has_a_handler() {
        let descriptors = FileDescriptorSet::decode(POSTS_DESCRIPTORS).expect("descriptors");
        let mut declared = BTreeSet::new();
        for file in &descriptors.file {
            for service in &file.service {
                let service_path = format!("/{}.{}", file.package(), service.name());
                let methods = service.method.iter();
                declared.extend(methods.map(|method| format!("{service_path}/{}", method.name())));
            }
        }
        let registered: BTreeSet<_> = PostsGrpc::methods().paths().map(str::to_owned).collect();
        assert_eq!(registered, declared);
    }
}
