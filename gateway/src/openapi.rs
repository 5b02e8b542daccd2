//! The OpenAPI document of a variant: the annotations of its endpoints, completed by the responses
//! that follow from the kind of operation.
//!
//! - [`responses`]: error responses.
//! - [`guard`]: restricts routes to roles and documents that.
//! - [`docs_ui`]: `/openapi.json`, and Swagger UI at `/docs`.

pub(crate) mod docs_ui;
pub(crate) mod guard;
pub(crate) mod responses;

use responses::{ErrorBody, REASON_SCHEMA, add_reasons, add_response, reason_schema};
use rolegate_proto::limits::MAX_PAGE_SIZE;
use serde_json::json;
use std::collections::BTreeSet;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Header, HeaderBuilder, InfoBuilder, LicenseBuilder, OpenApi, RefOr, Required, Server, Type,
        path::{Operation, Parameter, ParameterBuilder, ParameterIn, PathItem},
        schema::{KnownFormat, ObjectBuilder, SchemaFormat},
        security::{Http, SecurityScheme},
        tag::{Tag, TagBuilder},
    },
};

/// What the document says of a variant as a whole.
pub(crate) struct Variant {
    pub(crate) title: &'static str,
    /// Markdown.
    pub(crate) description: &'static str,
    /// The name in `components.securitySchemes` that annotations use.
    pub(crate) scheme_name: &'static str,
    pub(crate) scheme: Http,
    /// The `detail` texts of a 401.
    pub(crate) unauthenticated: &'static [&'static str],
    /// The `WWW-Authenticate` header of a 401.
    pub(crate) challenge: &'static str,
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
    document.tags = Some(tags(&mut document));
    for (path, item) in &mut document.paths.paths {
        for operation in operations(item) {
            complete(operation, path, &variant);
        }
    }
    let components = document.components.get_or_insert_default();
    components.schemas.insert(ErrorBody::name().into(), ErrorBody::schema());
    components.schemas.insert(REASON_SCHEMA.into(), reason_schema().into());
    components.add_security_scheme(variant.scheme_name, SecurityScheme::Http(variant.scheme));
    document
}

const LICENSE: &str = env!("CARGO_PKG_LICENSE");

/// Groups of operations in the order of `/docs`: first what a new user needs first.
const TAGS: [(&str, &str); 5] = [
    ("Accounts", "Register, log in, and manage the own account."),
    ("API keys", "Credentials of programs that act as a user."),
    ("Access", "Endpoints that show who is admitted."),
    ("Users", "Administration of users."),
    ("Posts", "Posts of authors."),
];

/// The groups that the variant has.
fn tags(document: &mut OpenApi) -> Vec<Tag> {
    let paths = document.paths.paths.values_mut();
    let used: BTreeSet<String> = paths
        .flat_map(operations)
        .filter_map(|operation| operation.tags.clone())
        .flatten()
        .collect();
    let is_used = |(name, _): &(&str, &str)| used.contains(*name);
    let tag = |(name, description)| TagBuilder::new().name(name).description(Some(description));
    TAGS.into_iter().filter(is_used).map(|it| tag(it).build()).collect()
}

/// Adds the responses that follow from the kind of operation.
fn complete(operation: &mut Operation, path: &str, variant: &Variant) {
    let is_protected = operation.security.is_some();
    let has_body = operation.request_body.is_some();
    if is_protected {
        let description = "The caller is not authenticated.";
        let response = add_response(operation, 401, description, variant.unauthenticated);
        let challenge = header(Type::String, variant.challenge);
        response.headers.insert("WWW-Authenticate".to_owned(), challenge);
    }
    let has_query = operation.parameters.is_some();
    // A path is a template, such as `/users/{user_id}`.
    let ids: Vec<_> = path.split(['{', '}']).skip(1).step_by(2).collect();
    for name in &ids {
        let detail = format!("Path parameter \"{name}\" must be an integer.");
        add_response(operation, 400, "The path is malformed.", &[&detail]);
        // User 1 is the admin.
        let (example, description, detail) = match *name {
            "user_id" => (2, "No user has this id.", "User not found."),
            "key_id" => (1, "The user has no API key with this id.", "API key not found."),
            _ => (1, "No post has this id.", "Post not found."),
        };
        add_response(operation, 404, description, &[detail]);
        operation.parameters.get_or_insert_default().push(id_in_path(name, example).into());
    }
    if has_query {
        let detail =
            format!("Query parameter \"limit\" must be a whole number from 1 to {MAX_PAGE_SIZE}.");
        add_response(operation, 400, "A query parameter is invalid or repeated.", &[&detail]);
    }
    if has_body {
        body_errors(operation);
    }
    // The other operations return a fixed message.
    if is_protected || has_body || has_query || !ids.is_empty() {
        upstream_errors(operation);
    }
    let response = add_response(
        operation,
        405,
        "The path does not support this method.",
        &["Method Not Allowed"],
    );
    response.headers.insert("Allow".to_owned(), header(Type::String, "Allowed methods."));
    add_response(
        operation,
        500,
        "An unexpected error in the service.",
        &["Internal server error."],
    );
    add_reasons(operation);
    for response in operation.responses.responses.values_mut() {
        if let RefOr::T(response) = response
            && response.description.is_empty()
        {
            response.description.push_str("Success.");
        }
    }
}

fn id_in_path(name: &str, example: i64) -> Parameter {
    let int64 = SchemaFormat::KnownFormat(KnownFormat::Int64);
    let id = ObjectBuilder::new().schema_type(Type::Integer).format(Some(int64));
    let parameter = ParameterBuilder::new().name(name).parameter_in(ParameterIn::Path);
    let parameter = parameter.required(Required::True).description(Some("An integer."));
    parameter.schema(Some(id)).example(Some(json!(example))).build()
}

fn upstream_errors(operation: &mut Operation) {
    let unavailable = ["Service temporarily unavailable.", "Service is busy, try again."];
    let description = "An upstream service is unavailable or overloaded.";
    let response = add_response(operation, 503, description, &unavailable);
    response.headers.insert("Retry-After".to_owned(), header(Type::Integer, "Seconds."));
    let description = "An upstream service did not respond in time.";
    add_response(operation, 504, description, &["Upstream timed out."]);
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

fn header(schema_type: Type, description: &str) -> RefOr<Header> {
    let schema = ObjectBuilder::new().schema_type(schema_type);
    HeaderBuilder::new().schema(Some(schema)).description(Some(description)).build().into()
}

/// The operations of a path.
pub(crate) fn operations(path: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, put, post, delete, patch, .. } = path;
    [get, put, post, delete, patch].into_iter().flatten()
}

#[cfg(test)]
mod tests;
