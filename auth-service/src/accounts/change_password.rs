//! Changes the bearer's own password.

use super::{AccountError, Accounts, Requirement, credentials::Presented};
use crate::{
    audit::{self, AuthMethod, Event},
    request_origin::RequestOrigin,
    store::PasswordWriter,
    user::User,
};
use secrecy::SecretString;

impl Accounts {
    /// Replaces the password of the bearer, who must present the current one, and revokes their
    /// tokens. The rules of the new password are checked first, because that needs no hash. A check
    /// of the current password counts as a login attempt, so that a stolen token does not bypass the
    /// rate limit. An API key cannot: it acts for a program, which has no password.
    pub async fn change_password(
        &self,
        access_token: &str,
        current: SecretString,
        new: SecretString,
        origin: RequestOrigin,
    ) -> Result<User, AccountError> {
        let user = self.authorize_person(access_token).await?;
        let new = self.policy.passwords.check(new).map_err(AccountError::PasswordInvalid)?;
        let presented = Presented::new(&user.username, current);
        self.check_limit(&presented, origin, AuthMethod::PasswordChange).await?;
        let _slot = self.hasher.admit(origin).await?;
        // A deleted user's name may have been registered again.
        let stored = self.load(&presented).await?.filter(|stored| stored.user.id == user.id);
        let stored = stored.ok_or(AccountError::TokenUserNotFound)?;
        let verified =
            self.verify(&presented, Some(&stored), origin, AuthMethod::PasswordChange).await?;
        if !verified.is_match {
            return Err(AccountError::CurrentPasswordWrong);
        }
        // Only if the password is still the one checked: of two concurrent changes, one fails.
        let owner = PasswordWriter::Owner { seen: stored.user.tokens_not_before };
        let record = |user: &User| audit::record(Event::PasswordChanged { user });
        let changed = self.replace_password(user.id, &new, owner, origin, record).await?;
        if let Some(user) = changed {
            return Ok(user);
        }
        // Another change has revoked this token, or the user was deleted.
        self.authorize(access_token, &Requirement::AnyAuthenticated).await?;
        Err(AccountError::CurrentPasswordWrong)
    }
}
