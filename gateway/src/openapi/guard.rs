//! Restricts routes to roles, in the router and in the OpenAPI document at once.

use super::{operations::operations, responses::add_response};
use rolegate_auth_client::{
    AuthClient, Role,
    axum::{RequireRole, RequireRoleLayer},
};
use utoipa::openapi::security::SecurityRequirement;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter, UtoipaMethodRouterExt as _};

/// Restricts routes to some roles. Callers who have none of these roles are rejected before the request body is read.
pub(crate) struct Guard {
    layer: RequireRoleLayer,
    /// The names of the roles, for the description of the 403.
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

    /// Returns a router of these routes with the guard, and documents their 401 and 403.
    pub(crate) fn protect<S>(
        &self,
        routes: impl IntoIterator<Item = UtoipaMethodRouter<S>>,
    ) -> OpenApiRouter<S>
    where
        S: Clone + Send + Sync + 'static,
    {
        let guarded = routes
            .into_iter()
            .map(|route| route.map(|methods| methods.route_layer(self.layer.clone())));
        let mut protected = document_token(guarded);
        let description = format!("The caller's stored role is not {}.", self.role_names);
        for operation in operations(protected.get_openapi_mut()) {
            add_response(
                &mut operation.responses,
                403,
                &description,
                &["Insufficient privileges.", "Second factor required."],
            );
        }
        protected
    }
}

/// Returns a router of these routes, and documents that they need a bearer token. The router itself checks no token: a
/// [`Guard`] does, or the handlers, which extract `CurrentUser`, `ActingClient` or `PersonalToken`.
pub(crate) fn document_token<S>(
    routes: impl IntoIterator<Item = UtoipaMethodRouter<S>>,
) -> OpenApiRouter<S>
where
    S: Clone + Send + Sync + 'static,
{
    let mut documented = routes
        .into_iter()
        .fold(OpenApiRouter::default(), OpenApiRouter::routes);
    for operation in operations(documented.get_openapi_mut()) {
        operation.security = Some(vec![SecurityRequirement::new("bearer", [""; 0])]);
    }
    documented
}
