//! Limits of request messages. tonic has one for each service; methods with long messages get another.

use axum::{body::Body as AxumBody, response::IntoResponse};
use http::Request;
use std::convert::Infallible;
use tonic::{body::Body, service::Routes};
use tower::{Service, ServiceExt as _};

/// Bytes of a message, unless its method needs more: of the longest body of HTTP, and of what its headers add.
pub const MAX_MESSAGE: usize = 66 * 1024;

/// Bytes of a batch of the longest tokens with the longest lists of roles, or of the longest body with a post.
pub const MAX_LONG_MESSAGE: usize = 1400 * 1024;

/// Adds `service` once more to these routes, for the methods at these paths, such as
/// `/rolegate.auth.v1.AuthService/BatchAuthorize`: with a limit of its own.
pub fn with_methods<S>(mut routes: Routes, service: &S, paths: &[&str]) -> Routes
where
    S: Service<Request<Body>, Error = Infallible> + Clone + Send + Sync + 'static,
    S::Response: IntoResponse,
    S::Future: Send + 'static,
{
    let methods = routes.axum_router_mut();
    for path in paths {
        let service = service
            .clone()
            .map_request(|request: Request<AxumBody>| request.map(Body::new));
        *methods = std::mem::take(methods).route_service(path, service);
    }
    routes
}
