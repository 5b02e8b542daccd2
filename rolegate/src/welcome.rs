//! What the program says to the person who started it.

use rolegate_service_runtime::program::listener_line;
use std::{fmt::Write as _, net::SocketAddr, path::Path};

/// Where the program listens; `None` is off.
pub(crate) struct Addresses {
    pub(crate) bearer: Option<SocketAddr>,
    pub(crate) basic: Option<SocketAddr>,
    /// The whole line.
    pub(crate) grpc: String,
    /// The whole line.
    pub(crate) posts: String,
    pub(crate) ops: SocketAddr,
}

/// Where the password of the seeded admin is to be read.
pub(crate) enum WhereIsPassword<'a> {
    /// In this file, which was made for this database.
    In(&'a Path),
    /// The file was there before, and the database is not the one beside it: it may be another's.
    PerhapsIn(&'a Path),
    /// Whoever seeded the admin knows it.
    Elsewhere,
}

/// The addresses, where the admin's password is to be read, and two commands to try.
pub(crate) fn text(store: &str, addresses: &Addresses, password: &WhereIsPassword) -> String {
    let mut text = format!(
        "Rolegate {}, users in {store}\n\n{}{}{}{}{}\n",
        env!("CARGO_PKG_VERSION"),
        listener_line("bearer", addresses.bearer, "access tokens and roles"),
        listener_line("basic", addresses.basic, "HTTP Basic"),
        addresses.grpc,
        addresses.posts,
        listener_line("ops", Some(addresses.ops), "/livez /readyz /metrics"),
    );
    let _ = match password {
        WhereIsPassword::In(path) => {
            writeln!(text, "The password of the user admin is in {}", path.display())
        }
        WhereIsPassword::PerhapsIn(path) => writeln!(
            text,
            "The user admin has the password it was given; the one in {} may be of another database.",
            path.display()
        ),
        WhereIsPassword::Elsewhere => {
            writeln!(text, "The user admin has the password it was given.")
        }
    };
    text.push_str(&commands(addresses, password));
    text
}

fn commands(addresses: &Addresses, password: &WhereIsPassword) -> String {
    let password = match password {
        WhereIsPassword::In(path) => format!("$(cat {})", quoted(&path.display().to_string())),
        _ => "PASSWORD".to_owned(),
    };
    let mut text = String::new();
    if let Some(address) = addresses.bearer {
        let _ = write!(
            text,
            "Try:\n  curl -s http://{address}/login -H 'Content-Type: application/json' \
             -d '{{\"username\":\"admin\",\"password\":\"'\"{password}\"'\"}}'\n"
        );
    }
    if let Some(address) = addresses.basic {
        let _ = writeln!(text, "  curl -s http://{address}/protected -u \"admin:{password}\"");
    }
    text
}

/// One word of a shell, whatever is in it.
fn quoted(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    if !path.is_empty() && path.bytes().all(is_plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::{Addresses, WhereIsPassword, quoted, text};
    use std::path::Path;

    fn said(password: &WhereIsPassword) -> String {
        let address = "127.0.0.1:1".parse().expect("an address");
        let (bearer, basic) = (Some(address), Some(address));
        text(
            "SQLite",
            &Addresses { bearer, basic, grpc: String::new(), posts: String::new(), ops: address },
            password,
        )
    }

    #[test]
    fn a_path_is_one_word_of_the_shell() {
        assert_eq!(quoted("./data/initial-admin-password"), "./data/initial-admin-password");
        assert_eq!(quoted("my data/x"), "'my data/x'");
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
    }

    #[test]
    fn only_a_file_that_has_the_password_is_offered_to_the_shell() {
        let path = Path::new("my data/password");
        assert!(said(&WhereIsPassword::In(path)).contains("$(cat 'my data/password')"));
        for password in [WhereIsPassword::PerhapsIn(path), WhereIsPassword::Elsewhere] {
            let said = said(&password);
            assert!(said.contains("PASSWORD") && !said.contains("$(cat"), "{said}");
        }
    }
}
