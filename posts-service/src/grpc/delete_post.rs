//! `DeletePost`.

use super::{RpcResult, actor_of};
use crate::posts::Posts;
use rolegate_proto::posts_v1::{DeletePostRequest, DeletePostResponse};
use tonic::{Request, Response};

pub(super) async fn call(
    posts: &Posts,
    request: Request<DeletePostRequest>,
) -> RpcResult<DeletePostResponse> {
    let actor = actor_of(&request);
    posts.delete(&actor, request.into_inner().post_id).await?;
    Ok(Response::new(DeletePostResponse {}))
}
