//! The part of the store in memory about second factors, password links and pending sign-ins.

use super::{MemoryStore, Revocation, Users};
use crate::{
    audit::{RecoveryCodeUse, Requested},
    change::NewPasswordLink,
    principal::Principal,
    store::{
        StoreError, WriteError,
        locked_rows::AdminCount,
        second_factor::{
            CodeLimit, CodePurpose, MAX_PENDING_SIGN_INS, OneTimeCodeUse, PENDING_SIGN_IN_SECONDS,
            SecondFactorStore, StoredPasswordLink, StoredSecondFactor, WrongCodes,
        },
    },
    user::User,
};
use async_trait::async_trait;
use rolegate_sql_store::Timed;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

#[derive(Debug, Default)]
pub(super) struct Factors {
    pub(super) by_user: BTreeMap<i64, (StoredSecondFactor, BTreeSet<String>)>,
    /// The password links by user id.
    pub(super) links: BTreeMap<i64, NewPasswordLink>,
    /// The pending sign-ins, the oldest first.
    pub(super) pending: Vec<PendingSignIn>,
}

#[derive(Debug)]
pub(super) struct PendingSignIn {
    pub(super) digest: String,
    pub(super) user_id: i64,
    not_before: u64,
    expires_at: u64,
}

impl Users {
    pub(super) fn user_of_link(&self, digest: &str) -> Option<User> {
        let link = self.link(digest)?;
        match link.refusal(self.now) {
            None => Some(link.user),
            Some(_) => None,
        }
    }

    fn link(&self, digest: &str) -> Option<StoredPasswordLink> {
        let mut links = self.factors.links.iter();
        let (id, link) = links.find(|(_, link)| link.digest == digest)?;
        Some(StoredPasswordLink {
            user: self.by_id.get(id)?.user.clone(),
            expires_at: link.expires_at,
        })
    }

    pub(super) fn user_of_pending(&self, digest: &str) -> Option<User> {
        let mut pending = self.factors.pending.iter();
        let pending = pending.find(|it| it.digest == digest && it.expires_at > self.now)?;
        let user = &self.by_id.get(&pending.user_id)?.user;
        let is_good =
            user.second_factor && !user.disabled && user.tokens_not_before == pending.not_before;
        is_good.then(|| user.clone())
    }

    pub(super) fn create_link(
        &mut self,
        by: &Principal,
        user_id: i64,
        link: &NewPasswordLink,
    ) -> Result<User, WriteError> {
        let user = self.find(by, user_id, AdminCount::Kept)?.user.clone();
        self.factors.links.insert(user_id, link.clone());
        Ok(user)
    }

    pub(super) fn begin_second_factor(
        &mut self,
        by: &Principal,
        user_id: i64,
        secret: &str,
        recovery_codes: &[String],
    ) -> Result<User, WriteError> {
        let user = self.find_without_factor(by, user_id)?.clone();
        self.check_additions(user_id, 1)?;
        self.additions.push((user_id, self.now));
        let (factor, codes) = self.factors.by_user.entry(user_id).or_default();
        (factor.secret, factor.last_step) = (secret.to_owned(), 0);
        *codes = recovery_codes.iter().cloned().collect();
        Ok(user)
    }

    pub(super) fn turn_on_second_factor(
        &mut self,
        by: &Principal,
        user_id: i64,
        secret: &str,
        step: i64,
    ) -> Result<User, WriteError> {
        let now = self.now;
        if self.has_session_ended(by) {
            return Err(WriteError::UserNotFound);
        }
        self.find_without_factor(by, user_id)?;
        let begun = self.factors.by_user.get_mut(&user_id);
        let begun = begun.map(|(factor, _)| factor);
        let begun = begun.filter(|factor| factor.secret == secret);
        begun.ok_or(WriteError::UserNotFound)?.last_step = step;
        let row = self.find_without_factor(by, user_id)?;
        row.second_factor = true;
        row.revoke(now, Revocation::Grow);
        let user = row.clone();
        self.end_sessions(user_id, by.session_id());
        self.additions.push((user_id, now));
        Ok(user)
    }

    pub(super) fn turn_off_second_factor(
        &mut self,
        by: &Principal,
        user_id: i64,
    ) -> Result<User, WriteError> {
        let row = &mut self.find(by, user_id, AdminCount::Kept)?.user;
        if !row.second_factor {
            return Err(WriteError::SecondFactorOff);
        }
        row.second_factor = false;
        let user = row.clone();
        self.factors.by_user.remove(&user_id);
        Ok(user)
    }

    /// Returns the user whose second factor is not on, and whose tokens are those that the principal has seen.
    fn find_without_factor(
        &mut self,
        by: &Principal,
        user_id: i64,
    ) -> Result<&mut User, WriteError> {
        let row = self.by_id.get_mut(&user_id).map(|row| &mut row.user);
        let expected = by.expected_tokens_not_before();
        let row = row.filter(|row| Some(row.tokens_not_before) == expected && !row.second_factor);
        row.ok_or(WriteError::UserNotFound)
    }
}

