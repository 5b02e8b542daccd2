//! `ListPosts`.

use super::RpcResult;
use crate::posts::{PageRequest, Posts};
use rolegate_proto::posts_v1::{ListPostsRequest, ListPostsResponse};
use tonic::{Request, Response};

pub(super) async fn call(
    posts: &Posts,
    request: Request<ListPostsRequest>,
) -> RpcResult<ListPostsResponse> {
    let ListPostsRequest { page_size, after, author_id } = request.into_inner();
    let page = posts.list(PageRequest { size: page_size, after, author_id }).await?;
    let posts = page.posts.into_iter().map(Into::into).collect();
    Ok(Response::new(ListPostsResponse { posts, next_after: page.next_after }))
}
