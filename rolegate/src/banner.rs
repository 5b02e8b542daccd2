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
mod tests;
