//! Only users of certain roles pass.

use super::CurrentUser;
use crate::{AuthClient, Requirement, Role};
use axum::{
    body::Body,
    extract::Request,
    response::{IntoResponse, Response},
};
use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};
use tower::{Layer, Service};

/// A layer that lets only users pass whose stored role is listed; everybody else gets 401 or 403.
/// Handlers behind it find them as [`CurrentUser`].
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
    roles: std::sync::Arc<[Role]>,
}

impl RequireRole {
    /// Users with one of these roles pass.
    pub fn any_of(client: AuthClient, roles: impl IntoIterator<Item = Role>) -> Self {
        Self { client, roles: roles.into_iter().collect() }
    }
}

impl<S> Layer<S> for RequireRole {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Guarded<S> {
        Guarded { inner, require: self.clone() }
    }
}

/// A service behind [`RequireRole`].
#[derive(Clone, Debug)]
pub struct Guarded<S> {
    inner: S,
    require: RequireRole,
}

impl<S> Service<Request> for Guarded<S>
where
    S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        // The clone stays behind; the service that was polled ready is the one that is called.
        let clone = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, clone);
        let require = self.require.clone();
        Box::pin(async move {
            let (mut parts, body) = request.into_parts();
            let requirement = Requirement::Roles(&require.roles);
            match CurrentUser::authorize(&parts, &require.client, requirement).await {
                Ok(current) => {
                    parts.extensions.insert(current);
                    inner.call(Request::from_parts(parts, body)).await
                }
                Err(problem) => Ok(problem.into_response()),
            }
        })
    }
}
