//! Looks up usernames by id. Concurrent lookups of single usernames share calls.

use rolegate_batcher::answer_by_key;
use rolegate_grpc_client::{Call, CallBatcher, CallContext, CallError, Client};
#[cfg(feature = "program")]
use rolegate_program::metrics::{Histogram, SIZE_BUCKETS, histogram, observe_size};
use rolegate_proto::{RequestId, auth_v1::BatchGetUsersRequest, limits::MAX_USERNAME_BATCH};
use std::collections::HashMap;
#[cfg(feature = "program")]
use std::sync::LazyLock;

/// The number of lookups of single usernames that share a call. A lookup of several usernames is a call of its
/// own, and is not counted here.
#[cfg(feature = "program")]
pub static USERNAMES: LazyLock<Histogram> = LazyLock::new(|| {
    let help = "Lookups of one username each in one call to auth-service.";
    histogram("rolegate_client_batch_size_usernames", help, SIZE_BUCKETS)
});

/// Batches lookups, each of one username. The outcome is `None` if the id does not exist.
pub(crate) type UsernameBatcher = CallBatcher<i64, Option<String>>;

pub(crate) fn username_batcher(client: Client) -> UsernameBatcher {
    CallBatcher::new(MAX_USERNAME_BATCH, move |ids, call| {
        #[cfg(feature = "program")]
        observe_size(&USERNAMES, ids.len());
        let client = client.clone();
        answer_by_key(ids, async move |ids| get_batch(&client, &call, ids).await)
    })
}

/// Returns usernames by id, with one call for every 256 ids. No other lookup joins these calls.
pub(crate) async fn get_usernames(
    client: &Client,
    ids: &[i64],
    request_id: Option<RequestId>,
) -> Result<HashMap<i64, String>, CallError> {
    let call = Call::read(CallContext {
        client_address: None,
        request_id,
    });
    let mut usernames = HashMap::with_capacity(ids.len());
    for ids in ids.chunks(MAX_USERNAME_BATCH) {
        usernames.extend(get_batch(client, &call, ids.to_vec()).await?);
    }
    Ok(usernames)
}

async fn get_batch(
    client: &Client,
    call: &Call,
    ids: Vec<i64>,
) -> Result<HashMap<i64, String>, CallError> {
    let message = BatchGetUsersRequest { ids };
    let response = call.send(client, message).await?;
    Ok(response
        .users
        .into_iter()
        .map(|user| (user.id, user.username))
        .collect())
}
