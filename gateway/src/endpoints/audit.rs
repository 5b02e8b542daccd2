//! Serves the audit record: all entries at `/audit`, for admins, and a user's own entries at `/profile/audit`.

use super::{JsonResult, convert_all, required_rfc3339};
use crate::{
    extract::query_params::{QueryParams, invalid_query},
    openapi::parameters::{
        limit_parameter, positive_parameter, query_parameter, time_parameter, username_parameter,
    },
};
use axum::Json;
use rolegate_auth_client::{
    ActingClient, CallError,
    axum::{ApiError, CurrentUser},
};
use rolegate_proto::auth_v1::{AuditEntry, EventGroup, ListAuditRequest};
use serde::Serialize;
use serde_json::{Map, Value};
use std::ops::Not;
use utoipa::{
    IntoParams, ToSchema,
    openapi::{
        ObjectBuilder, Type,
        path::{Parameter, ParameterIn},
    },
};

/// An entry of the audit record: a change, a sign-in or a refusal.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditEntry)]
pub(crate) struct AuditEntryResponse {
    /// The number of the entry. Entries are numbered in the order of the changes, without gaps except after a restore.
    #[schema(minimum = 1, example = 7)]
    revision: i64,
    /// When it happened, as RFC 3339 in UTC, to the second.
    #[schema(format = DateTime, example = "2026-11-27T12:35:17.000Z")]
    time: String,
    #[schema(example = "role_changed")]
    event: String,
    /// The id of the user to whom it happened. Null if it is unknown.
    #[schema(required, example = 2)]
    user_id: Option<i64>,
    /// The username of that user at the time. Null if it is unknown or erased.
    #[schema(required, example = "ada")]
    username: Option<String>,
    /// The id of the user who did it. Null for an operator, and for an unknown client.
    #[schema(required, example = 1)]
    actor_id: Option<i64>,
    /// The username of the actor at the time.
    #[schema(required, example = "admin")]
    actor: Option<String>,
    /// The id of the API key that the actor used.
    #[schema(required)]
    actor_key: Option<i64>,
    /// The id of the session that the actor used.
    #[schema(required)]
    actor_session: Option<i64>,
    /// The address of the client. Null if it is unknown or erased. In `/profile/audit`, it is also null if another user
    /// acted.
    #[schema(required, example = "203.0.113.9")]
    client_address: Option<String>,
    #[schema(required, example = "4161456a68c64d63a985b74b7ad5dabb")]
    request_id: Option<String>,
    /// The details of the change, which never contain a secret.
    #[schema(example = json!({"from": "user", "to": "author"}))]
    details: Map<String, Value>,
}

/// A page of the audit record, with the newest entry first.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditPage)]
pub(crate) struct AuditResponse {
    entries: Vec<AuditEntryResponse>,
    /// The value of `after` for the next page. Null on the last page.
    #[schema(required, example = 7)]
    next: Option<i64>,
    /// True if the first page may lack entries that were written before the request. Missing otherwise.
    #[serde(skip_serializing_if = "Not::not")]
    #[schema(required = false, example = true)]
    incomplete: bool,
}

impl TryFrom<AuditEntry> for AuditEntryResponse {
    type Error = CallError;

    fn try_from(entry: AuditEntry) -> Result<Self, CallError> {
        Ok(Self {
            revision: entry.revision,
            time: required_rfc3339(entry.time)?,
            event: entry.event,
            user_id: entry.user_id,
            username: entry.username,
            actor_id: entry.actor_id,
            actor: entry.actor,
            actor_key: entry.actor_key,
            actor_session: entry.actor_session,
            client_address: entry.client_address,
            request_id: entry.request_id,
            details: serde_json::from_str(&entry.details).map_err(|_| CallError::Malformed)?,
        })
    }
}

/// The query parameters of `GET /profile/audit`.
struct OwnAuditFilters;

impl IntoParams for OwnAuditFilters {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![
            limit_parameter("The maximum number of entries on the page."),
            positive_parameter(
                "after",
                "Return only entries with a lower revision. Pass the `next` of the previous page.",
            ),
        ]
    }
}

/// The query parameters of `GET /audit`.
struct AuditFilters;

