//! `UpdatePost`.

use super::{RpcResult, actor_of};
use crate::posts::Posts;
use rolegate_proto::posts_v1::{UpdatePostRequest, UpdatePostResponse};
use tonic::{Request, Response};

pub(super) async fn call(
    posts: &Posts,
    request: Request<UpdatePostRequest>,
) -> RpcResult<UpdatePostResponse> {
    let actor = actor_of(&request);
    let UpdatePostRequest { post_id, title, content } = request.into_inner();
    let post = posts.update(&actor, post_id, title, content).await?;
    Ok(Response::new(UpdatePostResponse { post: Some(post.into()) }))
}
