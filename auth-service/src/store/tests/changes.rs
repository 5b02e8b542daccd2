//! Makes principals and changes for the tests, so that a test names only what matters to it.

use crate::{
    actor::{Actor, PresentedCredential},
    audit::{RecoveryCodeUse, Requested},
    change::{Change, NewUser, Rename, SessionEnd, TokenChange, TokenSelection, UserUpdate},
    former_username::FormerUsername,
    principal::Principal,
    store::{CodePurpose, WriteError, user_store::UserStore},
    tokens::{NewPasswordLink, NewToken, OpaqueToken, TokenKind},
    user::User,
};
use rolegate_proto::Role;
use std::sync::Arc;

/// Returns the actor of a request by which this user acts with an access token.
pub(super) fn actor(user: &User) -> Actor {
    Actor {
        user: user.clone(),
        ineffective_role: None,
        presented: PresentedCredential::AccessToken,
        expires_at: None,
        at: 0,
    }
}

/// Returns this user as an admin, whether or not they are one.
pub(super) fn as_admin(user: &User) -> Principal {
    Principal::Admin(actor(user))
}

/// Returns this user as the owner of the account, as the user was read.
pub(super) fn as_owner(user: &User) -> Principal {
    Principal::Owner(actor(user))
}

/// Returns this user as the owner of the account, who acts by this session.
pub(super) fn as_owner_in(id: i64, user: &User) -> Principal {
    Principal::Owner(Actor {
        presented: PresentedCredential::Session(id),
        ..actor(user)
    })
}

/// Returns this user with an id that no user has.
pub(super) fn stranger(user: &User) -> User {
    User {
        id: 999,
        ..user.clone()
    }
}

/// Returns this user as it was read at another `tokens_not_before`.
pub(super) fn seen_at(tokens_not_before: u64, user: &User) -> User {
    User {
        tokens_not_before,
        ..user.clone()
    }
}

/// Returns a user to insert with this role and the hash `hash`.
pub(super) fn new_user(username: &str, role: Role) -> NewUser {
    NewUser {
        username: username.to_owned(),
        password_hash: "hash".into(),
        role,
        link: None,
    }
}

pub(super) async fn change(
    store: &UserStore,
    by: Principal,
    change: Change,
) -> Result<User, WriteError> {
    let request = Requested::new(by, change);
    store.change_user(Arc::new(request)).await
}

pub(super) async fn create(
    store: &UserStore,
    by: Principal,
    new: NewUser,
) -> Result<User, WriteError> {
    change(store, by, Change::CreateUser(new)).await
}

pub(super) async fn set_role(
    store: &UserStore,
    by: Principal,
    user: &User,
    to: Role,
) -> Result<User, WriteError> {
    let user_id = user.id;
    let from = user.role;
    change(store, by, Change::SetRole { user_id, from, to }).await
}

/// Renames a user, and also disables or enables the user if `disabled` says so.
pub(super) async fn rename_and_set_disabled(
    store: &UserStore,
    by: Principal,
    user: &User,
    name: &str,
    disabled: Option<bool>,
) -> Result<User, WriteError> {
    let rename = Rename {
        from: FormerUsername::new(user.username.clone()).expect("randomness"),
        to: name.to_owned(),
        tokens_not_before: user.tokens_not_before,
    };
    let update = UserUpdate {
        rename: Some(rename),
        disabled,
        end: None,
    };
    let user_id = user.id;
    change(store, by, Change::Update { user_id, update }).await
}

pub(super) async fn rename(
    store: &UserStore,
    by: Principal,
    user: &User,
    name: &str,
) -> Result<User, WriteError> {
    rename_and_set_disabled(store, by, user, name, None).await
}

pub(super) async fn disable(
    store: &UserStore,
    by: Principal,
    user: &User,
) -> Result<User, WriteError> {
    set_disabled(store, by, user, true).await
}

pub(super) async fn enable(
    store: &UserStore,
    by: Principal,
    user: &User,
) -> Result<User, WriteError> {
    set_disabled(store, by, user, false).await
}

async fn set_disabled(
    store: &UserStore,
    by: Principal,
    user: &User,
    disabled: bool,
) -> Result<User, WriteError> {
    let user_id = user.id;
    change(
        store,
        by,
        Change::Update {
            user_id,
            update: UserUpdate {
                disabled: Some(disabled),
                ..UserUpdate::default()
            },
        },
    )
    .await
}

