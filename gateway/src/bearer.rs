//! The bearer-token variant: users, access tokens, roles.

use crate::{
    endpoints::{
        admin, author, index, list_users, login, profile, public, register, set_user_role,
    },
    every_request::{around, no_store},
};
use auth_client::{AuthClient, Role, axum::RequireRole};
use axum::{
    Router,
    middleware::map_response,
    routing::{get, post, put},
};
use service_runtime::networks::Networks;
use std::sync::Arc;

/// Every route, its method and who may. `get` answers HEAD as well. A layer on a method decides by
/// the request's head, before the handler reads a body.
pub(crate) fn router(auth: AuthClient, trusted_proxies: Arc<Networks>) -> Router {
    let only = |roles: &[Role]| RequireRole::any_of(auth.clone(), roles.iter().copied());
    let authors = only(&[Role::Author, Role::Admin]);
    let admins = only(&[Role::Admin]);
    let no_store = map_response(no_store);

    let routes = Router::new()
        // anybody
        .route("/", get(index::bearer))
        .route("/register", post(register::register))
        .route("/login", post(login::login).layer(no_store.clone()))
        .route("/public", get(public::public))
        // any authenticated user: the handler asks for `CurrentUser`
        .route("/profile", get(profile::profile).layer(no_store.clone()))
        // by role
        .route("/author", get(author::author).route_layer(authors))
        .route("/admin", get(admin::admin).route_layer(admins.clone()))
        .route("/users", get(list_users::list_users).route_layer(admins.clone()).layer(no_store))
        .route("/users/{user_id}/role", put(set_user_role::set_user_role).route_layer(admins));
    around(routes, trusted_proxies).with_state(auth)
}

#[cfg(test)]
mod tests;
