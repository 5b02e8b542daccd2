//! Concurrent lookups of usernames share calls.

use rolegate_batcher::answer_by_key;
use rolegate_grpc_client::{BalancedChannel, BatchCall, CallBatcher, CallError};
use rolegate_proto::{
    RequestId,
    auth_v1::{BatchGetUsersRequest, auth_service_client::AuthServiceClient},
    limits::MAX_USERNAME_BATCH,
};
use std::collections::HashMap;

type Client = AuthServiceClient<BalancedChannel>;

#[derive(Clone, Debug)]
pub(crate) struct UsernameBatcher {
    client: Client,
    batcher: CallBatcher<i64, Option<String>>,
}

impl UsernameBatcher {
    pub(crate) fn new(client: Client) -> Self {
        let batch_client = client.clone();
        let batcher = CallBatcher::new(MAX_USERNAME_BATCH, move |ids, call| {
            let client = batch_client.clone();
            answer_by_key(ids, async move |ids| get_users(&client, &call, ids).await)
        });
        Self { client, batcher }
    }

    pub(crate) fn observe(&self, observer: impl Fn(usize) + Send + Sync + 'static) {
        self.batcher.observe(observer);
    }

    /// The usernames by id, without ids that do not exist. One id shares its call; several are a batch
    /// already.
    pub(crate) async fn get(
        &self,
        ids: &[i64],
        request_id: Option<RequestId>,
    ) -> Result<HashMap<i64, String>, CallError> {
        if let &[id] = ids {
            let username = self.batcher.submit(id, request_id).await?;
            return Ok(username.into_iter().map(|username| (id, username)).collect());
        }
        let call = BatchCall::single(request_id);
        let mut usernames = HashMap::with_capacity(ids.len());
        for ids in ids.chunks(MAX_USERNAME_BATCH) {
            usernames.extend(get_users(&self.client, &call, ids.to_vec()).await?);
        }
        Ok(usernames)
    }
}

async fn get_users(
    client: &Client,
    call: &BatchCall,
    ids: Vec<i64>,
) -> Result<HashMap<i64, String>, CallError> {
    let response = call.send(BatchGetUsersRequest { ids }, |request| {
        let mut client = client.clone();
        async move { client.batch_get_users(request).await }
    });
    Ok(response.await?.users.into_iter().map(|user| (user.id, user.username)).collect())
}