pub(super) async fn revoke_tokens(
    store: &UserStore,
    by: Principal,
    user: &User,
) -> Result<User, WriteError> {
    change(store, by, Change::RevokeTokens { user_id: user.id }).await
}

pub(super) async fn delete(
    store: &UserStore,
    by: Principal,
    user: &User,
) -> Result<User, WriteError> {
    change(store, by, Change::DeleteUser { user_id: user.id }).await
}

pub(super) async fn set_password(
    store: &UserStore,
    by: Principal,
    user: &User,
    hash: &str,
) -> Result<User, WriteError> {
    let user_id = user.id;
    let hash = hash.into();
    change(store, by, Change::SetPassword { user_id, hash }).await
}

/// Creates a password link of the user, which is good for as long as links of a use case.
pub(super) async fn create_link(
    store: &UserStore,
    by: Principal,
    user: &User,
    digest: &str,
) -> Result<User, WriteError> {
    let now = store.users_by_id(&[], &[]).await.expect("read").at;
    let link = NewPasswordLink::with_digest(digest, now + 86_400);
    let user_id = user.id;
    change(store, by, Change::CreatePasswordLink { user_id, link }).await
}

pub(super) async fn begin_second_factor(
    store: &UserStore,
    user: &User,
    secret: &str,
    recovery_codes: Vec<String>,
) -> Result<User, WriteError> {
    let begin = Change::BeginSecondFactor {
        user_id: user.id,
        secret: secret.to_owned(),
        recovery_codes,
    };
    change(store, as_owner(user), begin).await
}

pub(super) async fn turn_on_second_factor(
    store: &UserStore,
    by: Principal,
    user: &User,
    secret: &str,
) -> Result<User, WriteError> {
    let turn_on = Change::TurnOnSecondFactor {
        user_id: user.id,
        secret: secret.to_owned(),
        step: 7,
    };
    change(store, by, turn_on).await
}

pub(super) async fn turn_off_second_factor(
    store: &UserStore,
    by: Principal,
    user: &User,
) -> Result<User, WriteError> {
    change(store, by, Change::TurnOffSecondFactor { user_id: user.id }).await
}

/// Uses a recovery code, and returns whether it was accepted.
pub(super) async fn use_recovery_code(
    store: &UserStore,
    user: &User,
    purpose: CodePurpose,
    digest: &str,
) -> bool {
    let code_use = RecoveryCodeUse { user: user.clone() };
    let request = Arc::new(Requested::new(Principal::Claimant, code_use));
    let outcome = store.use_recovery_code(purpose, digest.to_owned(), request);
    outcome.await.expect("an answer")
}

pub(super) async fn change_tokens(
    store: &UserStore,
    by: Principal,
    change: TokenChange,
) -> Result<Vec<OpaqueToken>, WriteError> {
    let request = Requested::new(by, change);
    store.change_tokens(Arc::new(request)).await
}

pub(super) async fn insert_tokens(
    store: &UserStore,
    by: Principal,
    tokens: Vec<NewToken>,
) -> Result<Vec<OpaqueToken>, WriteError> {
    change_tokens(store, by, TokenChange::create(tokens)).await
}

pub(super) async fn insert_token(
    store: &UserStore,
    by: Principal,
    token: NewToken,
) -> Result<OpaqueToken, WriteError> {
    let inserted = insert_tokens(store, by, vec![token]).await?;
    Ok(inserted.into_iter().next().expect("a token"))
}

pub(super) async fn delete_tokens(
    store: &UserStore,
    by: Principal,
    kind: TokenKind,
    user: &User,
    selection: TokenSelection,
) -> Result<Vec<OpaqueToken>, WriteError> {
    let delete = TokenChange::Delete {
        kind,
        user_id: user.id,
        selection,
    };
    change_tokens(store, by, delete).await
}

/// Ends the sessions with these digests, and returns them.
pub(super) async fn end_sessions(
    store: &UserStore,
    digests: &[&str],
    extent: SessionEnd,
) -> Vec<OpaqueToken> {
    let digests = digests.iter().map(ToString::to_string).collect();
    let end = TokenChange::EndSessions { digests, extent };
    let ended = change_tokens(store, Principal::Sessions(Vec::new()), end).await;
    ended.expect("ended")
}
