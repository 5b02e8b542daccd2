//! The part of the table that is about posts: only where there is a posts-service.

use crate::{
    endpoints::{create_post, delete_post, get_post, list_posts, update_post},
    openapi::guard::Guard,
};
use rolegate_posts_client::PostsClient;
use utoipa_axum::{router::OpenApiRouter, routes};

/// Every route about posts and who may. Whose post it is, posts-service looks at.
pub(super) fn routes<S>(posts: PostsClient, writers: &Guard) -> OpenApiRouter<S>
where
    S: Clone + Send + Sync + 'static,
{
    OpenApiRouter::default()
        // anybody
        .routes(routes!(list_posts::list_posts))
        .routes(routes!(get_post::get_post))
        // by role
        .routes(writers.protect(routes!(create_post::create_post)))
        .routes(writers.protect(routes!(update_post::update_post)))
        .routes(writers.protect(routes!(delete_post::delete_post)))
        .with_state(posts)
}
