//! Somebody changes their own password.

use super::{
    AccountError, Accounts, Origin, Requirement,
    password_check::{Claim, urgency},
};
use crate::{
    audit::{self, Event, Way},
    password::Password,
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
        origin: Origin,
    ) -> Result<User, AccountError> {
        let user = self.authorize(access_token, &Requirement::AnyAuthenticated).await?;
        let new = Password::new(new, self.policy.password_min_length)
            .map_err(AccountError::PasswordInvalid)?;
        self.hasher.has_room(urgency(origin))?;
        let claim = Claim::new(&user.username, current);
        // Somebody else may have the name by now; then the user is as good as gone.
        let stored = self.stored(&claim).await?.filter(|stored| stored.user.id == user.id);
        let stored = stored.ok_or(AccountError::TokenUserNotFound)?;
        let checked = self.guess(&claim, Some(&stored), origin, Way::Change).await?;
        if !checked.is_right {
            return Err(AccountError::CurrentPasswordWrong);
        }
        // Only over the password that was checked: of two who change it at once, one is too late.
        let owner = PasswordWriter::Owner { seen: stored.user.tokens_not_before };
        let tell = |user: &User| audit::tell(Event::PasswordChanged { user });
        let changed = self.give_password(user.id, &new, owner, urgency(origin), tell).await?;
        if let Some(user) = changed {
            return Ok(user);
        }
        // The other change has ended this token, or the user is gone.
        self.authorize(access_token, &Requirement::AnyAuthenticated).await?;
        Err(AccountError::CurrentPasswordWrong)
    }
}
