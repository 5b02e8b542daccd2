//! URLs with several hosts, as libpq writes them; the `url` crate and sqlx know only one.

use super::invalid_url::InvalidUrl;

/// The URL for each host, in order.
pub(super) fn one_url_each(url: &str) -> Result<Vec<String>, InvalidUrl> {
    let (scheme, rest) = url.split_once("://").ok_or(InvalidUrl::InvalidPostgres)?;
    let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let (user, hosts) = authority.rsplit_once('@').map_or(("", authority), |(user, hosts)| {
        // With the separator.
        (&authority[..=user.len()], hosts)
    });
    if !hosts.contains(',') {
        return Ok(vec![url.to_owned()]);
    }
    // An `@` in the path means that the authority ended within a password.
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    if path.contains('@') || hosts.split(',').any(str::is_empty) {
        return Err(InvalidUrl::InvalidPostgres);
    }
    Ok(hosts.split(',').map(|host| format!("{scheme}://{user}{host}{rest}")).collect())
}

#[cfg(test)]
mod tests {
    use super::{super::InvalidUrl, one_url_each};

    #[test]
    fn each_host_has_its_own_port_and_shares_the_rest() {
        let urls = one_url_each("postgres://u:p,w@a:1,b,[::1]:3/db?sslmode=require");
        let expected = ["a:1", "b", "[::1]:3"]
            .map(|host| format!("postgres://u:p,w@{host}/db?sslmode=require"));
        assert_eq!(urls.as_deref(), Ok(&expected[..]));
        assert_eq!(one_url_each("postgres://a,b").map(|urls| urls.len()), Ok(2));
        assert_eq!(one_url_each("postgres://a,b/db?options=c@d").map(|urls| urls.len()), Ok(2));
        let one = "postgres://u:p,w@a/db?options=a,b";
        assert_eq!(one_url_each(one), Ok(vec![one.to_owned()]));
    }

    #[test]
    fn empty_host_and_unescaped_password_are_rejected() {
        for url in ["postgres://a,,b/db", "postgres://u@,b/db", "postgres://u:1,2/hunter2@b/db"] {
            assert_eq!(one_url_each(url), Err(InvalidUrl::InvalidPostgres), "{url}");
        }
    }
}
