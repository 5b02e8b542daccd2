//! `BatchGetPosts`.

use super::RpcResult;
use crate::posts::Posts;
use rolegate_proto::posts_v1::{BatchGetPostsRequest, BatchGetPostsResponse};
use tonic::{Request, Response};

pub(super) async fn call(
    posts: &Posts,
    request: Request<BatchGetPostsRequest>,
) -> RpcResult<BatchGetPostsResponse> {
    let posts = posts.read_all(&request.into_inner().post_ids).await?;
    let posts = posts.into_iter().map(Into::into).collect();
    Ok(Response::new(BatchGetPostsResponse { posts }))
}
