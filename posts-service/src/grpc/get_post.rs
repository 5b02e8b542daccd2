//! `GetPost`.

use super::RpcResult;
use crate::posts::Posts;
use rolegate_proto::posts_v1::{GetPostRequest, GetPostResponse};
use tonic::{Request, Response};

pub(super) async fn call(
    posts: &Posts,
    request: Request<GetPostRequest>,
) -> RpcResult<GetPostResponse> {
    let post = posts.read(request.into_inner().post_id).await?;
    Ok(Response::new(GetPostResponse { post: Some(post.into()) }))
}
