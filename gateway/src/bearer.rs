//! The bearer-token variant: users, access tokens and roles.

use crate::{
    console,
    endpoints::{
        access, accounts, api_keys, audit, of_any_user, password_links, passwords, posts,
        second_factor, sessions, user_creation, users,
    },
    memory::MemoryBudgets,
    middleware,
    openapi::{
        Variant, docs_ui, document,
        guard::{Guard, signed_in},
    },
    settings::PublicSettings,
    sign_in::{self, refused::ambiguous_address},
    state::GatewayState,
};
use axum::{Router, routing::any};
use posts::PostsState;
use rolegate_auth_client::{AuthClient, Role};
use rolegate_posts_client::PostsClient;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder};
use utoipa_axum::{
    router::{OpenApiRouter, UtoipaMethodRouter},
    routes,
};

fn variant() -> Variant {
    Variant {
        title: "Rolegate, bearer tokens",
        description: include_str!("bearer/description.md"),
        scheme_name: "bearer",
        scheme: HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("JWT")
            .description(Some(
                "The `access_token` of `POST /login`, valid for 30 minutes, the `token` of `POST \
                 /sessions`, or an API key.",
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

/// Routes by the access that they need. Method and path are in the endpoint's annotation; `GET` routes
/// also answer `HEAD`.
fn routes(
    auth: &AuthClient,
    posts: Option<PostsClient>,
    memory: &MemoryBudgets,
) -> OpenApiRouter<GatewayState> {
    let authors = Guard::any_of(auth, &[Role::AUTHOR, Role::ADMIN]);
    let admins = Guard::any_of(auth, &[Role::ADMIN]);
    let routes = OpenApiRouter::default()
        // public
        .routes(routes!(access::bearer_index))
        .routes(routes!(accounts::register))
        .routes(routes!(accounts::login))
        .routes(routes!(sessions::create_session))
        .routes(routes!(password_links::redeem_password_link))
        .routes(routes!(password_links::read_password_link))
        .routes(routes!(passwords::password_policy))
        .routes(routes!(access::public))
        // any user: the handlers extract `CurrentUser` or `ActingClient`
        .routes(signed_in(routes!(accounts::profile)))
        .routes(signed_in(routes!(accounts::me)))
        .routes(signed_in(routes!(access::bearer_protected)))
        .routes(signed_in(routes!(passwords::change_password)))
        .routes(signed_in(routes!(
            second_factor::enrol_second_factor,
            second_factor::enable_second_factor,
            second_factor::disable_second_factor,
            second_factor::get_second_factor
        )))
        .routes(signed_in(routes!(audit::list_own_audit)))
        .routes(signed_in(routes!(accounts::logout)));
    let routes = own_credentials()
        .into_iter()
        .fold(routes, |routes, own| routes.routes(signed_in(own)));
    let routes = routes
        // by role
        .routes(authors.protect(routes!(access::author)))
        .routes(admins.protect(routes!(access::admin)))
        .routes(admins.protect(routes!(users::list_users, user_creation::create_user)))
        .routes(admins.protect(routes!(
            users::get_user,
            users::update_user,
            users::delete_user
        )))
        .routes(admins.protect(routes!(users::set_user_role)))
        .routes(admins.protect(routes!(passwords::set_password)))
        .routes(admins.protect(routes!(password_links::create_password_link)))
        .routes(admins.protect(routes!(second_factor::remove_second_factor)))
        .routes(admins.protect(routes!(users::revoke_tokens)))
        .routes(admins.protect(routes!(users::list_roles)))
        .routes(admins.protect(routes!(audit::list_audit)));
    let routes = own_credentials().into_iter().fold(routes, |routes, own| {
        routes.routes(admins.protect(of_any_user(own)))
    });
    let Some(posts) = posts else { return routes };
    let posts = OpenApiRouter::default()
        // public
        .routes(routes!(posts::list_posts))
        .routes(routes!(posts::get_post))
        // by role; posts-service checks who owns a post
        .routes(authors.protect(routes!(posts::create_post)))
        .routes(authors.protect(routes!(posts::update_post, posts::delete_post)))
        .with_state(PostsState {
            posts,
            memory: memory.responses.clone(),
        });
    routes.merge(posts)
}

/// The keys and sessions of the current user; admins have the same for any user.
fn own_credentials() -> [UtoipaMethodRouter<GatewayState>; 4] {
    [
        routes!(
            api_keys::create_api_key,
            api_keys::list_own_keys,
            api_keys::delete_own_keys
        ),
        routes!(api_keys::get_own_key, api_keys::delete_own_key),
        routes!(sessions::list_own_sessions, sessions::end_own_sessions),
        routes!(sessions::end_own_session),
    ]
}

/// The variant with its middleware. Without posts-service, it has no routes of posts.
pub(crate) fn router(
    state: GatewayState,
    posts: Option<PostsClient>,
    settings: &PublicSettings,
    memory: &MemoryBudgets,
) -> Router {
    // People sign in at the page, to their account and to the console.
    let has_accounts = state.sign_in.is_some();
    let console = settings.console && has_accounts;
    let settings = PublicSettings {
        console,
        ..settings.clone()
    };
    let (mut routes, paths) = routes(&state.auth, posts, memory).split_for_parts();
    if settings.api_docs {
        routes = routes.merge(docs_ui::routes(
            &document(variant(), paths),
            settings.console,
        ));
    }
    if settings.console {
        routes = routes.merge(console::routes());
    }
    routes = routes.route("/sign-in/ambiguous-address", any(ambiguous_address));
    if let Some(sign_in) = state.sign_in.clone() {
        routes = routes.merge(sign_in::routes(state.clone(), sign_in, &settings));
    }
    middleware::apply("bearer", routes, has_accounts, &settings, memory).with_state(state)
}

#[cfg(test)]
mod tests;
