//! Somebody changes their own password.

use super::{AccountError, Accounts, Requirement, credentials::Presented};
use crate::{
    audit::{self, AuthMethod, Event},
    password::Password,
    request_origin::RequestOrigin,
    store::PasswordWriter,
    user::User,
};
use secrecy::SecretString;

impl Accounts {
    /// Replaces the password of the bearer of the token, who must know the current one, and ends
    /// their tokens. The rule of the new password comes first: it costs no hash and tells nothing.
    /// Every look at the current one is a guess like a login's, and counts as such: a stolen token
    /// must not be a way around the limits.
    pub async fn change_password(
        &self,
        access_token: &str,
        current: SecretString,
        new: SecretString,
        origin: RequestOrigin,
    ) -> Result<User, AccountError> {
        let user = self.authorize(access_token, &Requirement::AnyAuthenticated).await?;
        let new = Password::new(new, self.policy.password_min_length)
            .map_err(AccountError::PasswordInvalid)?;
        self.hasher.check_capacity(origin)?;
        let presented = Presented::new(&user.username, current);
        // Somebody else may have the name by now; then the user is as good as gone.
        let stored = self.load(&presented).await?.filter(|stored| stored.user.id == user.id);
        let stored = stored.ok_or(AccountError::TokenUserNotFound)?;
        let checked =
            self.verify(&presented, Some(&stored), origin, AuthMethod::PasswordChange).await?;
        if !checked.is_match {
            return Err(AccountError::CurrentPasswordWrong);
        }
        // Only over the password that was checked: of two who change it at once, one is too late.
        let owner = PasswordWriter::Owner { seen: stored.user.tokens_not_before };
        let record = |user: &User| audit::record(Event::PasswordChanged { user });
        let changed = self.replace_password(user.id, &new, owner, origin, record).await?;
        if let Some(user) = changed {
            return Ok(user);
        }
        // The other change has ended this token, or the user is gone.
        self.authorize(access_token, &Requirement::AnyAuthenticated).await?;
        Err(AccountError::CurrentPasswordWrong)
    }
}
