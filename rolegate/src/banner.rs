//! What rolegate prints at the start besides the addresses.

use crate::container::Container;
use rolegate_sql_store::{DatabaseTarget, DatabaseUrl};
use std::{
    env::current_exe,
    fmt::Write as _,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::{Path, absolute},
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

/// The command that sets another password, on the database of this program. The URL of a server is a
/// secret, which the command reads from the environment.
pub(crate) fn reset_password(data_dir: &Path, users: &DatabaseUrl, is_in_data_dir: bool) -> String {
    let absolute = |path: &Path| absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let program = current_exe().unwrap_or_else(|_| "rolegate".into());
    let database = match users.target() {
        _ if is_in_data_dir => format!(" --data-dir {}", quote(&absolute(data_dir))),
        DatabaseTarget::Sqlite(file) => {
            format!(" --database-url sqlite://{}", quote(&absolute(file)))
        }
        DatabaseTarget::Postgres(_) => String::new(),
    };
    format!("{} user reset-password admin{database}", quote(&program))
}

/// The hint, and commands to try. `reset` is the command that sets another password.
pub(crate) fn text(
    bearer: Option<SocketAddr>,
    basic: Option<SocketAddr>,
    hint: &AdminPasswordHint,
    reset: &str,
    container: Option<&Container>,
) -> String {
    let inside = if container.is_some() { " of this container" } else { "" };
    let reset = container.map_or_else(|| reset.to_owned(), |container| container.run(reset));
    let reset = format!("With the settings of this program, this sets another one:\n  {reset}");
    let hint_text = match hint {
        AdminPasswordHint::In(path) => {
            format!("The password of the user admin is in {}{inside}", path.display())
        }
        AdminPasswordHint::MaybeIn(path) => format!(
            "The user admin has the password it was given; the one in {}{inside} may belong to another database. {reset}",
            path.display()
        ),
        AdminPasswordHint::Unknown => {
            format!("The user admin has the password it was given. {reset}")
        }
    };
    format!("{hint_text}{}", commands(bearer, basic, hint, container))
}

fn commands(
    bearer: Option<SocketAddr>,
    basic: Option<SocketAddr>,
    hint: &AdminPasswordHint,
    container: Option<&Container>,
) -> String {
    let password = match (hint, container) {
        (AdminPasswordHint::In(path), None) => Some(format!("$(cat {})", quote(path))),
        (AdminPasswordHint::In(path), Some(container)) => {
            // Outside, the path starts at the root of the container.
            let path = absolute(path).unwrap_or_else(|_| path.to_path_buf());
            Some(format!("$({})", container.print_file(&quote(&path))))
        }
        _ => None,
    };
    let mut text = String::new();
    if let (Some(address), Some(password)) = (bearer.map(reachable), &password) {
        let _ = write!(
            text,
            "\n  curl -s -w '\\n' http://{address}/login -H 'Content-Type: application/json' \
             -d '{{\"username\":\"admin\",\"password\":\"'\"{password}\"'\"}}'"
        );
    }
    if let Some(address) = basic.map(reachable) {
        // Without a password, curl asks for it.
        let user = password.map_or("admin".to_owned(), |it| format!("\"admin:{it}\""));
        let _ = write!(text, "\n  curl -s -w '\\n' http://{address}/protected -u {user}");
    }
    if text.is_empty() { text } else { format!("\nTry:{text}") }
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
fn quote(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    if !path.is_empty() && path.bytes().all(is_plain) {
        path
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::{AdminPasswordHint, quote, reachable, reset_password, text};
    use crate::container::Container;
    use rolegate_sql_store::DatabaseUrl;
    use std::path::Path;

    fn banner(hint: &AdminPasswordHint) -> String {
        let address = "127.0.0.1:1".parse().ok();
        text(address, address, hint, "rolegate user reset-password admin", None)
    }

    #[test]
    fn paths_are_quoted_for_the_shell() {
        let quote = |path: &str| quote(Path::new(path));
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
        let reset = "/rolegate user reset-password admin";
        let text = |hint| text(address, None, hint, reset, Some(&container));
        let unknown = text(&AdminPasswordHint::Unknown);
        let command = "\n  docker exec -it 0123456789ab /rolegate user reset-password admin";
        assert!(unknown.ends_with(command), "{unknown}");
        let text = text(&AdminPasswordHint::In(path));
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
            assert!(!banner.contains("PASSWORD") && !banner.contains("$(cat"), "{banner}");
            assert!(banner.contains("\n  rolegate user reset-password admin\n"), "{banner}");
            // curl asks.
            assert!(banner.ends_with("/protected -u admin"), "{banner}");
        }
    }

    #[test]
    fn the_command_that_sets_a_password_names_the_database_unless_its_url_is_a_secret() {
        let command = |url: &str, is_in_data_dir| {
            let url = DatabaseUrl::required("DATABASE_URL", Some(url.into()), None);
            let data_dir = Path::new("/my data");
            let command = reset_password(data_dir, &url.expect("valid"), is_in_data_dir);
            command.split_once(" user ").expect("a command").1.to_owned()
        };
        let own = command("sqlite:///my data/rolegate.db", true);
        assert_eq!(own, "reset-password admin --data-dir '/my data'");
        let other = command("sqlite:///a/users.db", false);
        assert_eq!(other, "reset-password admin --database-url sqlite:///a/users.db");
        let server = command("postgres://rolegate:hunter2@db/users", false);
        assert_eq!(server, "reset-password admin");
    }
}
