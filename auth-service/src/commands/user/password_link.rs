//! `user password-link`: creates a link at which a user chooses a password.

use super::operator::Operator;
use crate::{
    accounts::{GeneratedLink, PasswordLink},
    change::Change,
    commands::{terminal::print_note, timestamp::rfc3339_or_dash},
};
use rolegate_program::{failure::Failure, output::print_secret};
use rolegate_sign_in::password_link::password_link_url;
use secrecy::ExposeSecret as _;

/// Creates a link, which replaces an earlier link of the user, and prints it. Only the link is on
/// stdout, so that a script can send it; its expiry is on stderr.
pub(super) async fn run(
    operator: &Operator,
    username: &str,
    sign_in_url: &str,
) -> Result<(), Failure> {
    let user = operator.find(username).await?;
    let GeneratedLink { link, stored } = GeneratedLink::generate(operator.now().await?)?;
    let change = Change::CreatePasswordLink {
        user_id: user.id,
        link: stored,
    };
    operator.change(&user, change).await?;
    print_link(username, sign_in_url, &link)
}

/// Prints a link on stdout, and notes for the operator on stderr.
pub(super) fn print_link(
    username: &str,
    sign_in_url: &str,
    link: &PasswordLink,
) -> Result<(), Failure> {
    let url = password_link_url(sign_in_url, &link.token);
    print_secret(
        &url,
        &format!("the link of the user {username:?} is created"),
        "it is lost: create another with user password-link, which ends this one",
    )?;
    if url.expose_secret().starts_with('/') {
        print_note(
            "Send it with the address of your server before it, such as https://auth.example.org; if \
             SIGN_IN_URL has that address, the command prints the whole link.",
        );
    }
    let end = rfc3339_or_dash(Some(link.expires_at));
    print_note(&format!("It is good once, until {end}."));
    Ok(())
}
