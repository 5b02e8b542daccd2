//! Makes changes that do not come from the use cases under test, such as those of the operator.

use super::{App, NOW};
use crate::{
    actor::{Actor, PresentedCredential},
    audit::Requested,
    change::{Change, NewUser, TokenChange, TokenSelection, UserUpdate},
    principal::Principal,
    store::WriteError,
    tokens::TokenKind,
    user::User,
};
use rolegate_proto::Role;
use std::sync::Arc;

fn actor(user: User, presented: PresentedCredential) -> Actor {
    Actor {
        user,
        ineffective_role: None,
        presented,
        expires_at: None,
        at: NOW,
    }
}

/// Returns a user who acts on their own account by the session with this id.
pub(super) fn owner(user: User, session_id: i64) -> Principal {
    Principal::Owner(actor(user, PresentedCredential::Session(session_id)))
}

impl App {
    /// Returns the seeded admin, who acts by an access token.
    pub(super) async fn by_admin(&self) -> Principal {
        let found = self.store.users_by_id(&[1], &[]).await.expect("read");
        let admin = found.value.into_iter().next().expect("seeded");
        Principal::Admin(actor(admin, PresentedCredential::AccessToken))
    }

    async fn change(&self, by: Principal, change: Change) -> Result<User, WriteError> {
        let request = Arc::new(Requested::new(by, change));
        self.store.change_user(request).await
    }

    async fn change_by_operator(&self, change: Change) {
        let changed = self.change(Principal::Operator, change).await;
        changed.expect("changed by the operator");
    }

    pub(super) async fn insert_user(&self, username: &str, password_hash: &str) {
        let new = NewUser {
            username: username.to_owned(),
            password_hash: password_hash.into(),
            role: Role::USER,
            link: None,
        };
        self.change_by_operator(Change::CreateUser(new)).await;
    }

    /// Sets the role of a user. The record says that the role was `user` before.
    pub(super) async fn set_role(&self, user_id: i64, to: Role) {
        let from = Role::USER;
        let change = Change::SetRole { user_id, from, to };
        self.change_by_operator(change).await;
    }

    pub(super) async fn set_disabled(&self, user_id: i64, disabled: bool) {
        let update = UserUpdate {
            disabled: Some(disabled),
            ..UserUpdate::default()
        };
        let change = Change::Update { user_id, update };
        self.change_by_operator(change).await;
    }

    pub(super) async fn delete_user(&self, user_id: i64) {
        let change = Change::DeleteUser { user_id };
        self.change_by_operator(change).await;
    }

    pub(super) async fn revoke_tokens(&self, by: Principal, user_id: i64) {
        let revoked = self.change(by, Change::RevokeTokens { user_id }).await;
        revoked.expect("revoked");
    }

    pub(super) async fn set_password_hash(
        &self,
        by: Principal,
        user_id: i64,
        hash: &str,
    ) -> Result<User, WriteError> {
        let hash = hash.into();
        self.change(by, Change::SetPassword { user_id, hash }).await
    }

    /// Deletes the token of this kind and user that has this id.
    pub(super) async fn delete_token(&self, kind: TokenKind, user_id: i64, id: i64) {
        let change = TokenChange::Delete {
            kind,
            user_id,
            selection: TokenSelection::One(id),
        };
        let request = Arc::new(Requested::new(Principal::Operator, change));
        self.store.change_tokens(request).await.expect("deleted");
    }
}
