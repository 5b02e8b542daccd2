//! Checks of HTTP Basic. Those at the same time share calls to the replica of their usernames, which answers
//! what it remembers; the others are a call each.

use crate::{batchers::Client, user::User};
use rolegate_grpc_client::{
    BalancedChannel, BatchCall, CallBatcher, CallContext, CallError, PASSWORD_TIMEOUT,
    ReplicaBatchers, call,
};
use rolegate_proto::{
    Role,
    auth_v1::{
        BatchVerifyCredentialsRequest, BatchVerifyCredentialsResponse, VerifyCredentialsRequest,
    },
    limits::{MAX_CREDENTIALS_BATCH, MAX_ROLES},
};
use secrecy::{ExposeSecret as _, SecretString};
use std::{
    collections::HashSet,
    hash::{BuildHasher as _, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};
use tonic::{Code, Response};

/// Digests of 8 bytes; forgetting them costs each check a call of its own once.
const MAX_KNOWN: usize = 65_536;

#[derive(Debug)]
pub(crate) struct CredentialChecks {
    passwords: BalancedChannel,
    /// With `None` for what the replica does not remember.
    batchers: ReplicaBatchers<VerifyCredentialsRequest, Option<User>>,
    /// Digests of what the replica may remember. Only that is batched: a guess is one call, which counts it.
    known: Mutex<HashSet<u64>>,
    hash: RandomState,
    /// Each check in progress holds a clone.
    in_progress: Arc<()>,
}

impl CredentialChecks {
    pub(crate) fn new(passwords: BalancedChannel) -> Self {
        let batchers = ReplicaBatchers::new(passwords.clone(), |passwords| {
            let send = move |items, call| recall(passwords.clone(), items, call);
            CallBatcher::new(MAX_CREDENTIALS_BATCH, send)
        });
        let (known, hash, in_progress) = Default::default();
        Self { passwords, batchers, known, hash, in_progress }
    }

    pub(crate) async fn verify(
        &self,
        username: &str,
        password: &SecretString,
        roles: &[Role],
        context: CallContext,
    ) -> Result<User, CallError> {
        let deadline = Instant::now() + PASSWORD_TIMEOUT;
        let _in_progress = Arc::clone(&self.in_progress);
        let password = password.expose_secret();
        let message = |client_address| VerifyCredentialsRequest {
            username: username.to_owned(),
            password: password.to_owned(),
            role_names: roles.iter().map(Role::to_string).collect(),
            client_address,
        };
        let digest = self.hash.hash_one((username, password, context.client_address));
        // A lone check has nobody to share with.
        let may_share = Arc::strong_count(&self.in_progress) > 2
            && roles.len() <= MAX_ROLES
            && self.known().contains(&digest);
        if may_share && let Some(batcher) = self.batchers.of_key(username) {
            let item = message(context.client_address.map(|address| address.to_string()));
            match batcher.submit(item, context.request_id).await {
                Ok(Some(user)) => return Ok(user),
                Err(error) if error != CallError::DeadlineExceeded => return Err(error),
                // A password has more time than a read.
                Ok(None) | Err(_) => {}
            }
        }
        let time = deadline.saturating_duration_since(Instant::now());
        let client = Client::new(self.passwords.for_key(username));
        let request = context.request(message(None));
        let response = call(time, &client, request, Client::verify_credentials).await;
        let mut known = self.known();
        // What was not remembered this time is not asked for the next time, as a replica may remember nothing.
        if may_share || response.is_err() {
            known.remove(&digest);
        } else if known.len() < MAX_KNOWN {
            known.insert(digest);
        } else {
            known.clear();
        }
        drop(known);
        User::try_from_response(response?.user)
    }

    fn known(&self) -> MutexGuard<'_, HashSet<u64>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn recall(
    passwords: BalancedChannel,
    items: Vec<VerifyCredentialsRequest>,
    call: BatchCall,
) -> Vec<Result<Option<User>, CallError>> {
    let size = items.len();
    // All have the same replica. If it is lost meanwhile, another one remembers less.
    let username = items.first().map(|item| &*item.username).unwrap_or_default();
    let client = Client::new(passwords.for_key(username));
    let batch = BatchVerifyCredentialsRequest { items };
    let response = call.send_once(&client, batch, async |client, batch| {
        let response = client.batch_verify_credentials(batch).await;
        // The version before.
        let is_old = response.as_ref().is_err_and(|error| error.code() == Code::Unimplemented);
        if is_old { Ok(Response::new(BatchVerifyCredentialsResponse::default())) } else { response }
    });
    match response.await {
        Ok(BatchVerifyCredentialsResponse { outcomes }) if outcomes.is_empty() => {
            vec![Ok(None); size]
        }
        // Outcomes belong to items by their order: with one missing, users would get another's.
        Ok(BatchVerifyCredentialsResponse { outcomes }) if outcomes.len() == size => {
            let user = |user: Option<_>| user.map(User::try_from).transpose();
            outcomes.into_iter().map(|outcome| user(outcome.user)).collect()
        }
        Ok(_) => vec![Err(CallError::Malformed); size],
        Err(error) => vec![Err(error); size],
    }
}
