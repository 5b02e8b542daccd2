//! Lists the record of what happened: everything for admins at `/audit`, and a user's own entries at `/profile/audit`.

use super::{JsonResult, rfc3339};
use crate::{
    extract::query_params::QueryParams,
    openapi::{
        parameters::{limit_parameter, positive_parameter, query_parameter},
        tags,
    },
};
use axum::Json;
use rolegate_auth_client::{
    ActingClient, AuditEntry, AuditPage, AuditQuery, CallError,
    axum::{ApiError, CurrentUser},
};
use rolegate_proto::time;
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

/// What happened once.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditEntry)]
pub(crate) struct AuditEntryResponse {
    /// In the order of the changes, without gaps except after a restore.
    #[schema(minimum = 1, example = 7)]
    revision: i64,
    /// RFC 3339 in UTC, to the second.
    #[schema(format = DateTime, example = "2026-11-27T12:35:17.000Z")]
    time: String,
    #[schema(example = "role_changed")]
    event: String,
    /// The user to whom it happened; null if unknown.
    #[schema(required, example = 2)]
    user_id: Option<i64>,
    /// The name that the user had; null if unknown or erased.
    #[schema(required, example = "ada")]
    username: Option<String>,
    /// Who did it; null for the operator, and for a client that is unknown.
    #[schema(required, example = 1)]
    actor_id: Option<i64>,
    /// The name that the actor had.
    #[schema(required, example = "admin")]
    actor: Option<String>,
    /// The API key by which the actor did it.
    #[schema(required)]
    actor_key: Option<i64>,
    /// The session by which the actor did it.
    #[schema(required)]
    actor_session: Option<i64>,
    /// The address of the client; null if unknown, erased, or another person's in `/profile/audit`.
    #[schema(required, example = "203.0.113.9")]
    client_address: Option<String>,
    #[schema(required, example = "4161456a68c64d63a985b74b7ad5dabb")]
    request_id: Option<String>,
    /// What changed; never a secret.
    #[schema(example = json!({"from": "user", "to": "author"}))]
    details: Map<String, Value>,
}

/// A page of what happened, the newest first.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditPage)]
pub(crate) struct AuditResponse {
    entries: Vec<AuditEntryResponse>,
    /// The `after` of the next page, null on the last page.
    #[schema(required, example = 7)]
    next: Option<i64>,
    /// Only there, and true, if the first page may lack entries that were written before it was asked for.
    #[serde(skip_serializing_if = "Not::not")]
    #[schema(required = false, example = true)]
    incomplete: bool,
}

impl TryFrom<AuditPage> for AuditResponse {
    type Error = CallError;

    fn try_from(page: AuditPage) -> Result<Self, CallError> {
        let entries = page.entries.into_iter().map(TryInto::try_into);
        Ok(Self {
            entries: entries.collect::<Result<_, _>>()?,
            next: page.next,
            incomplete: page.incomplete,
        })
    }
}

impl TryFrom<AuditEntry> for AuditEntryResponse {
    type Error = CallError;

    fn try_from(entry: AuditEntry) -> Result<Self, CallError> {
        Ok(Self {
            revision: entry.revision,
            time: rfc3339(time::from_message(entry.time).ok_or(CallError::Malformed)?),
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

/// The query parameters of a user's own page.
struct OwnAuditFilters;

impl IntoParams for OwnAuditFilters {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![
            limit_parameter("Maximum number of entries."),
            positive_parameter(
                "after",
                "Only revisions below this one: the `next` of the page before.",
            ),
        ]
    }
}

/// The query parameters of the page for admins.
struct AuditFilters;

impl IntoParams for AuditFilters {
    fn into_params(location: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let event = ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some("^[a-z_]{1,64}$"));
        let mut parameters = OwnAuditFilters::into_params(location);
        parameters.extend([
            positive_parameter("user_id", "Only what happened to this user."),
            positive_parameter("actor_id", "Only what this user did."),
            query_parameter("event", "Only this event.", event),
        ]);
        parameters
    }
}

fn query(params: &QueryParams, names: &[&str]) -> Result<AuditQuery, ApiError> {
    params.expect_only(names)?;
    Ok(AuditQuery {
        after: params.positive("after")?,
        limit: params.limit()?,
        user_id: params.positive("user_id")?,
        actor_id: params.positive("actor_id")?,
        event: params.event("event")?.unwrap_or_default().to_owned(),
        own: false,
    })
}

/// List what happened
///
/// Changes of users, their credentials and roles, sign-ins and refusals, the newest first.
#[utoipa::path(
    get,
    path = "/audit",
    tag = tags::ACCESS,
    params(AuditFilters),
    responses((status = 200, body = AuditResponse))
)]
pub(crate) async fn list_audit(
    client: ActingClient,
    params: QueryParams,
) -> JsonResult<AuditResponse> {
    let query = query(&params, &["limit", "after", "user_id", "actor_id", "event"])?;
    Ok(Json(client.list_audit(query).await?.try_into()?))
}

/// List what happened to the current user
///
/// Without the addresses from which others acted.
#[utoipa::path(
    get,
    path = "/profile/audit",
    tag = tags::ACCOUNTS,
    params(OwnAuditFilters),
    responses((status = 200, body = AuditResponse))
)]
pub(crate) async fn list_own_audit(
    // Rejects an invalid token before the query is checked. For admins, the layer of their routes does so.
    _: CurrentUser,
    client: ActingClient,
    params: QueryParams,
) -> JsonResult<AuditResponse> {
    let query = AuditQuery {
        own: true,
        ..query(&params, &["limit", "after"])?
    };
    Ok(Json(client.list_audit(query).await?.try_into()?))
}
