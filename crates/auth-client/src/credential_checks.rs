//! Checks the credentials of HTTP Basic.
//!
//! Credentials that auth-service has in its cache need no password hash, so concurrent checks of such
//! credentials share calls. Each batch goes to the replica of its usernames, because every replica has its
//! own cache. All other checks are calls of their own. This client cannot see the cache; it assumes that
//! credentials that were verified once are in it.

use crate::{connections::Connections, requirement::Requirement, user::User};
use parking_lot::Mutex;
use rolegate_grpc_client::{
    BalancedChannel, Call, CallBatcher, CallContext, CallError, Client, ReplicaBatchers,
};
use rolegate_proto::{
    GroupName, Role,
    auth_v1::{
        BatchVerifyCredentialsRequest, BatchVerifyCredentialsResponse, VerifyCredentialsRequest,
        VerifyCredentialsResponse,
    },
    limits::{MAX_CREDENTIALS_BATCH, MAX_GROUPS, MAX_ROLES},
};
use secrecy::{ExposeSecret as _, SecretString};
use std::{
    collections::HashSet,
    hash::{BuildHasher as _, RandomState},
    sync::Arc,
};
use tonic::{Code, Status};

/// The maximum number of digests of credentials to remember, of 8 bytes each. At the maximum, all digests are
/// dropped. The next check of each of these credentials is then a call of its own.
const MAX_CACHED_DIGESTS: usize = 65_536;

/// Says what is accepted as the password of HTTP Basic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AcceptedPassword {
    /// The password of the user is accepted, and nothing else.
    Password,
    /// The password and active API keys of the user are accepted. With a key, the user has the lower of the
    /// stored role and the role of the key. Use it where the caller would accept the same key as a bearer
    /// token.
    PasswordOrApiKey,
}

#[derive(Debug)]
pub(crate) struct CredentialChecks {
    connections: Arc<Connections>,
    /// Batches of checks, one batcher for each replica. The outcome is `None` for credentials that the
    /// replica does not have in its cache.
    batchers: ReplicaBatchers<VerifyCredentialsRequest, Option<User>>,
    /// The digests of credentials that the replica may have in its cache. Only checks of these credentials are
    /// batched. A guess is sent alone, as a call that counts it as an attempt.
    cached_digests: Mutex<HashSet<u64>>,
    hash: RandomState,
    /// Counts the checks in progress, because each of them owns a clone.
    in_progress: Arc<()>,
}

impl CredentialChecks {
    pub(crate) fn new(connections: Arc<Connections>) -> Self {
        let passwords = connections.passwords.clone();
        let batchers = ReplicaBatchers::new(passwords, |passwords| {
            CallBatcher::new(MAX_CREDENTIALS_BATCH, move |requests, call| {
                verify_cached(passwords.clone(), requests, call)
            })
        });
        Self {
            connections,
            batchers,
            cached_digests: Mutex::default(),
            hash: RandomState::default(),
            in_progress: Arc::default(),
        }
    }

    pub(crate) async fn verify(
        &self,
        username: &str,
        password: &SecretString,
        accept: AcceptedPassword,
        requirement: Requirement<'_>,
        context: CallContext,
    ) -> Result<User, CallError> {
        let call = Call::hashing(context);
        let roles = requirement.roles();
        let groups = requirement.groups();
        let message = |client_address: Option<String>| VerifyCredentialsRequest {
            username: username.to_owned(),
            password: password.expose_secret().to_owned(),
            role_names: roles.iter().map(Role::to_string).collect(),
            group_names: groups.iter().map(GroupName::to_string).collect(),
            client_address,
            accept_api_keys: accept == AcceptedPassword::PasswordOrApiKey,
        };
        let _in_progress = Arc::clone(&self.in_progress);
        let digest = self.hash.hash_one((
            username,
            password.expose_secret(),
            accept,
            context.client_address,
        ));
        let can_share_call = self.has_others_in_progress()
            && roles.len() <= MAX_ROLES
            && groups.len() <= MAX_GROUPS
            && self.cached_digests.lock().contains(&digest);
        if can_share_call && let Some(batcher) = self.batchers.batcher_for(username) {
            let client_address = context.client_address.map(|address| address.to_string());
            let request = message(client_address);
            match batcher.submit(request, context.request_id).await {
                Ok(Some(user)) => return Ok(user),
                Err(error) if error != CallError::DeadlineExceeded => return Err(error),
                // A password check has a longer deadline than the shared call, so time is left for a call of
                // its own.
                Ok(None) | Err(_) => {}
            }
        }
        let client = self.connections.password_client_for(username);
        let response = call.send(&client, message(None)).await;
        // Credentials that were not in the cache this time are not batched the next time, because a replica
        // may cache nothing.
        if can_share_call || response.is_err() {
            self.cached_digests.lock().remove(&digest);
        } else {
            self.remember(digest);
        }
        User::try_from_response(response?.user)
    }

    /// Returns whether another check is in progress, because otherwise there is no call to share. The field
    /// and the calling check hold one clone each.
    fn has_others_in_progress(&self) -> bool {
        Arc::strong_count(&self.in_progress) > 2
    }

    fn remember(&self, digest: u64) {
        let mut digests = self.cached_digests.lock();
        if digests.len() < MAX_CACHED_DIGESTS {
            digests.insert(digest);
        } else {
            digests.clear();
        }
    }
}

/// Verifies credentials that a replica may have in its cache, with one call. The outcome for credentials that
/// are not in the cache is `None`.
async fn verify_cached(
    passwords: BalancedChannel,
    requests: Vec<VerifyCredentialsRequest>,
    call: Call,
) -> Vec<Result<Option<User>, CallError>> {
    let size = requests.len();
    // All requests of a batch belong to the same replica. If that replica is lost meanwhile, another one answers,
    // which has fewer of these credentials in its cache.
    let username = requests
        .first()
        .map(|request| &*request.username)
        .unwrap_or_default();
    let client = Client::new(passwords.for_key(username));
    let batch = BatchVerifyCredentialsRequest { items: requests };
    // The call is not repeated at another replica, because none has the same cache. An auth-service of the previous
    // release does not have this call. It is treated as one with an empty cache.
    let treat_as_empty = |status: Status| match status.code() {
        Code::Unimplemented => Ok(BatchVerifyCredentialsResponse {
            outcomes: vec![VerifyCredentialsResponse::default(); size],
        }),
        _ => Err(status),
    };
    let call = call.sent_once();
    let response = call.send_or(&client, batch, treat_as_empty).await;
    match response {
        // Outcomes belong to items by their order. If one were missing, users would get the outcomes of
        // others.
        Ok(response) if response.outcomes.len() == size => response
            .outcomes
            .into_iter()
            .map(|outcome| outcome.user.map(User::try_from).transpose())
            .collect(),
        Ok(_) => vec![Err(CallError::Malformed); size],
        Err(error) => vec![Err(error); size],
    }
}
