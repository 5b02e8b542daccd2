//! Restricts routes to roles, in the router and in the OpenAPI document at once.

use super::{operations::operations, responses::add_response};
use rolegate_auth_client::{
    AuthClient, Role,
    axum::{RequireRole, RequireRoleLayer},
};
use utoipa::openapi::security::SecurityRequirement;
use utoipa_axum::router::{UtoipaMethodRouter, UtoipaMethodRouterExt};

/// Rejects callers without one of some roles before the request body is read.
pub(crate) struct Guard {
    layer: RequireRoleLayer,
    /// For the description of the 403.
    role_names: String,
}

impl Guard {
    pub(crate) fn any_of(auth: &AuthClient, roles: &[Role]) -> Self {
        let names: Vec<_> = roles.iter().map(|role| format!("`{role}`")).collect();
        Self {
            layer: RequireRole::any_of(auth.clone(), roles.iter().copied()),
            role_names: names.join(" or "),
        }
    }

    /// Guards `route` and documents its 401 and 403.
    pub(crate) fn protect<S>(&self, route: UtoipaMethodRouter<S>) -> UtoipaMethodRouter<S>
    where
        S: Clone + Send + Sync + 'static,
    {
        let route = route.map(|methods| methods.route_layer(self.layer.clone()));
        let (schemas, mut paths, methods) = document_token(route);
        for operation in paths.paths.values_mut().flat_map(operations) {
            let description = format!("The user's stored role is not {}.", self.role_names);
            add_response(
                &mut operation.responses,
                403,
                &description,
                &["Insufficient privileges.", "Second factor required."],
            );
        }
        (schemas, paths, methods)
    }
}

/// Documents that `route` needs a bearer token. Its handlers check it: they extract `CurrentUser`,
/// `ActingClient` or `PersonalToken`.
pub(crate) fn document_token<S>(
    (schemas, mut paths, methods): UtoipaMethodRouter<S>,
) -> UtoipaMethodRouter<S> {
    for operation in paths.paths.values_mut().flat_map(operations) {
        operation.security = Some(vec![SecurityRequirement::new("bearer", [""; 0])]);
    }
    (schemas, paths, methods)
}
