//! Serves the bearer-token variant: users, access tokens and roles.

use crate::{
    console,
    endpoints::{
        access, accounts, api_keys, audit,
        groups::{self, memberships},
        password_links, passwords,
        posts::{self, PostsState},
        second_factor, sessions, users,
    },
    memory::MemoryBudgets,
    middleware::{self, console_cookie::ConsoleCookie},
    openapi::{
        complete_document, docs_ui,
        guard::{Guard, document_token},
        variant::Variant,
    },
    settings::PublicSettings,
    sign_in::{self, interstitials::ambiguous_address},
    state::GatewayState,
};
use axum::{Router, routing::any};
use rolegate_auth_client::{AuthClient, Role};
use rolegate_posts_client::PostsClient;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder};
use utoipa_axum::{router::OpenApiRouter, routes};

fn variant() -> Variant {
    Variant {
        title: "Rolegate, bearer tokens",
        description: include_str!("bearer/description.md"),
        scheme_name: "bearer",
        scheme: HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("JWT")
            .description(Some(
                "The `access_token` of `POST /login`, which is valid for 30 minutes, the `token` of \
                 `POST /sessions`, or an API key.",
            ))
            .build(),
        unauthenticated: &[
            "Not authenticated.",
            "Invalid or expired token.",
            "User not found.",
        ],
        challenge: "`Bearer`, with `error=\"invalid_token\"` if a token was presented.",
    }
}

/// Returns all API routes of the variant, without those of posts if `posts` is `None`. Method and path are in the
/// endpoint's annotation, and `GET` routes also answer `HEAD`.
fn routes(
    auth: &AuthClient,
    posts: Option<PostsClient>,
    memory: &MemoryBudgets,
) -> OpenApiRouter<GatewayState> {
    let authors = Guard::any_of(auth, &[Role::AUTHOR, Role::ADMIN]);
    let admins = Guard::any_of(auth, &[Role::ADMIN]);
    let routes = public_routes()
        .merge(user_routes())
        .merge(authors.protect([routes!(access::author)]))
        .merge(admin_routes(&admins));
    let Some(posts) = posts else {
        return routes;
    };
    let state = PostsState {
        posts,
        memory: memory.responses.clone(),
    };
    routes.merge(posts_routes(&authors).with_state(state))
}

/// Returns the routes that need no credentials.
fn public_routes() -> OpenApiRouter<GatewayState> {
    OpenApiRouter::default()
        .routes(routes!(access::bearer_index))
        .routes(routes!(accounts::register))
        .routes(routes!(accounts::login))
        .routes(routes!(sessions::creation::create_session))
        .routes(routes!(password_links::redeem_password_link))
        .routes(routes!(password_links::read_password_link))
        .routes(routes!(passwords::password_policy))
        .routes(routes!(access::public))
}

/// Returns the routes for any user. Their handlers extract `CurrentUser`, `ActingClient` or `PersonalToken`.
fn user_routes() -> OpenApiRouter<GatewayState> {
    document_token([
        routes!(accounts::profile),
        routes!(accounts::me),
        routes!(memberships::list_own_groups),
        routes!(access::bearer_protected),
        routes!(passwords::change_password),
        routes!(
            second_factor::enrol_second_factor,
            second_factor::enable_second_factor,
            second_factor::disable_second_factor,
            second_factor::get_second_factor
        ),
        routes!(audit::list_own_audit),
        routes!(accounts::logout),
        routes!(
            api_keys::creation::create_own_key,
            api_keys::list_own_keys,
            api_keys::delete_own_keys
        ),
        routes!(api_keys::get_own_key, api_keys::delete_own_key),
        routes!(sessions::list_own_sessions, sessions::end_own_sessions),
        routes!(sessions::end_own_session),
    ])
}

/// Returns the routes for admins, behind their guard.
fn admin_routes(admins: &Guard) -> OpenApiRouter<GatewayState> {
    admins.protect([
        routes!(access::admin),
        routes!(users::list::list_users, users::creation::create_user),
        routes!(users::get_user, users::update_user, users::delete_user),
        routes!(users::set_user_role),
        routes!(passwords::set_password),
        routes!(password_links::create_password_link),
        routes!(second_factor::remove_second_factor),
        routes!(users::revoke_tokens),
        routes!(users::list_roles),
        routes!(groups::list_groups, groups::create_group),
        routes!(groups::get_group, groups::delete_group),
        routes!(memberships::list_members),
        routes!(memberships::set_membership, memberships::delete_membership),
        routes!(memberships::list_user_groups),
        routes!(audit::list_audit),
        routes!(
            api_keys::creation::create_user_key,
            api_keys::list_user_keys,
            api_keys::delete_user_keys
        ),
        routes!(api_keys::get_user_key, api_keys::delete_user_key),
        routes!(sessions::list_user_sessions, sessions::end_user_sessions),
        routes!(sessions::end_user_session),
    ])
}

/// Returns the routes of posts. Everyone may read posts, and posts-service checks that authors change only their own
/// posts.
fn posts_routes(authors: &Guard) -> OpenApiRouter<PostsState> {
    OpenApiRouter::default()
        .routes(routes!(posts::list_posts))
        .routes(routes!(posts::get_post))
        .merge(authors.protect([
            routes!(posts::create_post),
            routes!(posts::update_post, posts::delete_post),
        ]))
}

/// Returns the router of the variant: the API, the pages for people and the middleware. Without `posts`, it has no
/// routes of posts.
pub(crate) fn router(
    state: GatewayState,
    posts: Option<PostsClient>,
    settings: &PublicSettings,
    memory: &MemoryBudgets,
) -> Router {
    // The account page and the console need a session in a cookie, which only the sign-in page sets.
    let has_accounts = state.sign_in.is_some();
    let has_console = settings.console && has_accounts;
    let (mut routes, annotations) = routes(&state.auth, posts, memory).split_for_parts();
    if settings.api_docs {
        let document = complete_document(variant(), annotations);
        routes = routes.merge(docs_ui::routes(&document, has_console));
    }
    if has_console {
        routes = routes.merge(console::routes());
    }
    routes = routes.route("/sign-in/ambiguous-address", any(ambiguous_address));
    if let Some(sign_in) = state.sign_in.clone() {
        routes = routes.merge(sign_in::routes(state.clone(), sign_in));
    }
    let console_cookie = if has_accounts {
        ConsoleCookie::Accepted
    } else {
        ConsoleCookie::Ignored
    };
    middleware::apply("bearer", routes, console_cookie, settings, memory).with_state(state)
}

#[cfg(test)]
mod tests;
