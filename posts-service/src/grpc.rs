//! The transport: messages into use cases, outcomes into messages and statuses.
//!
//! One file per call, none of which decides anything.

mod batch_get_posts;
mod create_post;
mod delete_post;
mod get_post;
mod list_posts;
mod message;
mod status;
mod update_post;

use crate::posts::Posts;
use rolegate_grpc_server::actor;
use rolegate_proto::posts_v1::{
    BatchGetPostsRequest, BatchGetPostsResponse, CreatePostRequest, CreatePostResponse,
    DeletePostRequest, DeletePostResponse, GetPostRequest, GetPostResponse, ListPostsRequest,
    ListPostsResponse, UpdatePostRequest, UpdatePostResponse, post_service_server::PostService,
};
use secrecy::SecretString;
use tonic::{Request, Response, Status};

/// `rolegate.posts.v1.PostService` over the use cases.
#[derive(Clone)]
pub struct PostsGrpc {
    posts: Posts,
}

impl PostsGrpc {
    /// Serves these use cases.
    #[must_use]
    pub fn new(posts: Posts) -> Self {
        Self { posts }
    }
}

type RpcResult<M> = Result<Response<M>, Status>;

/// The access token of whoever acts.
fn actor_of<M>(request: &Request<M>) -> SecretString {
    SecretString::from(actor::token(request.metadata()))
}

#[tonic::async_trait]
impl PostService for PostsGrpc {
    async fn create_post(
        &self,
        request: Request<CreatePostRequest>,
    ) -> RpcResult<CreatePostResponse> {
        create_post::call(&self.posts, request).await
    }

    async fn get_post(&self, request: Request<GetPostRequest>) -> RpcResult<GetPostResponse> {
        get_post::call(&self.posts, request).await
    }

    async fn batch_get_posts(
        &self,
        request: Request<BatchGetPostsRequest>,
    ) -> RpcResult<BatchGetPostsResponse> {
        batch_get_posts::call(&self.posts, request).await
    }

    async fn list_posts(&self, request: Request<ListPostsRequest>) -> RpcResult<ListPostsResponse> {
        list_posts::call(&self.posts, request).await
    }

    async fn update_post(
        &self,
        request: Request<UpdatePostRequest>,
    ) -> RpcResult<UpdatePostResponse> {
        update_post::call(&self.posts, request).await
    }

    async fn delete_post(
        &self,
        request: Request<DeletePostRequest>,
    ) -> RpcResult<DeletePostResponse> {
        delete_post::call(&self.posts, request).await
    }
}
