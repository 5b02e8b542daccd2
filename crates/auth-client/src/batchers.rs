//! Concurrent role decisions share calls, and so do lookups of usernames.

use crate::user::{Requirement, User};
use rolegate_batcher::answer_by_key;
use rolegate_grpc_client::{BalancedChannel, BatchCall, CallBatcher, CallError};
use rolegate_proto::{
    Reason, RequestId,
    auth_v1::{
        AuthorizeOutcome, AuthorizeRequest, BatchAuthorizeRequest, BatchGetUsersRequest,
        auth_service_client::AuthServiceClient, authorize_outcome::Outcome,
    },
    authorization::is_api_key,
    limits::{MAX_AUTHORIZE_BATCH, MAX_ROLES, MAX_TOKEN_LEN, MAX_USERNAME_BATCH},
};
#[cfg(feature = "metrics")]
use rolegate_telemetry::metrics::{Histogram, SIZE_BUCKETS, histogram, observe_size};
use secrecy::{ExposeSecret, SecretString};
#[cfg(feature = "metrics")]
use std::sync::LazyLock;
use std::{collections::HashMap, net::IpAddr};

pub(crate) type Client = AuthServiceClient<BalancedChannel>;

/// Role decisions in each call. All clients of a process share the metrics.
#[cfg(feature = "metrics")]
pub static DECISIONS: LazyLock<Histogram> = LazyLock::new(|| {
    let help = "Role decisions in one call to auth-service.";
    histogram("rolegate_client_batch_size_decisions", help, SIZE_BUCKETS)
});

/// Lookups of one username each in a call. Lookups of several are not batched further and not counted.
#[cfg(feature = "metrics")]
pub static USERNAMES: LazyLock<Histogram> = LazyLock::new(|| {
    let help = "Lookups of one username each in one call to auth-service.";
    histogram("rolegate_client_batch_size_usernames", help, SIZE_BUCKETS)
});

/// One decision alone is an `Authorize`, several are a `BatchAuthorize`.
pub(crate) fn authorize_batcher(client: Client) -> CallBatcher<AuthorizeRequest, User> {
    let send = move |items, call| decide(client.clone(), items, call);
    CallBatcher::new(MAX_AUTHORIZE_BATCH, send)
}

/// An item of a batch. A token that is too long is invalid, and so is a list of more roles than a service can
/// have; they would take the space of the others.
/// Only API keys need the address: auth-service audits their use.
pub(crate) fn authorize_request(
    access_token: &SecretString,
    requirement: Requirement<'_>,
    client_address: Option<IpAddr>,
) -> Result<AuthorizeRequest, CallError> {
    let access_token = access_token.expose_secret();
    let client_address = client_address.filter(|_| is_api_key(access_token));
    if access_token.len() > MAX_TOKEN_LEN {
        return Err(CallError::local(Reason::TokenInvalid));
    }
    if matches!(requirement, Requirement::Roles(roles) if roles.len() > MAX_ROLES) {
        return Err(CallError::local(Reason::RequestInvalid));
    }
    let requirement = Some(requirement.into());
    let client_address = client_address.map(|address| address.to_string());
    let access_token = access_token.to_owned();
    Ok(AuthorizeRequest {
        access_token,
        requirement,
        client_address,
        from_cookie: false,
    })
}

async fn decide(
    client: Client,
    mut items: Vec<AuthorizeRequest>,
    call: BatchCall,
) -> Vec<Result<User, CallError>> {
    let size = items.len();
    #[cfg(feature = "metrics")]
    observe_size(&DECISIONS, size);
    if size == 1
        && let Some(item) = items.pop()
    {
        let response = call.send(&client, item, Client::authorize).await;
        return vec![response.and_then(|response| User::try_from_response(response.user))];
    }
    let batch = BatchAuthorizeRequest { items };
    match call.send(&client, batch, Client::batch_authorize).await {
        // Outcomes belong to items by their order: with one missing, users would get another's.
        Ok(response) if response.outcomes.len() == size => {
            response.outcomes.into_iter().map(user).collect()
        }
        Ok(_) => vec![Err(CallError::Malformed); size],
        Err(error) => vec![Err(error); size],
    }
}

fn user(outcome: AuthorizeOutcome) -> Result<User, CallError> {
    match outcome.outcome {
        Some(Outcome::User(user)) => user.try_into(),
        Some(Outcome::RefusalReason(name)) => {
            Err(Reason::from_name(&name).map_or(CallError::Malformed, CallError::local))
        }
        None => Err(CallError::Malformed),
    }
}

pub(crate) fn username_batcher(client: Client) -> CallBatcher<i64, Option<String>> {
    CallBatcher::new(MAX_USERNAME_BATCH, move |ids, call| {
        #[cfg(feature = "metrics")]
        observe_size(&USERNAMES, ids.len());
        let client = client.clone();
        answer_by_key(ids, async move |ids| get_batch(&client, &call, ids).await)
    })
}

/// The usernames by id, in calls that are batches by themselves.
pub(crate) async fn get_usernames(
    client: &Client,
    ids: &[i64],
    request_id: Option<RequestId>,
) -> Result<HashMap<i64, String>, CallError> {
    let call = BatchCall::single(request_id);
    let mut usernames = HashMap::with_capacity(ids.len());
    for ids in ids.chunks(MAX_USERNAME_BATCH) {
        usernames.extend(get_batch(client, &call, ids.to_vec()).await?);
    }
    Ok(usernames)
}

async fn get_batch(
    client: &Client,
    call: &BatchCall,
    ids: Vec<i64>,
) -> Result<HashMap<i64, String>, CallError> {
    let message = BatchGetUsersRequest { ids };
    let response = call.send(client, message, Client::batch_get_users).await?;
    Ok(response
        .users
        .into_iter()
        .map(|user| (user.id, user.username))
        .collect())
}
