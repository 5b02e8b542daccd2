//! Merges concurrent reads of single users and opaque tokens into shared statements: see
//! [`rolegate_sql_store::BatchedReads`].

use super::{NAME, UserStore};
use crate::{
    tokens::TokenBearer,
    user::{Credentials, User},
};
use rolegate_proto::GroupName;
use rolegate_sql_store::{BatchKey, BatchLabels, BatchedReads as Reads};
use std::{hash::Hash, sync::Arc};

/// The key of a row, and the groups that the decision about the row requires. The statement that reads the row also
/// finds out which of these groups exist.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DecisionKey<K> {
    pub(crate) key: K,
    pub(crate) groups: Vec<GroupName>,
}

/// Returns the key of a read that requires no groups.
impl<K> From<K> for DecisionKey<K> {
    fn from(key: K) -> Self {
        Self {
            key,
            groups: Vec::new(),
        }
    }
}

impl<K> DecisionKey<K> {
    /// Splits keys into those of the rows and the groups that any of the decisions requires.
    fn split(decisions: &[Self]) -> (Vec<K>, Vec<GroupName>)
    where
        K: Clone,
    {
        let keys = decisions.iter().map(|decision| decision.key.clone());
        let mut groups: Vec<GroupName> = decisions
            .iter()
            .flat_map(|decision| decision.groups.iter().copied())
            .collect();
        groups.sort_unstable();
        groups.dedup();
        (keys.collect(), groups)
    }
}

impl<K: Ord + Hash + Clone + Send + Sync + 'static> BatchKey for DecisionKey<K> {
    type RowKey = K;

    fn row_key(&self) -> K {
        self.key.clone()
    }
}

pub(crate) struct BatchedReads {
    /// Reads users by id.
    pub(crate) users: Reads<UserStore, DecisionKey<i64>, User>,
    /// Reads users by name, each with the stored password hash.
    pub(crate) credentials: Reads<UserStore, DecisionKey<String>, Credentials>,
    /// Reads API keys and sessions by digest, each with its user.
    pub(crate) tokens: Reads<UserStore, DecisionKey<String>, TokenBearer>,
}

impl BatchedReads {
    pub(crate) fn new(store: &Arc<UserStore>) -> Self {
        let labels = |key| BatchLabels { store: NAME, key };
        Self {
            users: Reads::new(
                labels("id"),
                store,
                |store, keys| {
                    Box::pin(async move {
                        let (ids, groups) = DecisionKey::split(keys);
                        store.users_by_id(&ids, &groups).await
                    })
                },
                |user| user.id,
            ),
            credentials: Reads::new(
                labels("username"),
                store,
                |store, keys| {
                    Box::pin(async move {
                        let (usernames, groups) = DecisionKey::split(keys);
                        store.credentials_by_username(&usernames, &groups).await
                    })
                },
                |found| found.user.username.clone(),
            ),
            tokens: Reads::new(
                labels("api_key"),
                store,
                |store, keys| {
                    Box::pin(async move {
                        let (digests, groups) = DecisionKey::split(keys);
                        store.tokens_by_digest(&digests, &groups).await
                    })
                },
                |token| token.digest.clone(),
            ),
        }
    }
}
