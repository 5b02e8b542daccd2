//! Concurrent reads share calls.
//!
//! By the rule of [`rolegate_batcher`], a read joins only a call that has not been sent, so it returns
//! what was stored after it was asked for. A lone read is a plain `GetPost`; many share one
//! `BatchGetPosts`.

use crate::{Post, wire::Wire};
use rolegate_auth_client::{
    CallError, Reason,
    service_client::{Asker, DECISION, Replicas, SharedCall},
};
use rolegate_batcher::{Batcher, Limits};
use rolegate_proto::{
    RequestId,
    posts_v1::{BatchGetPostsRequest, GetPostRequest},
};
use std::{collections::HashMap, num::NonZero, time::Duration};
use tokio::time::timeout_at;

/// What posts-service takes at the most.
const BATCH: NonZero<usize> = NonZero::new(64).expect("not zero");
/// One call under way makes the largest batches, which cost both sides least for each post.
const IN_FLIGHT: NonZero<usize> = NonZero::new(1).expect("not zero");
/// A call that takes this long holds the others up no longer.
const PATIENCE: Duration = Duration::from_millis(20);
const MOST_IN_FLIGHT: NonZero<usize> = NonZero::new(16).expect("not zero");

/// Reads posts by id. Clones share their calls.
#[derive(Clone, Debug)]
pub(crate) struct Reads {
    shared: Batcher<Item, Result<Post, CallError>>,
}

struct Item {
    id: i64,
    asker: Asker,
}

impl Reads {
    pub(crate) fn new(replicas: Replicas<Wire>) -> Self {
        let limits = Limits {
            batch: BATCH,
            in_flight: IN_FLIGHT,
            patience: PATIENCE,
            most_in_flight: MOST_IN_FLIGHT,
        };
        let shared = Batcher::new(limits, move |items| read(replicas.clone(), items));
        Self { shared }
    }

    /// See [`Batcher::observe`].
    pub(crate) fn observe(&self, observer: impl Fn(usize) + Send + Sync + 'static) {
        self.shared.observe(observer);
    }

    /// The post with this id; every read has a deadline of its own.
    pub(crate) async fn post(
        &self,
        id: i64,
        request_id: Option<RequestId>,
    ) -> Result<Post, CallError> {
        let asker = Asker::with_time(DECISION, request_id);
        let deadline = asker.deadline();
        match timeout_at(deadline, self.shared.submit(Item { id, asker })).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_lost)) => Err(CallError::Unavailable),
            Err(_elapsed) => Err(CallError::DeadlineExceeded),
        }
    }
}

/// One call for all of them; the askers have timers of their own.
async fn read(replicas: Replicas<Wire>, items: Vec<Item>) -> Vec<Result<Post, CallError>> {
    let call = SharedCall::of(items.iter().map(|item| &item.asker));
    if let [item] = &items[..] {
        return vec![read_one(&replicas, &call, item.id).await];
    }
    let mut post_ids: Vec<i64> = items.iter().map(|item| item.id).collect();
    post_ids.sort_unstable();
    post_ids.dedup();
    let answer = call.make(BatchGetPostsRequest { post_ids }, |request| {
        let replicas = replicas.clone();
        async move {
            let mut lease = replicas.lease().await?;
            lease.client.0.batch_get_posts(request).await
        }
    });
    let posts = answer.await.and_then(|answer| {
        let posts = answer.posts.into_iter().map(|post| Ok((post.id, Post::try_from(post)?)));
        posts.collect::<Result<HashMap<i64, Post>, CallError>>()
    });
    let not_found = || CallError::local(Reason::PostNotFound);
    match posts {
        Ok(posts) => {
            let of = |item: &Item| posts.get(&item.id).cloned().ok_or_else(not_found);
            items.iter().map(of).collect()
        }
        Err(error) => vec![Err(error); items.len()],
    }
}

async fn read_one(
    replicas: &Replicas<Wire>,
    call: &SharedCall,
    post_id: i64,
) -> Result<Post, CallError> {
    let answer = call.make(GetPostRequest { post_id }, |request| {
        let replicas = replicas.clone();
        async move {
            let mut lease = replicas.lease().await?;
            lease.client.0.get_post(request).await
        }
    });
    Post::required(answer.await?.post)
}
