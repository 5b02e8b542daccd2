//! What the program says to the person who started it.

use service_runtime::program::listener_line;
use std::{fmt::Write as _, net::SocketAddr, path::Path};

/// Where the program listens; `None` is off.
pub(crate) struct Addresses {
    pub(crate) bearer: Option<SocketAddr>,
    pub(crate) basic: Option<SocketAddr>,
    /// The whole line.
    pub(crate) grpc: String,
    pub(crate) ops: SocketAddr,
}

/// The addresses, where the admin's password is to be read, and two commands to try.
pub(crate) fn text(store: &str, addresses: &Addresses, admin_password: &Path) -> String {
    let mut text = format!(
        "Rolegate {}, users in {store}\n\n{}{}{}{}",
        env!("CARGO_PKG_VERSION"),
        listener_line("bearer", addresses.bearer, "access tokens and roles"),
        listener_line("basic", addresses.basic, "HTTP Basic"),
        addresses.grpc,
        listener_line("ops", Some(addresses.ops), "/livez /readyz /metrics"),
    );
    let password_file = admin_password.exists().then_some(admin_password);
    match password_file {
        Some(path) => {
            let _ = write!(text, "\nThe password of the user admin is in {}\n", path.display());
        }
        None => text.push_str("\nThe user admin has the password it was given.\n"),
    }
    text.push_str(&commands(addresses, password_file));
    text
}

fn commands(addresses: &Addresses, password_file: Option<&Path>) -> String {
    let password = password_file
        .map_or_else(|| "PASSWORD".to_owned(), |path| format!("$(cat {})", path.display()));
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
