//! Makes changes in a store. Unless a function says otherwise, the operator makes them, and they must succeed.

use crate::{
    actor::{Actor, PresentedCredential},
    audit::Requested,
    change::{Change, NewUser, TokenChange},
    principal::Principal,
    store::{WriteError, user_store::UserStore},
    tokens::{NewToken, OpaqueToken},
    user::User,
};
use rolegate_proto::Role;
use std::sync::Arc;

/// The encrypted secret of every second factor.
const SECRET: &str = "secret";

async fn make(store: &UserStore, by: Principal, change: Change) -> User {
    let request = Arc::new(Requested::new(by, change));
    store.change_user(request).await.expect("changed")
}

pub(super) async fn change(store: &UserStore, change: Change) -> User {
    make(store, Principal::Operator, change).await
}

pub(super) async fn insert(store: &UserStore, username: &str) -> User {
    let new = NewUser {
        username: username.to_owned(),
        password_hash: "hash".into(),
        role: Role::USER,
        link: None,
    };
    change(store, Change::CreateUser(new)).await
}

pub(super) async fn delete(store: &UserStore, user: &User) {
    change(store, Change::DeleteUser { user_id: user.id }).await;
}

pub(super) async fn revoke_tokens(store: &UserStore, user_id: i64) -> User {
    change(store, Change::RevokeTokens { user_id }).await
}

/// Inserts a token on behalf of this principal, and returns it.
pub(super) async fn insert_token_by(
    store: &UserStore,
    by: Principal,
    new: NewToken,
) -> Result<OpaqueToken, WriteError> {
    let request = Arc::new(Requested::new(by, TokenChange::create(vec![new])));
    let mut inserted = store.change_tokens(request).await?;
    Ok(inserted.remove(0))
}

/// Inserts a token, and returns its id.
pub(super) async fn insert_token(store: &UserStore, new: NewToken) -> i64 {
    let inserted = insert_token_by(store, Principal::Operator, new).await;
    inserted.expect("inserted").id
}

/// Returns a user who acts on their own account by an access token.
fn owner(user: &User) -> Principal {
    Principal::Owner(Actor {
        user: user.clone(),
        ineffective_role: None,
        presented: PresentedCredential::AccessToken,
        expires_at: None,
        at: 0,
    })
}

/// Lets a user begin to enroll a second factor.
pub(super) async fn begin_second_factor(store: &UserStore, user: &User, recovery_codes: &[&str]) {
    let change = Change::BeginSecondFactor {
        user_id: user.id,
        secret: SECRET.to_owned(),
        recovery_codes: recovery_codes.iter().map(|&code| code.to_owned()).collect(),
    };
    make(store, owner(user), change).await;
}

/// Lets a user turn on the second factor that the user began to enroll.
pub(super) async fn turn_on_second_factor(store: &UserStore, user: &User) -> User {
    let change = Change::TurnOnSecondFactor {
        user_id: user.id,
        secret: SECRET.to_owned(),
        step: 1,
    };
    make(store, owner(user), change).await
}
