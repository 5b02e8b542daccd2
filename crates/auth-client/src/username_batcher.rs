//! Concurrent lookups of usernames share calls.

use crate::Client;
use rolegate_batcher::answer_by_key;
use rolegate_grpc_client::{BatchCall, CallBatcher, CallError};
use rolegate_proto::{RequestId, auth_v1::BatchGetUsersRequest, limits::MAX_USERNAME_BATCH};
use std::collections::HashMap;

pub(crate) fn username_batcher(client: Client) -> CallBatcher<i64, Option<String>> {
    CallBatcher::new(MAX_USERNAME_BATCH, move |ids, call| {
        #[cfg(feature = "metrics")]
        rolegate_telemetry::metrics::observe_size(&crate::metrics::USERNAMES, ids.len());
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
    Ok(response.users.into_iter().map(|user| (user.id, user.username)).collect())
}
