//! The routes of posts, if posts-service is configured.

use crate::{
    endpoints::{create_post, delete_post, get_post, list_posts, update_post},
    memory::Memory,
    openapi::guard::Guard,
};
use axum::extract::FromRef;
use rolegate_http_server::memory_budget::MemoryBudget;
use rolegate_posts_client::PostsClient;
use utoipa_axum::{router::OpenApiRouter, routes};

/// What the handlers share.
#[derive(Clone)]
struct PostsState {
    posts: PostsClient,
    /// For responses that hold posts.
    memory: MemoryBudget,
}

impl FromRef<PostsState> for PostsClient {
    fn from_ref(state: &PostsState) -> Self {
        state.posts.clone()
    }
}

impl FromRef<PostsState> for MemoryBudget {
    fn from_ref(state: &PostsState) -> Self {
        state.memory.clone()
    }
}

/// posts-service checks who owns a post.
pub(super) fn routes<S>(posts: PostsClient, writers: &Guard, memory: &Memory) -> OpenApiRouter<S>
where
    S: Clone + Send + Sync + 'static,
{
    OpenApiRouter::default()
        // public
        .routes(routes!(list_posts::list_posts))
        .routes(routes!(get_post::get_post))
        // by role
        .routes(writers.protect(routes!(create_post::create_post)))
        .routes(writers.protect(routes!(update_post::update_post)))
        .routes(writers.protect(routes!(delete_post::delete_post)))
        .with_state(PostsState { posts, memory: memory.responses.clone() })
}
