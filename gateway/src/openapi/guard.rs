//! Restricts routes to roles, in the router and in the OpenAPI document at once.

use super::{operations, responses::add_response};
use rolegate_auth_client::{
    AuthClient, Role,
    axum::{RequireRole, RequireRoleLayer},
};
use utoipa::openapi::security::SecurityRequirement;
use utoipa_axum::router::{UtoipaMethodRouter, UtoipaMethodRouterExt};

/// Rejects callers without one of some roles before the request body is read.
pub(crate) struct Guard {
    layer: RequireRoleLayer,
    role_names: String,
}

impl Guard {
    pub(crate) fn any_of(auth: &AuthClient, roles: &[Role]) -> Self {
        let layer = RequireRole::any_of(auth.clone(), roles.iter().copied());
        let names: Vec<_> = roles.iter().map(|role| format!("`{role}`")).collect();
        Self {
            layer,
            role_names: names.join(" or "),
        }
    }

    /// Guards `route` and documents its 401 and 403.
    pub(crate) fn protect<S>(&self, route: UtoipaMethodRouter<S>) -> UtoipaMethodRouter<S>
    where
        S: Clone + Send + Sync + 'static,
    {
        let route = route.map(|methods| methods.route_layer(self.layer.clone()));
        let (schemas, mut paths, methods) = signed_in(route);
        for operation in paths.paths.values_mut().flat_map(operations) {
            let description = format!("The user's stored role is not {}.", self.role_names);
            let details = ["Insufficient privileges.", "Second factor required."];
            add_response(operation, 403, &description, &details);
        }
        (schemas, paths, methods)
    }
}

/// Documents that `route` needs a bearer token, which its handlers check.
pub(crate) fn signed_in<S>(
    (schemas, mut paths, methods): UtoipaMethodRouter<S>,
) -> UtoipaMethodRouter<S> {
    for operation in paths.paths.values_mut().flat_map(operations) {
        operation.security = Some(vec![SecurityRequirement::new("bearer", [""; 0])]);
    }
    (schemas, paths, methods)
}
