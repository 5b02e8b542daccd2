//! Adds to the document the responses and headers that follow from the kind of an operation: whether it needs
//! credentials, and whether it has ids in its path, a query or a body.

use super::{
    responses::{REASON_SCHEMA, add_response},
    variant::Variant,
};
use rolegate_proto::limits::MAX_PAGE_SIZE;
use serde_json::{Value, json};
use utoipa::{
    PartialSchema as _,
    openapi::{
        HeaderBuilder, OpenApi, Ref, RefOr, Response, Responses, Schema, Type,
        path::{Operation, Parameter, ParameterIn, PathItem},
        schema::ObjectBuilder,
    },
};

/// Returns the operations of a document.
pub(super) fn operations(document: &mut OpenApi) -> impl Iterator<Item = &mut Operation> {
    document.paths.paths.values_mut().flat_map(operations_at)
}

/// Returns the operations at a path.
pub(super) fn operations_at(path: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
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

/// Adds to the annotation of an operation the responses and headers that all operations of its kind have.
pub(super) fn complete_operation(operation: &mut Operation, variant: &Variant) {
    let Operation {
        security,
        parameters,
        request_body,
        responses,
        ..
    } = operation;
    let is_protected = security.is_some();
    // An empty list says that the operation is public. Without a list, the document would not say whether it is.
    security.get_or_insert_default();
    if is_protected {
        add_response(
            responses,
            401,
            "The caller is not authenticated.",
            variant.unauthenticated,
        );
    }
    add_parameter_errors(responses, parameters.as_deref().unwrap_or_default());
    if let Some(RefOr::T(body)) = request_body {
        body.description
            .get_or_insert_with(|| "At most 64 KiB.".to_owned());
        add_body_errors(responses);
    }
    // Operations without any of these return a fixed message and call no service. The exception is `/password-policy`,
    // whose 503 and 504 the document does not describe.
    if is_protected || parameters.is_some() || request_body.is_some() {
        add_upstream_errors(responses);
    }
    add_response(
        responses,
        405,
        "The path does not support this method.",
        &["Method Not Allowed"],
    );
    add_response(
        responses,
        500,
        "An unexpected error occurred in the service.",
        &["Internal server error."],
    );
    for (status, response) in &mut responses.responses {
        if let RefOr::T(response) = response {
            complete_response(status, response, variant);
        }
    }
}

/// Adds the responses with which [`PathIds`](crate::extract::path_ids::PathIds) and
/// [`QueryParams`](crate::extract::query_params::QueryParams) reject a request.
fn add_parameter_errors(responses: &mut Responses, parameters: &[RefOr<Parameter>]) {
    let mut has_query = false;
    for parameter in parameters {
        let RefOr::T(parameter) = parameter else {
            unreachable!("annotations describe parameters in place");
        };
        if parameter.parameter_in == ParameterIn::Path {
            let name = &parameter.name;
            let detail = format!("Path parameter \"{name}\" must be an integer.");
            add_response(
                responses,
                400,
                "An id in the path is not an integer.",
                &[&detail],
            );
        } else {
            has_query = true;
        }
    }
    if has_query {
        let detail =
            format!("Query parameter \"limit\" must be a whole number from 1 to {MAX_PAGE_SIZE}.");
        add_response(
            responses,
            400,
            "A query parameter is invalid or repeated.",
            &[&detail],
        );
    }
}

/// Adds the responses with which [`JsonBody`](crate::extract::json_body::JsonBody) rejects a request.
fn add_body_errors(responses: &mut Responses) {
    add_response(
        responses,
        400,
        "The request body is malformed.",
        &[
            "Request body is not valid JSON.",
            "Request body must be a JSON object.",
            "Field \"...\" is required and must be a string.",
        ],
    );
    add_response(
        responses,
        408,
        "The request body did not arrive within 30 seconds.",
        &["Request body did not arrive in time."],
    );
    add_response(
        responses,
        413,
        "The request body is too large.",
        &["Request body too large."],
    );
    add_response(
        responses,
        415,
        "The media type of the request body is not JSON, or the body has a content coding.",
        &[
            "Content-Type must be application/json.",
            "Content-Encoding is not supported.",
        ],
    );
}

fn add_upstream_errors(responses: &mut Responses) {
    add_response(
        responses,
        503,
        "An upstream service is unavailable or overloaded.",
        &[
            "Service temporarily unavailable.",
            "Service is busy, try again.",
        ],
    );
    add_response(
        responses,
        504,
        "An upstream service did not respond in time.",
        &["Upstream timed out."],
    );
}

/// Adds the headers that every response with this status has. Turns the example of an annotation, which is only a text,
/// into a body.
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
    match status {
        "401" => add_header(
            response,
            "WWW-Authenticate",
            String::schema(),
            variant.challenge,
        ),
        "405" => add_header(
            response,
            "Allow",
            String::schema(),
            "The methods that the path supports.",
        ),
        "429" | "503" => {
            let schema = match status {
                "429" => u64::schema(),
                _ => ObjectBuilder::new().schema_type(Type::Integer).into(),
            };
            add_header(
                response,
                "Retry-After",
                schema,
                "The seconds to wait before the next attempt.",
            );
        }
        _ => {}
    }
    let text_field = if is_error { "detail" } else { "message" };
    for content in response.content.values_mut() {
        if let RefOr::T(content) = content
            && let Some(Value::String(text)) = &content.example
        {
            content.example = Some(json!({ text_field: text }));
        }
    }
}

/// Adds the description of a header to a response, unless the annotation has one.
fn add_header(response: &mut Response, name: &str, schema: RefOr<Schema>, description: &str) {
    let header = HeaderBuilder::new()
        .schema(Some(schema))
        .description(Some(description));
    response
        .headers
        .entry(name.to_owned())
        .or_insert(header.build().into());
}
