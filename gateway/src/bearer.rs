//! The bearer-token variant: users, access tokens and roles.

use crate::{
    console,
    endpoints::{
        change_password, create_api_key, create_user, delete_user, fixed_message, get_user,
        list_users, login, logout, own_api_keys, profile, protected, register, revoke_tokens,
        set_password, set_user_role, update_user, user_api_keys,
    },
    memory::Memory,
    middleware,
    openapi::{Variant, docs_ui, document, guard::Guard},
    settings::PublicSettings,
    state::GatewayState,
};
use axum::Router;
use rolegate_auth_client::{AuthClient, Role};
use rolegate_posts_client::PostsClient;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder};
use utoipa_axum::{router::OpenApiRouter, routes};

mod posts;

fn variant() -> Variant {
    Variant {
        title: "Rolegate, bearer tokens",
        description: include_str!("bearer/description.md"),
        scheme_name: "bearer",
        scheme: HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("JWT")
            .description(Some(
                "The `access_token` of `POST /login`, valid for 30 minutes, or an API key.",
            ))
            .build(),
        unauthenticated: &["Not authenticated.", "Invalid or expired token.", "User not found."],
        challenge: "`Bearer`, with `error=\"invalid_token\"` if a token was presented.",
    }
}

/// Routes by the access that they need. Method and path are in the endpoint's annotation; `GET` routes
/// also answer `HEAD`.
fn routes(
    auth: &AuthClient,
    posts: Option<PostsClient>,
    memory: &Memory,
) -> OpenApiRouter<GatewayState> {
    let authors = Guard::any_of(auth, &[Role::Author, Role::Admin]);
    let admins = Guard::any_of(auth, &[Role::Admin]);

    let post_routes = posts.map(|posts| posts::routes(posts, &authors, memory)).unwrap_or_default();
    OpenApiRouter::default()
        // public
        .routes(routes!(fixed_message::bearer_index))
        .routes(routes!(register::register))
        .routes(routes!(login::login))
        .routes(routes!(fixed_message::public))
        // any user: the handlers extract `CurrentUser`
        .routes(routes!(profile::profile))
        .routes(routes!(protected::bearer))
        .routes(routes!(change_password::change_password))
        .routes(routes!(logout::logout))
        .routes(routes!(
            create_api_key::create_api_key,
            own_api_keys::list_own_keys,
            own_api_keys::delete_own_keys
        ))
        .routes(routes!(own_api_keys::get_own_key, own_api_keys::delete_own_key))
        // by role
        .routes(authors.protect(routes!(fixed_message::author)))
        .routes(admins.protect(routes!(fixed_message::admin)))
        .routes(admins.protect(routes!(list_users::list_users, create_user::create_user)))
        .routes(admins.protect(routes!(
            get_user::get_user,
            update_user::update_user,
            delete_user::delete_user
        )))
        .routes(admins.protect(routes!(set_user_role::set_user_role)))
        .routes(admins.protect(routes!(set_password::set_password)))
        .routes(admins.protect(routes!(revoke_tokens::revoke_tokens)))
        .routes(
            admins.protect(routes!(user_api_keys::list_user_keys, user_api_keys::delete_user_keys)),
        )
        .routes(
            admins.protect(routes!(user_api_keys::get_user_key, user_api_keys::delete_user_key)),
        )
        .merge(post_routes)
}

/// The variant with its middleware. Without posts-service, it has no routes of posts.
pub(crate) fn router(
    state: GatewayState,
    posts: Option<PostsClient>,
    settings: &PublicSettings,
    memory: &Memory,
) -> Router {
    let (mut routes, paths) = routes(&state.auth, posts, memory).split_for_parts();
    if settings.api_docs {
        routes = routes.merge(docs_ui::routes(&document(variant(), paths), settings.console));
    }
    if settings.console {
        routes = routes.merge(console::routes());
    }
    middleware::apply("bearer", routes, settings, memory).with_state(state)
}

#[cfg(test)]
mod tests;
