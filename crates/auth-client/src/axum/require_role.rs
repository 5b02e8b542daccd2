//! Restricts routes to roles.

use super::CurrentUser;
use crate::{AuthClient, Requirement, Role};
use axum::{
    body::Body,
    extract::Request,
    response::{IntoResponse, Response},
};
use std::{future::Future, pin::Pin, sync::Arc};
use tower_http::auth::{AsyncAuthorizeRequest, AsyncRequireAuthorizationLayer};

/// Lets requests pass whose user has one of some roles now; rejects others with 401 or 403. Handlers
/// behind the layer get the user as [`CurrentUser`].
///
/// ```
/// # use rolegate_auth_client::{AuthClient, Role, axum::{CurrentUser, RequireRole}};
/// # use axum::{Router, routing::get};
/// # fn routes(auth: AuthClient) -> Router<AuthClient> {
/// Router::new().route(
///     "/reports",
///     get(async |CurrentUser(user): CurrentUser| format!("Hello {}", user.username))
///         .route_layer(RequireRole::any_of(auth, [Role::Author, Role::Admin])),
/// )
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RequireRole {
    client: AuthClient,
    roles: Arc<[Role]>,
}

/// In the extensions of a rejection by [`RequireRole`]: the roles that pass.
#[derive(Clone, Debug)]
pub struct RequiredRoles(pub Arc<[Role]>);

/// The layer of [`RequireRole::any_of`].
pub type RequireRoleLayer = AsyncRequireAuthorizationLayer<RequireRole>;

impl RequireRole {
    /// A layer that users with any of these roles pass.
    pub fn any_of(client: AuthClient, roles: impl IntoIterator<Item = Role>) -> RequireRoleLayer {
        RequireRoleLayer::new(Self { client, roles: roles.into_iter().collect() })
    }
}

impl AsyncAuthorizeRequest<Body> for RequireRole {
    type RequestBody = Body;
    type ResponseBody = Body;
    type Future = Pin<Box<dyn Future<Output = Result<Request, Response>> + Send>>;

    fn authorize(&mut self, request: Request) -> Self::Future {
        let Self { client, roles } = self.clone();
        Box::pin(async move {
            let (mut parts, body) = request.into_parts();
            match CurrentUser::authorize(&parts, &client, Requirement::Roles(&roles)).await {
                Ok(current) => {
                    parts.extensions.insert(current);
                    Ok(Request::from_parts(parts, body))
                }
                Err(error) => {
                    let mut response = error.into_response();
                    response.extensions_mut().insert(RequiredRoles(roles));
                    Err(response)
                }
            }
        })
    }
}
