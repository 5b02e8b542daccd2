//! The OpenAPI document of a variant: the annotations of its endpoints, completed by the responses
//! that follow from the kind of operation.
//!
//! - [`responses`]: error responses.
//! - [`guard`]: restricts routes to roles and documents that.
//! - [`docs_ui`]: `/openapi.json`, and Swagger UI at `/docs`.

pub(crate) mod docs_ui;
pub(crate) mod guard;
pub(crate) mod responses;

use responses::{ErrorBody, UpstreamUnavailable, add_response};
use utoipa::{
    IntoResponses, PartialSchema, ToSchema,
    openapi::{
        Header, HeaderBuilder, InfoBuilder, LicenseBuilder, OpenApi, RefOr, Server, Type,
        path::{Operation, ParameterIn, PathItem},
        schema::ObjectBuilder,
        security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
    },
};

/// What the document says of a variant as a whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variant {
    pub(crate) title: &'static str,
    /// Markdown.
    pub(crate) description: &'static str,
    pub(crate) scheme: Scheme,
}

/// The authentication scheme of a variant. Annotations use its [`name`](Self::name).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    /// An access token (RFC 6750); `security(("bearer" = []))`.
    Bearer,
    /// Username and password (RFC 7617); `security(("basic" = []))`.
    Basic,
}

impl Scheme {
    /// The name in `components.securitySchemes`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bearer => "bearer",
            Self::Basic => "basic",
        }
    }

    fn security_scheme(self) -> SecurityScheme {
        let http = match self {
            Self::Bearer => HttpBuilder::new()
                .scheme(HttpAuthScheme::Bearer)
                .bearer_format("JWT")
                .description(Some("The `access_token` of `POST /login`, valid for 30 minutes.")),
            Self::Basic => HttpBuilder::new()
                .scheme(HttpAuthScheme::Basic)
                .description(Some("Username and password in UTF-8.")),
        };
        SecurityScheme::Http(http.build())
    }

    /// The `detail` texts of a 401.
    fn details(self) -> &'static [&'static str] {
        match self {
            Self::Bearer => &["Not authenticated.", "Invalid or expired token.", "User not found."],
            Self::Basic => &["Not authenticated.", "Invalid username or password."],
        }
    }

    fn challenge(self) -> &'static str {
        match self {
            Self::Bearer => "`Bearer`, with `error=\"invalid_token\"` if a token was presented.",
            Self::Basic => "`Basic`",
        }
    }
}

/// Completes `document`, the annotations of a variant's routes.
pub(crate) fn document(variant: Variant, mut document: OpenApi) -> OpenApi {
    document.info = InfoBuilder::new()
        .title(variant.title)
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(variant.description))
        .license(Some(LicenseBuilder::new().name(LICENSE).identifier(Some(LICENSE)).build()))
        .build();
    document.servers = Some(vec![Server::new("/")]);
    let components = document.components.get_or_insert_default();
    components.schemas.insert(ErrorBody::name().into(), ErrorBody::schema());
    components.add_security_scheme(variant.scheme.name(), variant.scheme.security_scheme());
    for operation in document.paths.paths.values_mut().flat_map(operations) {
        complete(operation, variant.scheme);
    }
    document
}

const LICENSE: &str = env!("CARGO_PKG_LICENSE");

/// Adds the responses that follow from the kind of operation.
fn complete(operation: &mut Operation, scheme: Scheme) {
    let is_protected = operation.security.is_some();
    let has_body = operation.request_body.is_some();
    if is_protected {
        let response =
            add_response(operation, 401, "The caller is not authenticated.", scheme.details());
        response.headers.insert("WWW-Authenticate".to_owned(), text(scheme.challenge()));
    }
    for name in path_parameters(operation) {
        let detail = format!("Path parameter \"{name}\" must be an integer.");
        add_response(operation, 400, "The path is malformed.", &[&detail]);
    }
    if has_body {
        body_errors(operation);
    }
    if is_protected || has_body {
        operation.responses.responses.extend(UpstreamUnavailable::responses());
    }
    let response = add_response(
        operation,
        405,
        "The path does not support this method.",
        &["Method Not Allowed"],
    );
    response.headers.insert("Allow".to_owned(), text("Allowed methods."));
    add_response(
        operation,
        500,
        "An unexpected error in the service.",
        &["Internal server error."],
    );
    for response in operation.responses.responses.values_mut() {
        if let RefOr::T(response) = response
            && response.description.is_empty()
        {
            response.description.push_str("Success.");
        }
    }
}

fn path_parameters(operation: &Operation) -> Vec<String> {
    let parameters = operation.parameters.iter().flatten();
    let in_path = parameters.filter_map(|parameter| match parameter {
        RefOr::T(parameter) if parameter.parameter_in == ParameterIn::Path => Some(&parameter.name),
        _ => None,
    });
    in_path.cloned().collect()
}

/// The rejections of [`JsonBody`](crate::extract::json_body::JsonBody).
fn body_errors(operation: &mut Operation) {
    let not_an_object = [
        "Request body is not valid JSON.",
        "Request body must be a JSON object.",
        "Field \"...\" is required and must be a string.",
    ];
    add_response(operation, 400, "The request body is malformed.", &not_an_object);
    let timed_out = ["Request body did not arrive in time."];
    add_response(operation, 408, "The request body did not arrive within 30 seconds.", &timed_out);
    add_response(operation, 413, "The request body is too large.", &["Request body too large."]);
    let other_type = ["Content-Type must be application/json."];
    add_response(operation, 415, "The request body has another media type.", &other_type);
}

fn text(description: &str) -> RefOr<Header> {
    let text = ObjectBuilder::new().schema_type(Type::String);
    HeaderBuilder::new().schema(Some(text)).description(Some(description)).build().into()
}

/// The operations of a path.
pub(crate) fn operations(path: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, put, post, delete, patch, .. } = path;
    [get, put, post, delete, patch].into_iter().flatten()
}

#[cfg(test)]
mod tests;
