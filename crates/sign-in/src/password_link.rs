//! Builds the links with which users choose their passwords.

use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

/// Returns the URL of the page where a user chooses a password: at the origin of `SIGN_IN_URL`, or only a path if that
/// setting is a path.
///
/// The token of the link is in the fragment, which browsers send to no server. The origin never comes from a request:
/// an attacker who could choose it, for example with the header `Host`, would get the tokens of other users.
pub fn password_link_url(sign_in_url: &str, token: &SecretString) -> SecretString {
    let page = Url::parse(sign_in_url);
    let origin = page.map_or_else(|_| String::new(), |url| url.origin().ascii_serialization());
    format!("{origin}/set-password#{}", token.expose_secret()).into()
}

#[cfg(test)]
mod tests {
    use super::password_link_url;
    use secrecy::ExposeSecret as _;

    #[test]
    fn link_has_the_origin_of_the_setting_and_nothing_else_of_it() {
        for (sign_in_url, origin) in [
            ("/sign-in", ""),
            ("/auth.example.org/sign-in", ""),
            ("/", ""),
            ("https://auth.example.org", "https://auth.example.org"),
            (
                "https://auth.example.org/a/sign-in",
                "https://auth.example.org",
            ),
            (
                "https://Auth.Example.org:443/sign-in",
                "https://auth.example.org",
            ),
            (
                "https://auth.example.org:8443/sign-in",
                "https://auth.example.org:8443",
            ),
            ("http://localhost:8000/sign-in", "http://localhost:8000"),
            ("http://[::1]:8000/sign-in", "http://[::1]:8000"),
        ] {
            let url = password_link_url(sign_in_url, &"rgl_a-b_c".into());
            let expected = format!("{origin}/set-password#rgl_a-b_c");
            assert_eq!(url.expose_secret(), expected, "{sign_in_url}");
        }
    }
}
