//! Creates and changes users, also for themselves: registration and logout. The store checks the role of an
//! admin again when it writes: of two admins who demote or delete each other at the same time, the second
//! is refused.

use super::{
    authorize::Requirement, error::AccountError, password_links::PasswordLink,
    seed::ADMIN_USERNAME, service::Accounts, username::check_new_username,
};
use crate::{
    actor::Actor,
    audit::{Change, Initiator, Write},
    call_origin::CallOrigin,
    metrics,
    opaque_token::{self, GeneratedToken, OpaqueToken, TokenKind},
    password::{NO_PASSWORD, Password},
    store::{NewPasswordLink, NewUser, PASSWORD_LINK_SECONDS, SessionEnd, Writer},
    user::User,
};
use rolegate_proto::{Reason, Role};
use secrecy::SecretString;
use std::{sync::Arc, time::Instant};

impl Accounts {
    /// Creates a user with the role `user`.
    pub(crate) async fn register(
        &self,
        username: &str,
        password: SecretString,
        origin: CallOrigin,
    ) -> Result<User, AccountError> {
        if !self.policy.registration_open {
            return Err(Reason::RegistrationClosed.into());
        }
        check_new_username(username)?;
        let password = self.policy.passwords.check(password)?;
        let _slot = self.hasher.admit_registration(origin).await?;
        // Per address, whatever the username; never refunded, because each costs a hash.
        let attempt = self
            .registrations
            .acquire("", origin.client_key(), Instant::now());
        drop(attempt.inspect_err(|_| metrics::count_limit_refusal("registration"))?);
        self.insert_user(None, username, &password, Role::USER, origin)
            .await
    }

    /// Creates a user with a role; the actor must be an admin. Works while registration is disabled,
    /// and counts towards no limit. The contract fixes the order of the checks: the actor's token, the
    /// actor's role, the username, the password, the role (`None` for an unknown one).
    pub(crate) async fn create_user(
        &self,
        actor: &str,
        username: &str,
        password: Option<SecretString>,
        role: Option<Role>,
        origin: CallOrigin,
    ) -> Result<(User, Option<PasswordLink>), AccountError> {
        let actor = self.authorize_admin(actor).await?;
        check_new_username(username)?;
        let Some(password) = password else {
            let role = self.known(role)?;
            return self.insert_user_with_link(actor, username, role).await;
        };
        self.admins_set_passwords()?;
        let password = self.policy.passwords.check(password)?;
        let role = self.known(role)?;
        let user = self
            .insert_user(Some(actor), username, &password, role, origin)
            .await?;
        Ok((user, None))
    }

    /// An API key may do this: the link is of a new user, not of an existing one.
    async fn insert_user_with_link(
        &self,
        actor: Actor,
        username: &str,
        role: Role,
    ) -> Result<(User, Option<PasswordLink>), AccountError> {
        let GeneratedToken { token, digest } =
            opaque_token::generate_password_link().map_err(AccountError::internal)?;
        let expires_at = actor.at.saturating_add(PASSWORD_LINK_SECONDS);
        let (username, password_hash) = (username.to_owned(), NO_PASSWORD.into());
        let link = Some(NewPasswordLink { digest, expires_at });
        let new = NewUser {
            username,
            password_hash,
            role,
            link,
        };
        let user = self.insert(Some(actor), new).await?;
        Ok((user, Some((token, expires_at))))
    }

    async fn insert_user(
        &self,
        actor: Option<Actor>,
        username: &str,
        password: &Password,
        role: Role,
        origin: CallOrigin,
    ) -> Result<User, AccountError> {
        let password_hash = self.hasher.hash(password, origin).await?;
        let new = NewUser {
            username: username.to_owned(),
            password_hash,
            role,
            link: None,
        };
        self.insert(actor, new).await
    }

    async fn insert(&self, actor: Option<Actor>, new: NewUser) -> Result<User, AccountError> {
        // After `user delete admin` a stranger would have this name, and no admin could delete that user.
        // After the hash, because the answer must not take less time than that for a taken name.
        if new.username == ADMIN_USERNAME {
            return Err(Reason::UsernameTaken.into());
        }
        let (store, admin) = (
            Arc::clone(&self.store),
            actor.as_ref().map(|actor| actor.user.id),
        );
        let (change, by) = actor.map_or(
            (Change::Registered, Initiator::Owner { session: None }),
            |actor| (Change::UserCreated, Initiator::Actor(actor)),
        );
        // Hashing takes a while, so the store checks again that the actor is an admin.
        let insert = move |write| async move { store.insert(admin, new, write).await };
        Ok(Write::new(change, by, None)
            .run(insert, Write::log_user)
            .await?)
    }

