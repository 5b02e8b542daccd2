//! What rolegate prints at the start besides the addresses.

use crate::container::Container;
use std::{
    fmt::Write as _,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::Path,
};

/// Where the operator finds the password of the user admin.
pub(crate) enum AdminPasswordHint<'a> {
    /// In this file, which was generated for this database.
    In(&'a Path),
    /// The file existed before and the database is outside the data folder: they may not belong
    /// together.
    MaybeIn(&'a Path),
    /// It was set by the operator.
    Unknown,
}

/// The hint and two commands to try.
pub(crate) fn text(
    bearer: Option<SocketAddr>,
    basic: Option<SocketAddr>,
    hint: &AdminPasswordHint,
    container: Option<&Container>,
) -> String {
    let inside = if container.is_some() { " of this container" } else { "" };
    let hint_text = match hint {
        AdminPasswordHint::In(path) => {
            format!("The password of the user admin is in {}{inside}", path.display())
        }
        AdminPasswordHint::MaybeIn(path) => format!(
            "The user admin has the password it was given; the one in {}{inside} may belong to another database.",
            path.display()
        ),
        AdminPasswordHint::Unknown => "The user admin has the password it was given.".to_owned(),
    };
    format!("{hint_text}\n{}", commands(bearer, basic, hint, container).trim_end())
}

fn commands(
    bearer: Option<SocketAddr>,
    basic: Option<SocketAddr>,
    hint: &AdminPasswordHint,
    container: Option<&Container>,
) -> String {
    let password = match (hint, container) {
        (AdminPasswordHint::In(path), None) => {
            format!("$(cat {})", quote(&path.display().to_string()))
        }
        (AdminPasswordHint::In(path), Some(container)) => {
            // Outside, the path starts at the root of the container.
            let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
            format!("$({})", container.print_file(&quote(&path.display().to_string())))
        }
        _ => "PASSWORD".to_owned(),
    };
    let mut text = String::new();
    if let Some(address) = bearer.map(reachable) {
        let _ = write!(
            text,
            "Try:\n  curl -s http://{address}/login -H 'Content-Type: application/json' \
             -d '{{\"username\":\"admin\",\"password\":\"'\"{password}\"'\"}}'\n"
        );
    }
    if let Some(address) = basic.map(reachable) {
        let _ = writeln!(text, "  curl -s http://{address}/protected -u \"admin:{password}\"");
    }
    text
}

/// The address for a client on this machine. A container listens on `0.0.0.0`, and its ports are
/// published on the host.
fn reachable(address: SocketAddr) -> SocketAddr {
    let loopback = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        other => other,
    };
    SocketAddr::new(loopback, address.port())
}

/// Quotes a path for a POSIX shell.
fn quote(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    if !path.is_empty() && path.bytes().all(is_plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::{AdminPasswordHint, quote, reachable, text};
    use crate::container::Container;
    use std::path::Path;

    fn banner(hint: &AdminPasswordHint) -> String {
        let address = "127.0.0.1:1".parse().ok();
        text(address, address, hint, None)
    }

    #[test]
    fn paths_are_quoted_for_the_shell() {
        assert_eq!(quote("./data/initial-admin-password"), "./data/initial-admin-password");
        assert_eq!(quote("my data/x"), "'my data/x'");
        assert_eq!(quote("it's $HOME"), r"'it'\''s $HOME'");
    }

    #[test]
    fn commands_name_an_address_that_clients_can_connect_to() {
        for (listening, client) in [
            ("0.0.0.0:8000", "127.0.0.1:8000"),
            ("[::]:8000", "[::1]:8000"),
            ("192.0.2.1:8000", "192.0.2.1:8000"),
        ] {
            let listening = listening.parse().expect("an address");
            assert_eq!(reachable(listening).to_string(), client);
        }
    }

    #[test]
    fn commands_of_a_container_work_outside() {
        let address = "0.0.0.0:8000".parse().ok();
        let (container, path) = (Container::example(), Path::new("/data/my password"));
        let text = text(address, None, &AdminPasswordHint::In(path), Some(&container));
        assert!(text.starts_with(
            "The password of the user admin is in /data/my password of this container\n"
        ));
        let command = "$(docker cp 0123456789ab:'/data/my password' - | tar -xO)";
        assert!(text.contains(command) && text.contains("http://127.0.0.1:8000/login"), "{text}");
        assert!(!text.contains("$(cat"), "{text}");
    }

    #[test]
    fn commands_read_only_a_file_that_contains_the_password() {
        let path = Path::new("my data/password");
        assert!(banner(&AdminPasswordHint::In(path)).contains("$(cat 'my data/password')"));
        for hint in [AdminPasswordHint::MaybeIn(path), AdminPasswordHint::Unknown] {
            let banner = banner(&hint);
            assert!(banner.contains("PASSWORD") && !banner.contains("$(cat"), "{banner}");
        }
    }
}
