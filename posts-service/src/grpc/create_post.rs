//! `CreatePost`.

use super::{RpcResult, actor_of};
use crate::posts::Posts;
use rolegate_proto::posts_v1::{CreatePostRequest, CreatePostResponse};
use tonic::{Request, Response};

pub(super) async fn call(
    posts: &Posts,
    request: Request<CreatePostRequest>,
) -> RpcResult<CreatePostResponse> {
    let actor = actor_of(&request);
    let CreatePostRequest { title, content } = request.into_inner();
    let post = posts.create(&actor, title, content).await?;
    Ok(Response::new(CreatePostResponse { post: Some(post.into()) }))
}