impl IntoParams for AuditFilters {
    fn into_params(location: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let event = ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some("^[a-z_]{1,64}$"));
        let mut parameters = OwnAuditFilters::into_params(location);
        parameters.extend([
            positive_parameter("user_id", "Return only what happened to this user."),
            positive_parameter("actor_id", "Return only what this user did."),
            query_parameter("event", "Return only entries of this event.", event),
            query_parameter(
                "events",
                "Return only entries of this group of events. It cannot be combined with `event`.",
                ObjectBuilder::new()
                    .schema_type(Type::String)
                    .enum_values(Some(EVENT_GROUPS)),
            ),
            username_parameter(
                "username",
                "Return only what happened to users who had exactly this name then.",
            ),
            username_parameter(
                "actor",
                "Return only what users did who had exactly this name then.",
            ),
            time_parameter("since", "Return only entries from this time on."),
            time_parameter("before", "Return only entries from before this time."),
        ]);
        parameters
    }
}

/// The values of `events`.
const EVENT_GROUPS: [&str; 3] = ["sign-ins", "changes", "refusals"];

fn event_group(params: &QueryParams) -> Result<EventGroup, ApiError> {
    let group = params.one_of("events", EVENT_GROUPS)?;
    if group.is_some() && params.get("event")?.is_some() {
        return Err(invalid_query(
            "Query parameter \"events\" cannot be combined with \"event\".",
        ));
    }
    Ok(match group {
        Some("sign-ins") => EventGroup::SignIns,
        Some("changes") => EventGroup::Changes,
        Some("refusals") => EventGroup::Refusals,
        _ => EventGroup::Unspecified,
    })
}

fn query(params: &QueryParams, names: &[&str]) -> Result<ListAuditRequest, ApiError> {
    params.expect_only(names)?;
    Ok(ListAuditRequest {
        username: params.get("username")?.unwrap_or_default().to_owned(),
        actor_username: params.get("actor")?.unwrap_or_default().to_owned(),
        event_group: event_group(params)?.into(),
        since: params.time("since")?,
        before: params.time("before")?,
        after: params.positive("after")?,
        page_size: params.page_size()?,
        user_id: params.positive("user_id")?,
        actor_id: params.positive("actor_id")?,
        event: params.event("event")?.unwrap_or_default().to_owned(),
        own: false,
    })
}

async fn list(client: &ActingClient, query: ListAuditRequest) -> JsonResult<AuditResponse> {
    // An auth-service of the previous release ignores the newer filters, and sends entries that they do not select.
    let needs_new_fields = !query.username.is_empty()
        || !query.actor_username.is_empty()
        || query.event_group != 0
        || query.since.is_some()
        || query.before.is_some();
    let page = client.send(query).await?;
    if needs_new_fields && !page.follows_request {
        return Err(CallError::Malformed.into());
    }
    Ok(Json(AuditResponse {
        entries: convert_all(page.entries)?,
        next: page.next_after,
        incomplete: page.incomplete,
    }))
}

/// List audit entries
///
/// Returns changes of users, credentials and roles, sign-ins, and refusals. The newest entry comes first. Only admins
/// may call this endpoint.
#[utoipa::path(
    get,
    path = "/audit",
    params(AuditFilters),
    responses((status = 200, body = AuditResponse))
)]
pub(crate) async fn list_audit(
    client: ActingClient,
    params: QueryParams,
) -> JsonResult<AuditResponse> {
    let names = [
        "limit", "after", "user_id", "actor_id", "event", "events", "username", "actor", "since",
        "before",
    ];
    let query = query(&params, &names)?;
    list(&client, query).await
}

/// List the audit entries of the current user
///
/// Returns what happened to the current user. The newest entry comes first. The client addresses of other users are
/// left out. Any user may call this endpoint.
#[utoipa::path(
    get,
    path = "/profile/audit",
    params(OwnAuditFilters),
    responses((status = 200, body = AuditResponse))
)]
pub(crate) async fn list_own_audit(
    // Rejects an invalid token before the query is checked. On the routes for admins, the guard does this.
    _: CurrentUser,
    client: ActingClient,
    params: QueryParams,
) -> JsonResult<AuditResponse> {
    let query = ListAuditRequest {
        own: true,
        ..query(&params, &["limit", "after"])?
    };
    list(&client, query).await
}
