//! The OpenAPI document of a variant: the annotations of its endpoints, completed by the responses
//! that follow from the kind of operation.

pub(crate) mod docs_ui;
pub(crate) mod guard;
pub(crate) mod responses;

use responses::{REASON_SCHEMA, add_response, reason_schema};
use rolegate_program::program::version;
use rolegate_proto::limits::MAX_PAGE_SIZE;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use utoipa::openapi::{
    HeaderBuilder, InfoBuilder, LicenseBuilder, OpenApi, Ref, RefOr, Required, Response, Server,
    Type,
    path::{Operation, Parameter, ParameterBuilder, ParameterIn, PathItem},
    schema::{KnownFormat, ObjectBuilder, SchemaFormat},
    security::{Http, SecurityScheme},
    tag::TagBuilder,
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
        .version(version())
        .description(Some(variant.description))
        .license(Some(
            LicenseBuilder::new()
                .name(LICENSE)
                .identifier(Some(LICENSE))
                .build(),
        ))
        .build();
    document.servers = Some(vec![Server::new("/")]);
    let used: BTreeSet<_> = document.paths.paths.keys().map(|path| tag(path)).collect();
    let used = TAGS.into_iter().filter(|(name, _)| used.contains(name));
    let tag = |(name, description)| TagBuilder::new().name(name).description(Some(description));
    document.tags = Some(used.map(|it| tag(it).build()).collect());
    for (path, item) in &mut document.paths.paths {
        for operation in operations(item) {
            complete(operation, path, &variant);
        }
    }
    let components = document.components.get_or_insert_default();
    components
        .schemas
        .insert(REASON_SCHEMA.into(), reason_schema().into());
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

fn tag(path: &str) -> &'static str {
    let mut segments = path.split('/').skip(1);
    match (segments.next(), segments.any(|segment| segment == "keys")) {
        (_, true) => "API keys",
        (Some("register" | "login" | "sessions" | "logout" | "profile" | "password" | "me"), _) => {
            "Accounts"
        }
        (Some("users" | "roles"), _) => "Users",
        (Some("posts"), _) => "Posts",
        _ => "Access",
    }
}

/// Adds what follows from the kind of operation.
fn complete(operation: &mut Operation, path: &str, variant: &Variant) {
    operation.tags = Some(vec![tag(path).to_owned()]);
    let is_protected = operation.security.is_some();
    // An empty list says that an operation is public, where no list would leave that open.
    operation.security.get_or_insert_default();
    let has_query = operation.parameters.is_some();
    let has_body = operation.request_body.is_some();
    if is_protected {
        add_response(
            operation,
            401,
            "The caller is not authenticated.",
            variant.unauthenticated,
        );
    }
    // A path is a template, such as `/users/{user_id}`.
    let ids: Vec<_> = path.split(['{', '}']).skip(1).step_by(2).collect();
    for name in &ids {
        let detail = format!("Path parameter \"{name}\" must be an integer.");
        add_response(operation, 400, "The path is malformed.", &[&detail]);
        // User 1 is the admin.
        let (example, description, detail) = match *name {
            "user_id" => (2, "No user has this id.", "User not found."),
            "session_id" => (
                1,
                "The user has no session with this id.",
                "Session not found.",
            ),
            "key_id" => (
                1,
                "The user has no API key with this id.",
                "API key not found.",
            ),
            _ => (1, "No post has this id.", "Post not found."),
        };
        add_response(operation, 404, description, &[detail]);
        operation
            .parameters
            .get_or_insert_default()
            .push(id_in_path(name, example).into());
    }
    if has_query {
        let detail =
            format!("Query parameter \"limit\" must be a whole number from 1 to {MAX_PAGE_SIZE}.");
        add_response(
            operation,
            400,
            "A query parameter is invalid or repeated.",
            &[&detail],
        );
    }
    if let Some(RefOr::T(body)) = &mut operation.request_body {
        body.description
            .get_or_insert_with(|| "At most 64 KiB.".to_owned());
        body_errors(operation);
    }
    // The other operations return a fixed message.
    if is_protected || has_body || has_query || !ids.is_empty() {
        let unavailable = [
            "Service temporarily unavailable.",
            "Service is busy, try again.",
        ];
        let description = "An upstream service is unavailable or overloaded.";
        add_response(operation, 503, description, &unavailable);
        let description = "An upstream service did not respond in time.";
        add_response(operation, 504, description, &["Upstream timed out."]);
    }
    let description = "The path does not support this method.";
    add_response(operation, 405, description, &["Method Not Allowed"]);
    let description = "An unexpected error in the service.";
    add_response(operation, 500, description, &["Internal server error."]);
    for (status, response) in &mut operation.responses.responses {
        if let RefOr::T(response) = response {
            complete_response(status, response, variant);
        }
    }
}

/// Adds the headers, and makes bodies of the examples, of which annotations have the text.
fn complete_response(status: &str, response: &mut Response, variant: &Variant) {
    if response.description.is_empty() {
        response.description.push_str("Success.");
    }
    let is_error = status.starts_with(['4', '5']);
    if is_error {
        let reason = HeaderBuilder::new().schema(Some(Ref::from_schema_name(REASON_SCHEMA)));
        response
            .headers
            .insert("Rolegate-Reason".to_owned(), reason.build().into());
    }
    let header = match status {
        "401" => Some(("WWW-Authenticate", Type::String, variant.challenge)),
        "405" => Some(("Allow", Type::String, "Allowed methods.")),
        "503" => Some(("Retry-After", Type::Integer, "Seconds.")),
        _ => None,
    };
    if let Some((name, schema_type, description)) = header {
        let schema = ObjectBuilder::new().schema_type(schema_type);
        let header = HeaderBuilder::new()
            .schema(Some(schema))
            .description(Some(description));
        response
            .headers
            .entry(name.to_owned())
            .or_insert(header.build().into());
    }
    for content in response.content.values_mut() {
        if let RefOr::T(content) = content
            && let Some(Value::String(text)) = &content.example
        {
            content.example = Some(json!({ if is_error { "detail" } else { "message" }: text }));
        }
    }
}

fn id_in_path(name: &str, example: i64) -> Parameter {
    let int64 = SchemaFormat::KnownFormat(KnownFormat::Int64);
    let id = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .format(Some(int64));
    let parameter = ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Path);
    let parameter = parameter
        .required(Required::True)
        .description(Some("An integer."));
    parameter
        .schema(Some(id))
        .example(Some(json!(example)))
        .build()
}

/// The rejections of [`JsonBody`](crate::extract::json_body::JsonBody).
fn body_errors(operation: &mut Operation) {
    let not_an_object = [
        "Request body is not valid JSON.",
        "Request body must be a JSON object.",
        "Field \"...\" is required and must be a string.",
    ];
    add_response(
        operation,
        400,
        "The request body is malformed.",
        &not_an_object,
    );
    let timed_out = ["Request body did not arrive in time."];
    add_response(
        operation,
        408,
        "The request body did not arrive within 30 seconds.",
        &timed_out,
    );
    add_response(
        operation,
        413,
        "The request body is too large.",
        &["Request body too large."],
    );
    let other_type = [
        "Content-Type must be application/json.",
        "Content-Encoding is not supported.",
    ];
    add_response(
        operation,
        415,
        "The request body has another media type, or a content coding.",
        &other_type,
    );
}

pub(crate) fn operations(path: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem {
        get,
        put,
        post,
        delete,
        patch,
        ..
    } = path;
    [get, put, post, delete, patch].into_iter().flatten()
}

#[cfg(test)]
mod tests;
