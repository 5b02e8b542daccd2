//! The part of the store in memory that changes users.

use super::{Revocation, Users};
use crate::{
    change::{Change, NewUser, Rename},
    principal::Principal,
    store::{WriteError, locked_rows::AdminCount},
    user::{Credentials, User},
};
use rolegate_proto::Role;
use secrecy::SecretString;

impl Users {
    /// Makes a change of a user, and returns the user as the change has left it.
    pub(super) fn change(&mut self, by: &Principal, change: &Change) -> Result<User, WriteError> {
        if !change.is_allowed_by(by) {
            return Err(WriteError::UserNotFound);
        }
        match change {
            Change::CreateUser(new) => self.create(by, new),
            Change::SetRole { user_id, to, .. } => self.set_role(by, *user_id, *to),
            Change::Rename { user_id, rename } => {
                self.update(by, *user_id, Some(rename), rename.disabled)
            }
            Change::SetDisabled { user_id, disabled } => {
                self.update(by, *user_id, None, Some(*disabled))
            }
            Change::RevokeTokens { user_id } => self.revoke_tokens(by, *user_id),
            Change::RevokeTokensAgain {
                user_id,
                tokens_not_before,
            } => self.revoke(by, *user_id, Revocation::Grow, Some(*tokens_not_before)),
            Change::DeleteUser { user_id } => self.delete(by, *user_id),
            Change::SetPassword { user_id, hash } => self.set_password(by, *user_id, hash),
            Change::CreatePasswordLink { user_id, link } => self.create_link(by, *user_id, link),
            Change::BeginSecondFactor {
                user_id,
                secret,
                recovery_codes,
            } => self.begin_second_factor(by, *user_id, secret, recovery_codes),
            Change::TurnOnSecondFactor {
                user_id,
                secret,
                step,
            } => self.turn_on_second_factor(by, *user_id, secret, *step),
            Change::TurnOffSecondFactor { user_id } => self.turn_off_second_factor(by, *user_id),
        }
    }

    fn create(&mut self, by: &Principal, new: &NewUser) -> Result<User, WriteError> {
        if let Some(admin_id) = by.admin_id() {
            self.find(by, admin_id, AdminCount::Kept)?;
        }
        self.require_free(&new.username)?;
        self.last_id += 1;
        let user = User {
            id: self.last_id,
            username: new.username.clone(),
            role: new.role,
            tokens_not_before: 0,
            disabled: false,
            tokens_marked_until: 0,
            second_factor: false,
            created_at: Some(self.now),
        };
        let link = new.link.clone();
        self.factors.links.extend(link.map(|link| (user.id, link)));
        let row = Credentials {
            user: user.clone(),
            password_hash: new.password_hash.clone(),
        };
        self.by_id.insert(user.id, row);
        Ok(user)
    }

    fn require_free(&self, username: &str) -> Result<(), WriteError> {
        let mut rows = self.by_id.values();
        if rows.any(|row| row.user.username == username) {
            return Err(WriteError::UsernameTaken);
        }
        Ok(())
    }

    fn set_role(&mut self, by: &Principal, user_id: i64, role: Role) -> Result<User, WriteError> {
        let admin_count = if role == Role::ADMIN {
            AdminCount::Kept
        } else {
            AdminCount::Lowered
        };
        let row = self.find(by, user_id, admin_count)?;
        row.user.role = role;
        Ok(row.user.clone())
    }

