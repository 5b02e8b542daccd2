//! Checks of HTTP Basic. Those at the same time share calls to the replica of their usernames, which answers
//! what it remembers; the others are a call each.

use super::AuthClient;
use crate::{batchers::Client, user::User};
use parking_lot::Mutex;
use rolegate_grpc_client::{
    BalancedChannel, BatchCall, CallBatcher, CallContext, CallError, PASSWORD_TIMEOUT,
    READ_TIMEOUT, ReplicaBatchers, call,
};
use rolegate_proto::{
    Role,
    auth_v1::{
        BatchVerifyCredentialsRequest, BatchVerifyCredentialsResponse, VerifyCredentialsRequest,
        VerifyCredentialsResponse,
    },
    limits::{MAX_CREDENTIALS_BATCH, MAX_ROLES},
};
use secrecy::{ExposeSecret as _, SecretString};
use std::{
    collections::HashSet,
    hash::{BuildHasher as _, RandomState},
    sync::Arc,
    time::Instant,
};
use tonic::{Code, Response};

/// Digests of 8 bytes; forgetting them costs each check a call of its own once.
const MAX_KNOWN: usize = 65_536;

#[derive(Debug)]
pub(super) struct CredentialChecks {
    /// With `None` for what the replica does not remember.
    batchers: ReplicaBatchers<VerifyCredentialsRequest, Option<User>>,
    /// Digests of what the replica may remember. Only that is batched: a guess is one call, which counts it.
    known: Mutex<HashSet<u64>>,
    hash: RandomState,
    /// Each check in progress holds a clone.
    in_progress: Arc<()>,
}

impl CredentialChecks {
    pub(super) fn new(passwords: BalancedChannel) -> Self {
        let batchers = ReplicaBatchers::new(passwords, |passwords| {
            let send = move |items, call| recall(passwords.clone(), items, call);
            CallBatcher::new(MAX_CREDENTIALS_BATCH, send)
        });
        let (known, hash, in_progress) = Default::default();
        Self {
            batchers,
            known,
            hash,
            in_progress,
        }
    }
}

/// What the password of HTTP Basic may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AcceptedPassword {
    /// The password of the user.
    Password,
    /// The password, or a live API key of the user, who then has the lower of the stored role and the key's. For where
    /// the caller would accept the same key as a bearer token.
    PasswordOrApiKey,
}

impl AuthClient {
    /// Checks a username and a password, for HTTP Basic (RFC 7617). The caller compares the user's role with
    /// `roles`, which are sent so that one that does not exist is an error. Concurrent checks share calls as
    /// far as auth-service remembers their outcome.
    pub async fn verify_credentials(
        &self,
        username: &str,
        password: &SecretString,
        accept: AcceptedPassword,
        roles: &[Role],
        context: CallContext,
    ) -> Result<User, CallError> {
        let checks = &self.0.checks;
        let deadline = Instant::now() + PASSWORD_TIMEOUT;
        let _in_progress = Arc::clone(&checks.in_progress);
        let password = password.expose_secret();
        let message = |client_address| VerifyCredentialsRequest {
            username: username.to_owned(),
            password: password.to_owned(),
            role_names: roles.iter().map(Role::to_string).collect(),
            client_address,
            accept_api_keys: accept == AcceptedPassword::PasswordOrApiKey,
        };
        let digest = checks
            .hash
            .hash_one((username, password, accept, context.client_address));
        // Without another check in progress there is no call to share.
        let may_share = Arc::strong_count(&checks.in_progress) > 2
            && roles.len() <= MAX_ROLES
            && checks.known.lock().contains(&digest);
        if may_share && let Some(batcher) = checks.batchers.of_key(username) {
            let item = message(context.client_address.map(|address| address.to_string()));
            match batcher.submit(item, context.request_id).await {
                Ok(Some(user)) => return Ok(user),
                Err(error) if error != CallError::DeadlineExceeded => return Err(error),
                // A password has more time than a read.
                Ok(None) | Err(_) => {}
            }
        }
        let time = deadline.saturating_duration_since(Instant::now());
        let client = self.checks_of(username);
        let request = context.request(message(None));
        let response = call(time, &client, request, Client::verify_credentials).await;
        let mut known = checks.known.lock();
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
}

async fn recall(
    passwords: BalancedChannel,
    items: Vec<VerifyCredentialsRequest>,
    batch_call: BatchCall,
) -> Vec<Result<Option<User>, CallError>> {
    let size = items.len();
    // All have the same replica. If it is lost meanwhile, another one remembers less.
    let username = items
        .first()
        .map(|item| &*item.username)
        .unwrap_or_default();
    let client = Client::new(passwords.for_key(username));
    let batch = BatchVerifyCredentialsRequest { items };
    // Once, because no other replica remembers the same.
    let response = call(
        READ_TIMEOUT,
        &client,
        batch_call.request(batch),
        async |client, batch| {
            match client.batch_verify_credentials(batch).await {
                // The version before.
                Err(error) if error.code() == Code::Unimplemented => {
                    let outcomes = vec![VerifyCredentialsResponse::default(); size];
                    Ok(Response::new(BatchVerifyCredentialsResponse { outcomes }))
                }
                response => response,
            }
        },
    );
    match response.await {
        // Outcomes belong to items by their order: with one missing, users would get another's.
        Ok(BatchVerifyCredentialsResponse { outcomes }) if outcomes.len() == size => {
            let user = |user: Option<_>| user.map(User::try_from).transpose();
            outcomes
                .into_iter()
                .map(|outcome| user(outcome.user))
                .collect()
        }
        Ok(_) => vec![Err(CallError::Malformed); size],
        Err(error) => vec![Err(error); size],
    }
}
