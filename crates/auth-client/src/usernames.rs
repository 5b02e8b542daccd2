//! Concurrent look-ups of names share calls.
//!
//! By the rule of [`rolegate_batcher`], a look-up joins only a call that has not been sent: a name does
//! not change, but its user may be deleted, and is gone for whoever asks after that.

use crate::{
    CallError,
    deadline::DECISION,
    replicas::Replicas,
    shared_call::{Asker, SharedCall},
};
use rolegate_batcher::{Batcher, Limits};
use rolegate_proto::{RequestId, auth_v1::BatchGetUsersRequest};
use std::{collections::HashMap, iter, num::NonZero, time::Duration};
use tokio::time::timeout_at;

/// What auth-service takes at the most.
const BATCH: NonZero<usize> = NonZero::new(256).expect("not zero");
/// As for decisions: one call under way makes the largest batches.
const IN_FLIGHT: NonZero<usize> = NonZero::new(1).expect("not zero");
const PATIENCE: Duration = Duration::from_millis(20);
const MOST_IN_FLIGHT: NonZero<usize> = NonZero::new(16).expect("not zero");

/// Looks names up. Clones share their calls.
#[derive(Clone, Debug)]
pub(crate) struct Usernames {
    replicas: Replicas,
    shared: Batcher<Item, Result<Option<String>, CallError>>,
}

struct Item {
    id: i64,
    asker: Asker,
}

impl Usernames {
    pub(crate) fn new(replicas: Replicas) -> Self {
        let limits = Limits {
            batch: BATCH,
            in_flight: IN_FLIGHT,
            patience: PATIENCE,
            most_in_flight: MOST_IN_FLIGHT,
        };
        let of_shared = replicas.clone();
        let shared = Batcher::new(limits, move |items| look_up(of_shared.clone(), items));
        Self { replicas, shared }
    }

    /// See [`Batcher::observe`].
    pub(crate) fn observe(&self, observer: impl Fn(usize) + Send + Sync + 'static) {
        self.shared.observe(observer);
    }

    /// The names of the users with these ids; ids that nobody has are left out. Several are a batch
    /// already and need no company; a lone one shares its call.
    pub(crate) async fn of(
        &self,
        ids: &[i64],
        request_id: Option<RequestId>,
    ) -> Result<HashMap<i64, String>, CallError> {
        let asker = Asker::with_time(DECISION, request_id);
        let deadline = asker.deadline();
        if let &[id] = ids {
            let name = timeout_at(deadline, self.shared.submit(Item { id, asker })).await;
            let name = name.map_err(|_elapsed| CallError::DeadlineExceeded)?;
            let name = name.map_err(|_lost| CallError::Unavailable)??;
            return Ok(name.into_iter().map(|name| (id, name)).collect());
        }
        let call = SharedCall::of(iter::once(&asker));
        let mut names = HashMap::with_capacity(ids.len());
        for ids in ids.chunks(BATCH.get()) {
            names.extend(ask(&self.replicas, &call, ids.to_vec()).await?);
        }
        Ok(names)
    }
}

/// One call for all of them; many may ask for the same user.
async fn look_up(replicas: Replicas, items: Vec<Item>) -> Vec<Result<Option<String>, CallError>> {
    let mut ids: Vec<i64> = items.iter().map(|item| item.id).collect();
    ids.sort_unstable();
    ids.dedup();
    let call = SharedCall::of(items.iter().map(|item| &item.asker));
    match ask(&replicas, &call, ids).await {
        Ok(names) => items.iter().map(|item| Ok(names.get(&item.id).cloned())).collect(),
        Err(error) => vec![Err(error); items.len()],
    }
}

async fn ask(
    replicas: &Replicas,
    call: &SharedCall,
    ids: Vec<i64>,
) -> Result<HashMap<i64, String>, CallError> {
    let answer = call.make(BatchGetUsersRequest { ids }, |request| {
        let replicas = replicas.clone();
        async move {
            let mut lease = replicas.lease().await?;
            lease.client.batch_get_users(request).await
        }
    });
    Ok(answer.await?.users.into_iter().map(|user| (user.id, user.username)).collect())
}