    fn update(
        &mut self,
        by: &Principal,
        user_id: i64,
        rename: Option<&Rename>,
        disabled: Option<bool>,
    ) -> Result<User, WriteError> {
        let now = self.now;
        let ends_access = disabled == Some(true);
        let admin_count = if ends_access {
            AdminCount::Lowered
        } else {
            AdminCount::Kept
        };
        let stored = &self.find(by, user_id, admin_count)?.user;
        let tokens_not_before = stored.tokens_not_before;
        if let Some(rename) = rename {
            if stored.username != rename.from.name || tokens_not_before != rename.tokens_not_before
            {
                return Err(WriteError::UserNotFound);
            }
            self.require_free(&rename.to)?;
        }
        let row = self.find(by, user_id, admin_count)?;
        row.user.disabled = disabled.unwrap_or(row.user.disabled);
        if ends_access || rename.is_some() {
            row.user.revoke(now, Revocation::Revoke);
        }
        if let Some(rename) = rename {
            row.user.username.clone_from(&rename.to);
        }
        let user = row.user.clone();
        if ends_access {
            self.end_sessions(user_id, None);
            self.factors.links.remove(&user_id);
        }
        if let Some(rename) = rename {
            for (_, token) in self.tokens.values_mut() {
                if token.user_id == user_id && token.not_before == Some(tokens_not_before) {
                    token.not_before = Some(user.tokens_not_before);
                }
                let is_later = token.created_at >= user.created_at.unwrap_or_default();
                if is_later && token.created_by.as_ref() == Some(&rename.from.name) {
                    token.created_by = Some(rename.to.clone());
                }
            }
        }
        Ok(user)
    }

    fn revoke_tokens(&mut self, by: &Principal, user_id: i64) -> Result<User, WriteError> {
        self.find(by, user_id, AdminCount::Kept)?;
        let revocation = match by {
            Principal::Admin(_) => Revocation::Revoke,
            Principal::Operator => Revocation::Lower,
            _ => Revocation::Grow,
        };
        self.revoke(by, user_id, revocation, by.expected_tokens_not_before())
    }

    fn revoke(
        &mut self,
        by: &Principal,
        user_id: i64,
        revocation: Revocation,
        expected_tokens_not_before: Option<u64>,
    ) -> Result<User, WriteError> {
        let now = self.now;
        let row = self.by_id.get_mut(&user_id).filter(|row| {
            expected_tokens_not_before.is_none_or(|it| it == row.user.tokens_not_before)
        });
        let row = row.ok_or(WriteError::UserNotFound)?;
        row.user.revoke(now, revocation);
        let user = row.user.clone();
        self.end_sessions(user_id, by.session_id());
        Ok(user)
    }

    fn delete(&mut self, by: &Principal, user_id: i64) -> Result<User, WriteError> {
        self.find(by, user_id, AdminCount::Lowered)?;
        self.tokens.retain(|_, (_, token)| token.user_id != user_id);
        self.factors.by_user.remove(&user_id);
        self.factors.links.remove(&user_id);
        self.factors.pending.retain(|it| it.user_id != user_id);
        let row = self.by_id.remove(&user_id);
        row.map(|row| row.user).ok_or(WriteError::UserNotFound)
    }

    fn set_password(
        &mut self,
        by: &Principal,
        user_id: i64,
        hash: &SecretString,
    ) -> Result<User, WriteError> {
        let now = self.now;
        // The statement of the SQL store has all conditions, so it does not tell which of them does not hold.
        let row = self
            .find_unchanged(by, user_id)
            .map_err(|_| WriteError::UserNotFound)?;
        row.password_hash = hash.clone();
        row.user.revoke(now, Revocation::Grow);
        let user = row.user.clone();
        self.end_sessions(user_id, by.session_id());
        self.factors.links.remove(&user_id);
        Ok(user)
    }

    /// Returns the user to change, if the condition of the principal holds.
    fn find_unchanged(
        &mut self,
        by: &Principal,
        user_id: i64,
    ) -> Result<&mut Credentials, WriteError> {
        if let Principal::Link { digest } = by {
            let user = self.user_of_link(digest);
            user.filter(|user| user.id == user_id)
                .ok_or(WriteError::UserNotFound)?;
        }
        if self.has_session_ended(by) {
            return Err(WriteError::UserNotFound);
        }
        let row = self.find(by, user_id, AdminCount::Kept)?;
        let is_unchanged = by
            .expected_tokens_not_before()
            .is_none_or(|expected| expected == row.user.tokens_not_before);
        if is_unchanged {
            Ok(row)
        } else {
            Err(WriteError::UserNotFound)
        }
    }
}
