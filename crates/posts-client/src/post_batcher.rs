//! Concurrent reads of posts share calls: one alone is a `GetPost`, several are a `BatchGetPosts`.

use crate::Post;
use rolegate_batcher::answer_by_key;
use rolegate_grpc_client::{BalancedChannel, BatchCall, CallBatcher, CallError};
use rolegate_proto::{
    limits::MAX_POST_BATCH,
    posts_v1::{BatchGetPostsRequest, GetPostRequest, post_service_client::PostServiceClient},
};
use std::collections::HashMap;

type Client = PostServiceClient<BalancedChannel>;

pub(crate) fn post_batcher(client: Client) -> CallBatcher<i64, Option<Post>> {
    CallBatcher::new(MAX_POST_BATCH, move |ids, call| {
        let client = client.clone();
        answer_by_key(ids, async move |ids| get_posts(&client, &call, ids).await)
    })
}

async fn get_posts(
    client: &Client,
    call: &BatchCall,
    post_ids: Vec<i64>,
) -> Result<HashMap<i64, Post>, CallError> {
    if let [post_id] = post_ids[..] {
        let response = call.send(GetPostRequest { post_id }, |request| {
            let mut client = client.clone();
            async move { client.get_post(request).await }
        });
        let post = Post::try_from_response(response.await?.post)?;
        return Ok(HashMap::from([(post_id, post)]));
    }
    let response = call.send(BatchGetPostsRequest { post_ids }, |request| {
        let mut client = client.clone();
        async move { client.batch_get_posts(request).await }
    });
    let posts = response.await?.posts.into_iter();
    posts.map(|post| Ok((post.id, Post::try_from(post)?))).collect()
}
