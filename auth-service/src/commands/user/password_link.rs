//! Prints the link at which a user chooses a password.

use crate::{
    commands::{terminal::print_note, timestamp::rfc3339_or_dash},
    settings::ServiceSettings,
    tokens::NewPasswordLink,
};
use rolegate_program::{failure::Failure, output::print_secret};
use rolegate_sign_in::password_link::password_link_url;
use secrecy::ExposeSecret as _;

/// Prints a new link. Only the link is on stdout, so that a script can send it; its expiry and other
/// notes for the operator are on stderr.
pub(super) fn print_link(
    username: &str,
    settings: &ServiceSettings,
    link: &NewPasswordLink,
) -> Result<(), Failure> {
    let url = password_link_url(&settings.sign_in.sign_in_url, &link.token);
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
