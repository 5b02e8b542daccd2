//! Concurrent reads of posts share calls: one alone is a `GetPost`, several are a `BatchGetPosts`.

use crate::{Client, Post};
use rolegate_batcher::answer_by_key;
use rolegate_grpc_client::{BatchCall, CallBatcher, CallError};
use rolegate_proto::{
    limits::MAX_POST_BATCH,
    posts_v1::{BatchGetPostsRequest, GetPostRequest},
};
use std::collections::HashMap;

pub(crate) fn post_batcher(client: Client) -> CallBatcher<i64, Option<Post>> {
    CallBatcher::new(MAX_POST_BATCH, move |ids, call| {
        #[cfg(feature = "metrics")]
        rolegate_telemetry::metrics::observe_size(&crate::metrics::READS, ids.len());
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
        let message = GetPostRequest { post_id };
        let response = call.send(client, message, Client::get_post).await?;
        let post = Post::try_from_response(response.post)?;
        return Ok(HashMap::from([(post_id, post)]));
    }
    let message = BatchGetPostsRequest { post_ids };
    let response = call.send(client, message, Client::batch_get_posts).await?;
    response.posts.into_iter().map(|post| Ok((post.id, Post::try_from(post)?))).collect()
}
