//! Tests that each service works with only its own fields.

use super::{NOW, POLICY, access_tokens, hasher, origin};
use crate::{
    accounts::{
        AuditRequest, InitialPassword, authenticator::Authenticator, authorizer::Authorizer,
        changes::Changes, rate_limit::RateLimiter, record::Record,
        sign_in_recorder::SignInRecorder,
    },
    audit::Requested,
    change::{Change, NewUser},
    password::{CredentialCache, NO_PASSWORD},
    principal::Principal,
    store::{AuditFilter, BatchedReads, UserStore},
    tokens::AccessTokens,
    user::User,
};
use rolegate_proto::Role;
use secrecy::{ExposeSecret as _, SecretString};
use std::sync::Arc;
use tokio::sync::Semaphore;

fn store() -> Arc<UserStore> {
    Arc::new(UserStore::open_at(NOW))
}

fn authorizer(store: &Arc<UserStore>, tokens: AccessTokens) -> Authorizer {
    Authorizer {
        store: Arc::clone(store),
        reads: Arc::new(BatchedReads::new(store)),
        tokens,
        policy: Arc::new(POLICY),
        recorder: SignInRecorder::new(Arc::clone(store)),
        background_restriction: Arc::new(Semaphore::new(1)),
    }
}

async fn insert(store: &UserStore, password_hash: SecretString, role: Role) -> User {
    let new = NewUser {
        username: "ann".to_owned(),
        password_hash,
        role,
        link: None,
    };
    let request = Requested::new(Principal::Operator, Change::CreateUser(new));
    store.change_user(Arc::new(request)).await.expect("created")
}

#[tokio::test]
async fn the_record_is_read_without_a_hasher() {
    let (store, tokens) = (store(), access_tokens());
    let ann = insert(&store, NO_PASSWORD.into(), Role::ADMIN).await;
    let token = tokens.issue(&ann, NOW).expect("issued");
    let record = Record::new(Arc::clone(&store), Arc::new(authorizer(&store, tokens)));
    let page = record.list_audit(token.expose_secret(), AuditRequest::default());
    let page = page.await.expect("listed");
    let users: Vec<_> = page.rows.iter().map(|row| row.user_id).collect();
    assert_eq!(users, [Some(ann.id)]);
    let refused = record.list_audit("", AuditRequest::default()).await;
    assert_err!(refused, TokenInvalid);
}

#[tokio::test]
async fn passwords_are_checked_without_an_authorizer() {
    let (store, policy) = (store(), Arc::new(POLICY));
    let hasher = hasher();
    let password = policy.passwords.check("sesame".into()).expect("valid");
    let hash = hasher.hash(&password, origin(1)).await.expect("hashed");
    insert(&store, hash, Role::USER).await;
    let authenticator = Authenticator {
        reads: Arc::new(BatchedReads::new(&store)),
        changes: Changes::new(Arc::clone(&store), InitialPassword::default()),
        hasher,
        cache: CredentialCache::new(policy.basic_cache_ttl).expect("randomness"),
        tokens: access_tokens(),
        login_limiter: RateLimiter::per_address_and_name(policy.login_failure_limit),
        policy,
        recorder: SignInRecorder::new(Arc::clone(&store)),
        store,
    };
    let login = |password: &str| authenticator.login("ann", password.into(), None, origin(1));
    login("sesame").await.expect("logged in");
    assert_err!(login("wrong").await, CredentialsInvalid);
}

#[tokio::test]
async fn a_refusal_is_recorded_by_the_recorder_alone() {
    let store = store();
    let recorder = SignInRecorder::new(Arc::clone(&store));
    recorder.record_login_failure(None, "login", "unknown_user");
    store.seal_all().await.expect("sealed");
    let filter = AuditFilter {
        limit: 10,
        ..Default::default()
    };
    let rows = store.audit(&filter).await.expect("read");
    let events: Vec<_> = rows
        .into_iter()
        .map(|row| row.content.expect("readable").event)
        .collect();
    assert_eq!(events, ["login_failed"]);
}
