//! The bearer-token variant: users, access tokens, roles.

use crate::{
    endpoints::{
        admin, author, change_password, delete_user, get_user, index, list_users, login, profile,
        protected, public, register, set_password, set_user_role,
    },
    middleware,
    openapi::{Scheme, Variant, docs_ui, document, guard::Guard},
    settings::PublicSettings,
};
use axum::Router;
use rolegate_auth_client::{AuthClient, Role};
use rolegate_posts_client::PostsClient;
use utoipa_axum::{router::OpenApiRouter, routes};

mod posts;

const VARIANT: Variant = Variant {
    title: "Rolegate, bearer tokens",
    description: include_str!("bearer/description.md"),
    scheme: Scheme::Bearer,
};

/// Every route and who may; method and path stand with the endpoint. `get` answers HEAD as well.
fn routes(auth: &AuthClient, posts: Option<PostsClient>) -> OpenApiRouter<AuthClient> {
    let authors = Guard::any_of(auth, &[Role::Author, Role::Admin]);
    let admins = Guard::any_of(auth, &[Role::Admin]);

    let about_posts = posts.map(|posts| posts::routes(posts, &authors)).unwrap_or_default();
    OpenApiRouter::default()
        // anybody
        .routes(routes!(index::bearer))
        .routes(routes!(register::register))
        .routes(routes!(login::login))
        .routes(routes!(public::public))
        // any authenticated user: the handler asks for `CurrentUser`
        .routes(routes!(profile::profile))
        .routes(routes!(protected::bearer))
        .routes(routes!(change_password::change_password))
        // by role
        .routes(authors.protect(routes!(author::author)))
        .routes(admins.protect(routes!(admin::admin)))
        .routes(admins.protect(routes!(list_users::list_users)))
        .routes(admins.protect(routes!(get_user::get_user, delete_user::delete_user)))
        .routes(admins.protect(routes!(set_user_role::set_user_role)))
        .routes(admins.protect(routes!(set_password::set_password)))
        .merge(about_posts)
}

/// The whole variant; without posts-service the routes about posts are unknown.
pub(crate) fn router(
    auth: AuthClient,
    posts: Option<PostsClient>,
    settings: &PublicSettings,
) -> Router {
    let (mut routes, paths) = routes(&auth, posts).split_for_parts();
    if settings.api_docs {
        routes = routes.merge(docs_ui::routes(&document(VARIANT, paths)));
    }
    middleware::apply("bearer", routes, settings).with_state(auth)
}

#[cfg(test)]
mod tests;
