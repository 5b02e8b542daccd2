//! The part of the store in memory about second factors, password links and pending sign-ins.

use super::{MemoryStore, Users};
use crate::{
    audit::Write,
    store::{
        NewPasswordLink, StoreError, WriteError,
        admin_check::AdminCount,
        second_factor::{
            CodeLimit, CodePurpose, MAX_PENDING_SIGN_INS, OneTimeCodeUse, PASSWORD_LINK_SECONDS,
            PENDING_SIGN_IN_SECONDS, SecondFactorStore, StoredPasswordLink, StoredSecondFactor,
            WrongCodes,
        },
    },
    user::User,
};
use async_trait::async_trait;
use rolegate_sql_store::Timed;
use std::collections::{BTreeMap, BTreeSet};

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

    fn unchanged(&mut self, seen: &User) -> Result<&mut User, WriteError> {
        let row = self.by_id.get_mut(&seen.id).map(|row| &mut row.user);
        let row =
            row.filter(|row| row.tokens_not_before == seen.tokens_not_before && !row.second_factor);
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
        let row = users.find(None, user.id, AdminCount::Kept)?.user.clone();
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

    async fn insert_password_link(
        &self,
        actor: Option<i64>,
        user_id: i64,
        digest: String,
        write: Write,
    ) -> Result<u64, WriteError> {
        let mut users = self.users()?;
        let user = users.find(actor, user_id, AdminCount::Kept)?.user.clone();
        let expires_at = users.now + PASSWORD_LINK_SECONDS;
        users
            .factors
            .links
            .insert(user_id, NewPasswordLink { digest, expires_at });
        users.record.push(write.entry_for_user(&user));
        Ok(expires_at)
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

    async fn begin_second_factor(
        &self,
        user: &User,
        secret: String,
        recovery_codes: Vec<String>,
        write: Write,
    ) -> Result<User, WriteError> {
        let mut users = self.users()?;
        let user = users.unchanged(user)?.clone();
        users.check_additions(user.id, 1)?;
        let now = users.now;
        users.additions.push((user.id, now));
        let (factor, codes) = users.factors.by_user.entry(user.id).or_default();
        (factor.secret, factor.last_step) = (secret, 0);
        *codes = recovery_codes.into_iter().collect();
        users.record.push(write.entry_for_user(&user));
        Ok(user)
    }

    async fn turn_on_second_factor(
        &self,
        user: &User,
        session: Option<i64>,
        secret: String,
        step: i64,
        write: Write,
    ) -> Result<User, WriteError> {
        let mut users = self.users()?;
        let now = users.now;
        if session.is_some_and(|session| !users.tokens.contains_key(&session)) {
            return Err(WriteError::UserNotFound);
        }
        let begun = users
            .factors
            .by_user
            .get_mut(&user.id)
            .map(|(factor, _)| factor);
        let begun = begun.filter(|factor| factor.secret == secret);
        begun.ok_or(WriteError::UserNotFound)?.last_step = step;
        let row = users.unchanged(user)?;
        row.second_factor = true;
        row.revoke(now, None);
        let user = row.clone();
        users.end_sessions(user.id, session);
        users.additions.push((user.id, now));
        users.record.push(write.entry_for_user(&user));
        Ok(user)
    }

    async fn turn_off_second_factor(
        &self,
        actor: Option<i64>,
        user_id: i64,
        write: Write,
    ) -> Result<User, WriteError> {
        let mut users = self.users()?;
        let row = &mut users.find(actor, user_id, AdminCount::Kept)?.user;
        if !row.second_factor {
            return Err(WriteError::SecondFactorOff);
        }
        row.second_factor = false;
        let user = row.clone();
        users.factors.by_user.remove(&user_id);
        users.record.push(write.entry_for_user(&user));
        Ok(user)
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
        user: &User,
        purpose: CodePurpose,
        digest: String,
        write: Write,
    ) -> Result<bool, StoreError> {
        let mut users = self.users()?;
        let now = users.now;
        let factor = users.factors.by_user.get_mut(&user.id);
        let limit = CodeLimit::Recovery(purpose);
        let factor = factor.filter(|(factor, _)| factor.refused_for(limit, now).is_none());
        let is_used = factor.is_some_and(|(_, codes)| codes.remove(&digest));
        if is_used {
            users.additions.push((user.id, now));
            users.record.push(write.entry_for_user(user));
        }
        Ok(is_used)
    }

    async fn count_wrong_code(&self, user_id: i64, limit: CodeLimit) -> Result<bool, StoreError> {
        let mut users = self.users()?;
        let now = i64::try_from(users.now).expect("a time");
        let Some((factor, _)) = users.factors.by_user.get_mut(&user_id) else {
            return Ok(false);
        };
        let wrong = match limit {
            CodeLimit::OneTime(CodePurpose::SignIn) => &mut factor.at_sign_in,
            CodeLimit::OneTime(CodePurpose::Confirmation) => &mut factor.at_confirmation,
            CodeLimit::Recovery(CodePurpose::SignIn) => &mut factor.recovery_at_sign_in,
            CodeLimit::Recovery(CodePurpose::Confirmation) => &mut factor.recovery_at_confirmation,
        };
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