#[async_trait]
impl SecondFactorStore for MemoryStore {
    async fn insert_pending_sign_in(
        &self,
        user: &Timed<User>,
        digest: String,
    ) -> Result<(), WriteError> {
        let mut users = self.users()?;
        let Timed {
            at: now,
            value: user,
        } = user;
        let now = *now;
        let row = users.by_id.get(&user.id).ok_or(WriteError::UserNotFound)?;
        let row = row.user.clone();
        if row.tokens_not_before != user.tokens_not_before || !row.second_factor || row.disabled {
            return Err(WriteError::UserNotFound);
        }
        let pending = &mut users.factors.pending;
        pending.retain(|it| it.user_id != row.id || it.expires_at > now);
        let mut own = pending.iter().filter(|it| it.user_id == row.id);
        let max = usize::try_from(MAX_PENDING_SIGN_INS).expect("few");
        if own.clone().count() >= max {
            let oldest = own.next().expect("one").digest.clone();
            pending.retain(|it| it.digest != oldest);
        }
        pending.push(PendingSignIn {
            digest,
            user_id: row.id,
            not_before: row.tokens_not_before,
            expires_at: now + PENDING_SIGN_IN_SECONDS,
        });
        Ok(())
    }

    async fn pending_sign_in(&self, digest: &str) -> Result<Timed<Option<User>>, StoreError> {
        let users = self.users()?;
        Ok(Timed {
            at: users.now,
            value: users.user_of_pending(digest),
        })
    }

    async fn password_link(
        &self,
        digest: &str,
    ) -> Result<Timed<Option<StoredPasswordLink>>, StoreError> {
        let users = self.users()?;
        Ok(Timed {
            at: users.now,
            value: users.link(digest),
        })
    }

    async fn second_factor(
        &self,
        user_id: i64,
    ) -> Result<Timed<Option<StoredSecondFactor>>, StoreError> {
        let users = self.users()?;
        let value = users.factors.by_user.get(&user_id).map(|(factor, codes)| {
            let recovery_codes = codes.len().try_into().expect("few");
            StoredSecondFactor {
                recovery_codes,
                ..factor.clone()
            }
        });
        Ok(Timed {
            at: users.now,
            value,
        })
    }

    async fn use_one_time_code(
        &self,
        user_id: i64,
        purpose: CodePurpose,
        code: OneTimeCodeUse,
    ) -> Result<bool, StoreError> {
        let mut users = self.users()?;
        let now = users.now;
        let factor = users
            .factors
            .by_user
            .get_mut(&user_id)
            .map(|(factor, _)| factor);
        let factor = factor.filter(|factor| {
            let limit = CodeLimit::OneTime(purpose);
            factor.secret == code.secret
                && factor.last_step < code.step
                && factor.refused_for(limit, now).is_none()
        });
        Ok(factor
            .map(|factor| (factor.secret, factor.last_step) = (code.new_secret, code.step))
            .is_some())
    }

    async fn use_recovery_code(
        &self,
        purpose: CodePurpose,
        digest: String,
        request: Arc<Requested<RecoveryCodeUse>>,
    ) -> Result<bool, StoreError> {
        let user_id = request.change.user.id;
        let mut users = self.users()?;
        let now = users.now;
        let factor = users.factors.by_user.get_mut(&user_id);
        let limit = CodeLimit::Recovery(purpose);
        let factor = factor.filter(|(factor, _)| factor.refused_for(limit, now).is_none());
        let is_used = factor.is_some_and(|(_, codes)| codes.remove(&digest));
        if is_used {
            users.additions.push((user_id, now));
            users.record.push(request.entry_for_use());
        }
        Ok(is_used)
    }

    async fn count_wrong_code(&self, user_id: i64, limit: CodeLimit) -> Result<bool, StoreError> {
        let mut users = self.users()?;
        let now = i64::try_from(users.now).expect("a time");
        let Some((factor, _)) = users.factors.by_user.get_mut(&user_id) else {
            return Ok(false);
        };
        let wrong = factor.wrong_codes.entry(limit).or_default();
        if (now - wrong.since).abs() >= 3600 {
            *wrong = WrongCodes {
                count: 0,
                since: now,
            };
        }
        let is_counted = wrong.count < limit.max();
        wrong.count += i64::from(is_counted);
        Ok(is_counted)
    }

    async fn second_factor_key_ids(&self) -> Result<Vec<String>, StoreError> {
        let users = self.users()?;
        let on = users
            .factors
            .by_user
            .iter()
            .filter(|(id, _)| users.by_id[id].user.second_factor);
        let ids = on.map(|(_, (factor, _))| factor.secret.chars().take(12).collect());
        Ok(ids.collect::<BTreeSet<String>>().into_iter().collect())
    }
}
