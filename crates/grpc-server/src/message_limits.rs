//! Limits the size of request messages. tonic has one limit for each service, so this module routes methods
//! with long messages to a second instance of the service, which has a higher limit.

use axum::{body::Body as AxumBody, response::IntoResponse};
use http::Request;
use std::convert::Infallible;
use tonic::{body::Body, service::Routes};
use tower::{Service, ServiceExt as _};

/// The maximum size of a message in bytes, unless its method needs more. It is enough for the longest body of
/// an HTTP request, and for what the headers of that request add.
pub const MAX_MESSAGE: usize = 66 * 1024;

/// The maximum size of a long message in bytes. It is enough for a batch of the longest tokens with the
/// longest lists of roles, and for the longest HTTP body with a post.
pub const MAX_LONG_MESSAGE: usize = 1400 * 1024;

/// Routes the methods at these paths, such as `/rolegate.auth.v1.AuthService/BatchAuthorize`, to `service`.
/// `service` is the one that the routes already contain, but with another limit.
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
