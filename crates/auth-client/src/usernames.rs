//! Concurrent look-ups of names share calls.
//!
//! By the rule of [`group_commit`], a look-up joins only a call that has not been sent: a name does
//! not change, but its user may be deleted, and is gone for whoever asks after that.

use crate::{
    CallError,
    deadline::DECISION,
    replicas::Replicas,
    shared_call::{Asker, SharedCall},
};
use auth_proto::{RequestId, auth_v1::BatchGetUsersRequest};
use futures_util::future::try_join_all;
use group_commit::{GroupCommit, Limits};
use std::{collections::HashMap, num::NonZero, time::Duration};
use tokio::time::{Instant, timeout_at};

/// What auth-service takes at the most.
const BATCH: NonZero<usize> = NonZero::new(256).expect("not zero");
/// As for decisions: one call under way makes the largest batches.
const IN_FLIGHT: NonZero<usize> = NonZero::new(1).expect("not zero");
const PATIENCE: Duration = Duration::from_millis(20);
const MOST_IN_FLIGHT: NonZero<usize> = NonZero::new(16).expect("not zero");

/// Looks names up. Clones share their calls.
#[derive(Clone, Debug)]
pub(crate) struct Usernames {
    shared: GroupCommit<Item, Result<Option<String>, CallError>>,
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
        let shared = GroupCommit::new(limits, move |items| look_up(replicas.clone(), items));
        Self { shared }
    }

    /// The names of the users with these ids; ids that nobody has are left out.
    pub(crate) async fn of(
        &self,
        ids: &[i64],
        request_id: Option<RequestId>,
    ) -> Result<HashMap<i64, String>, CallError> {
        let names = try_join_all(ids.iter().map(|&id| self.one(id, request_id)));
        let names = timeout_at(Instant::now() + DECISION, names).await;
        let names = names.map_err(|_elapsed| CallError::DeadlineExceeded)??;
        Ok(names.into_iter().flatten().collect())
    }

    async fn one(
        &self,
        id: i64,
        request_id: Option<RequestId>,
    ) -> Result<Option<(i64, String)>, CallError> {
        let asker = Asker::with_time(DECISION, request_id);
        let name = self.shared.submit(Item { id, asker }).await;
        Ok(name.map_err(|_lost| CallError::Unavailable)??.map(|name| (id, name)))
    }
}

/// One call for all of them; many may ask for the same user.
async fn look_up(replicas: Replicas, items: Vec<Item>) -> Vec<Result<Option<String>, CallError>> {
    let mut ids: Vec<i64> = items.iter().map(|item| item.id).collect();
    ids.sort_unstable();
    ids.dedup();
    let call = SharedCall::of(items.iter().map(|item| &item.asker));
    let answer = call.make(BatchGetUsersRequest { ids }, |request| {
        let replicas = replicas.clone();
        async move {
            let mut lease = replicas.lease().await?;
            lease.client.batch_get_users(request).await
        }
    });
    match answer.await {
        Ok(answer) => {
            let users = answer.users.into_iter();
            let names: HashMap<i64, String> = users.map(|user| (user.id, user.username)).collect();
            items.iter().map(|item| Ok(names.get(&item.id).cloned())).collect()
        }
        Err(error) => vec![Err(error); items.len()],
    }
}
