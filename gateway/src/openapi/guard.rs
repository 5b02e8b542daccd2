//! Who may, in the route and in its documentation at once.

use super::{Scheme, operations, responses::add_response};
use rolegate_auth_client::{AuthClient, Role, axum::RequireRole};
use utoipa::openapi::security::SecurityRequirement;
use utoipa_axum::router::{UtoipaMethodRouter, UtoipaMethodRouterExt};

/// Lets only users of some roles through, by the head of a request: before a body is read.
pub(crate) struct Guard {
    layer: RequireRole,
    who: String,
}

impl Guard {
    /// For users with one of these roles.
    pub(crate) fn any_of(auth: &AuthClient, roles: &[Role]) -> Self {
        let layer = RequireRole::any_of(auth.clone(), roles.iter().copied());
        let names: Vec<_> = roles.iter().map(|role| format!("`{role}`")).collect();
        Self { layer, who: names.join(" or ") }
    }

    /// The same route, guarded.
    pub(crate) fn protect<S>(&self, route: UtoipaMethodRouter<S>) -> UtoipaMethodRouter<S>
    where
        S: Clone + Send + Sync + 'static,
    {
        let (schemas, mut paths, methods) =
            route.map(|methods| methods.route_layer(self.layer.clone()));
        for operation in paths.paths.values_mut().flat_map(operations) {
            let bearer: [&str; 0] = [];
            let bearer = SecurityRequirement::new(Scheme::Bearer.name(), bearer);
            operation.security = Some(vec![bearer]);
            let description = format!("The user's stored role is not {}.", self.who);
            add_response(operation, 403, &description, &["Insufficient privileges."]);
        }
        (schemas, paths, methods)
    }
}