    /// Replaces the role of a user. The contract fixes the order of the checks: the actor's token,
    /// the actor's role, the user, the role (`None` for an unknown one).
    pub(crate) async fn set_user_role(
        &self,
        actor: &str,
        user_id: i64,
        role: Option<Role>,
    ) -> Result<User, AccountError> {
        let actor = self.authorize_admin(actor).await?;
        actor.refuse_own_key(user_id)?;
        let change = Change::RoleChanged {
            from: self.find(user_id).await?.role,
        };
        let role = self.known(role)?;
        let (store, admin) = (Arc::clone(&self.store), Some(actor.user.id));
        let set = move |write| async move { store.set_role(admin, user_id, role, write).await };
        Ok(Write::by_actor(actor, change, user_id)
            .run(set, Write::log_user)
            .await?)
    }

    /// Deletes a user and returns it; the actor must be an admin. Admins cannot delete themselves,
    /// so one always remains, nor the user named `admin`, whom the next start would create again.
    pub(crate) async fn delete_user(
        &self,
        actor: &str,
        user_id: i64,
    ) -> Result<User, AccountError> {
        let actor = self.authorize_admin(actor).await?;
        actor.refuse_own_key(user_id)?;
        let user = self.find(user_id).await?;
        // Neither can change, so the store need not check them again.
        if user.id == actor.user.id || user.username == ADMIN_USERNAME {
            return Err(Reason::UserNotDeletable.into());
        }
        let (store, admin) = (Arc::clone(&self.store), Some(actor.user.id));
        let delete = move |write| async move { store.delete(admin, user_id, write).await };
        let write = Write::by_actor(actor, Change::UserDeleted, user_id);
        Ok(write.run(delete, Write::log_user).await?)
    }

    pub(super) fn known(&self, role: Option<Role>) -> Result<Role, AccountError> {
        let known = role.filter(|role| self.policy.roles.contains(role));
        Ok(known.ok_or(Reason::RoleInvalid)?)
    }

    /// Ends the session in a cookie of the sign-in page.
    pub(crate) async fn end_cookie_session(&self, token: &str) -> Result<User, AccountError> {
        let actor = self
            .authorize_from(true, token, &Requirement::AnyAuthenticated)
            .await?;
        let session = actor.session_id().ok_or(Reason::TokenInvalid)?;
        self.end_session(actor, session).await
    }

    /// Ends the sessions that these tokens are of, whoever they are of: those in the cookies that a browser sent, of
    /// which another host may have set some. Tokens of another kind, and of sessions that have ended, are passed over.
    pub(crate) async fn end_cookie_sessions(
        &self,
        tokens: &[String],
        extent: SessionEnd,
    ) -> Result<(), AccountError> {
        let digests: Vec<String> = tokens
            .iter()
            .filter(|token| TokenKind::detect(token) == Some(TokenKind::Session))
            .filter_map(|token| opaque_token::digest(token))
            .collect();
        let found = self.reads.tokens.get_all(digests.clone()).await?;
        let mut users = Vec::new();
        for found in found.value.into_values() {
            users.push(found?.user);
        }
        if users.is_empty() {
            return Ok(());
        }
        let store = Arc::clone(&self.store);
        let end =
            move |write| async move { store.end_sessions_by_digest(&digests, extent, write).await };
        let record = |write: &Write, sessions: &Vec<OpaqueToken>| {
            for session in sessions {
                write.entry_for_token(session, None).log();
            }
        };
        let write = Write::new(Change::SessionEnded, Initiator::Sessions(users), None);
        write.run(end, record).await?;
        Ok(())
    }

    async fn end_session(&self, actor: Actor, session: i64) -> Result<User, AccountError> {
        let user = actor.user.clone();
        let ended = self
            .delete_tokens_by(actor, TokenKind::Session, None, Some(session))
            .await?;
        // Another logout was first.
        if ended.is_empty() {
            Err(Reason::TokenInvalid.into())
        } else {
            Ok(user)
        }
    }

    /// Ends the session of the actor. By an access token, or for an admin of the user with this id, revokes
    /// every access token, and ends every session. Tokens of
    /// logins that were answered before this call are refused once it is answered, on every replica;
    /// those of later logins are good. API keys stay, and cannot log their user out.
    pub(crate) async fn revoke_tokens(
        &self,
        access_token: &str,
        user_id: Option<i64>,
    ) -> Result<User, AccountError> {
        let requirement = Requirement::of_user_or_admin(user_id);
        let actor = self.authorize(access_token, &requirement).await?;
        let id = user_id.unwrap_or(actor.user.id);
        actor.refuse_own_key(id)?;
        if let (None, Some(session)) = (user_id, actor.session_id()) {
            return self.end_session(actor, session).await;
        }
        let writer = match user_id {
            Some(_) => Writer::Admin(actor.user.id),
            None => actor.as_owner(),
        };
        let store = Arc::clone(&self.store);
        let revoke = move |write| async move { store.revoke_tokens(id, writer, write).await };
        let write = Write::by_actor(actor, Change::TokensRevoked, id);
        let revoked = write.run(revoke, Write::log_user).await;
        // Another logout was first, or the user was deleted.
        self.or_reauthorize(revoked, access_token, &requirement, Reason::UserNotFound)
            .await
    }
}
