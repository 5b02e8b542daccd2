//! The routes of posts, if posts-service is configured.

use crate::{
    endpoints::{create_post, delete_post, get_post, list_posts, update_post},
    openapi::guard::Guard,
};
use rolegate_posts_client::PostsClient;
use utoipa_axum::{router::OpenApiRouter, routes};

/// posts-service checks who owns a post.
pub(super) fn routes<S>(posts: PostsClient, writers: &Guard) -> OpenApiRouter<S>
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
        .with_state(posts)
}
