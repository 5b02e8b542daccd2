//! The text that rolegate prints at the start below the addresses: where the password of the user admin is, and what to
//! try first. If rolegate runs in a container, the commands are for a shell outside of it.

use crate::{data_dir::DataDir, settings::Settings};
use rolegate_sql_store::DatabaseUrl;
use std::{
    env::current_exe,
    fmt::Write as _,
    fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::{Path, PathBuf, absolute},
};

/// Tells the operator where the password of the user admin is.
pub(crate) enum AdminPasswordHint<'a> {
    /// The password is in this file, which was generated for this database.
    In(&'a Path),
    /// The password may be in this file. The file existed before this start, and the database is outside the data
    /// folder, so the two may not belong together.
    MaybeIn(&'a Path),
    /// There is no such file: the operator has set the password, or the generated password has changed.
    Unknown,
}

/// The file of the generated password of the user admin, and whether it existed before this start.
pub(crate) struct AdminPasswordFile {
    path: PathBuf,
    existed: bool,
    /// True if the database of users is in the folder of this file, because no setting names another one.
    pub(crate) is_beside_users: bool,
}

impl AdminPasswordFile {
    pub(crate) fn before_start(settings: &Settings, data_dir: &DataDir) -> Self {
        let path = data_dir.initial_admin_password();
        Self {
            existed: path.exists(),
            path,
            is_beside_users: settings.database_url.is_none()
                && settings.database_url_file.is_none(),
        }
    }

    pub(crate) fn hint(&self) -> AdminPasswordHint<'_> {
        if !self.path.exists() {
            AdminPasswordHint::Unknown
        } else if self.is_beside_users || !self.existed {
            AdminPasswordHint::In(&self.path)
        } else {
            AdminPasswordHint::MaybeIn(&self.path)
        }
    }
}

/// Returns the command that sets another password of the user admin, with a flag for the database of this program.
///
/// There is no flag for the URL of a PostgreSQL server, which is a secret: the command reads it from the environment.
pub(crate) fn reset_password(data_dir: &Path, users: &DatabaseUrl, is_in_data_dir: bool) -> String {
    let program = current_exe().unwrap_or_else(|_| "rolegate".into());
    let database = match users.sqlite_file() {
        _ if is_in_data_dir => format!(" --data-dir {}", quote(&absolute_path(data_dir))),
        Some(file) => {
            format!(" --database-url sqlite://{}", quote(&absolute_path(file)))
        }
        None => String::new(),
    };
    format!("{} user reset-password admin{database}", quote(&program))
}

/// The first things to try, as commands to copy.
pub(crate) struct FirstSteps<'a> {
    /// The listener for access tokens, if it is on.
    pub(crate) bearer: Option<SocketAddr>,
    /// The listener for HTTP Basic, if it is on.
    pub(crate) basic: Option<SocketAddr>,
    pub(crate) admin_password: AdminPasswordHint<'a>,
    /// The command that sets another password of the user admin.
    pub(crate) reset_password: String,
    /// The container of this process. If there is one, the commands are made for a shell outside of it.
    pub(crate) container: Option<Container>,
}

impl FirstSteps<'_> {
    pub(crate) fn text(&self) -> String {
        let mut text = self.password_sentence();
        let print_password = match self.admin_password {
            AdminPasswordHint::In(path) => Some(self.print_file(path)),
            AdminPasswordHint::MaybeIn(_) | AdminPasswordHint::Unknown => None,
        };
        let mut requests = Vec::new();
        if let Some(address) = self.bearer
            && let Some(password) = &print_password
        {
            let address = reachable(address);
            requests.push(format!(
                "http://{address}/login -H 'Content-Type: application/json' \
                 -d '{{\"username\":\"admin\",\"password\":\"'\"$({password})\"'\"}}'"
            ));
        }
        if let Some(address) = self.basic {
            let address = reachable(address);
            let user = match &print_password {
                Some(password) => format!("\"admin:$({password})\""),
                // curl prompts for a password if none is given.
                None => "admin".to_owned(),
            };
            requests.push(format!("http://{address}/protected -u {user}"));
        }
        if !requests.is_empty() {
            text += "\nTry:";
        }
        for request in requests {
            let _ = write!(text, "\n  curl -s -w '\\n' {request}");
        }
        text
    }

    /// Returns the sentence that says where the password of the user admin is.
    fn password_sentence(&self) -> String {
        let inside = match self.container {
            Some(_) => " of this container",
            None => "",
        };
        let reset = match &self.container {
            Some(container) => container.run(&self.reset_password),
            None => self.reset_password.clone(),
        };
        let reset = format!("To set another one, run this with the program's settings:\n  {reset}");
        match self.admin_password {
            AdminPasswordHint::In(path) => {
                let path = path.display();
                format!("The password of the user admin is in {path}{inside}")
            }
            AdminPasswordHint::MaybeIn(path) => {
                let path = path.display();
                format!(
                    "The password of the user admin is in {path}{inside}, unless that file belongs to another database. {reset}"
                )
            }
            AdminPasswordHint::Unknown => {
                format!("The password of the user admin was set before. {reset}")
            }
        }
    }

    fn print_file(&self, path: &Path) -> String {
        match &self.container {
            None => format!("cat {}", quote(path)),
            // The command runs outside of the container, so it needs an absolute path.
            Some(container) => container.print_file(&quote(&absolute_path(path))),
        }
    }
}

fn absolute_path(path: &Path) -> PathBuf {
    absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

/// Returns the address at which a client on this machine reaches a listener.
///
/// For a listener on `0.0.0.0` or `::` this is loopback, in a container too, because its ports are published on the
/// host.
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

/// The number of hexadecimal digits of a container's id that Docker and Podman use as its host name.
const ID_LENGTH: usize = 12;

/// A container of Docker or Podman that has no shell, such as one of the released image.
///
/// People read its log outside of the container, so the commands in the log must work there.
#[derive(Debug)]
pub(crate) struct Container {
    engine: &'static str,
    /// The id of the container, or the placeholder `CONTAINER` if its host name is not an id.
    id: String,
}

impl Container {
    /// Returns the container of this process, if it runs in one that has no shell.
    pub(crate) fn current() -> Option<Self> {
        Self::find(Path::new("/"))
    }

    /// Looks below `root` for the files that mark a container, and for a shell. Returns `None` outside of a container,
    /// and in one that has a shell.
    fn find(root: &Path) -> Option<Self> {
        let engine = if root.join(".dockerenv").exists() {
            "docker"
        } else if root.join("run/.containerenv").exists() {
            "podman"
        } else {
            return None;
        };
        if root.join("bin/sh").exists() {
            return None;
        }
        let name = fs::read_to_string(root.join("etc/hostname")).unwrap_or_default();
        let name = name.trim();
        let is_id = name.len() == ID_LENGTH && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        Some(Self {
            engine,
            id: if is_id { name } else { "CONTAINER" }.to_owned(),
        })
    }

    /// Returns a command for a shell outside of the container. It prints the file with this absolute path.
    fn print_file(&self, path: &str) -> String {
        format!("{} cp {}:{path} - | tar -xO", self.engine, self.id)
    }

    /// Returns a command for a shell outside of the container. It runs `command` inside, on a terminal.
    fn run(&self, command: &str) -> String {
        format!("{} exec -it {} {command}", self.engine, self.id)
    }
}

#[cfg(test)]
mod tests;
