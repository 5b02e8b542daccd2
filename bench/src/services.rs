//! Starts the real programs: release builds with default settings and all layers.

use crate::{
    Failure,
    program::{Launch, Program},
    users::{PASSWORD, SIGNING_SECRET},
};
use std::path::{Path, PathBuf};

/// The address for a free port of loopback.
pub(crate) const ANY_PORT: &str = "127.0.0.1:0";

/// Starts auth-service on this database.
pub(crate) async fn auth_service(database_url: &str, folder: &Path) -> Result<Program, Failure> {
    auth_service_with(database_url, &[], folder).await
}

/// Starts auth-service on this database with these settings, which replace the usual ones.
pub(crate) async fn auth_service_with(
    database_url: &str,
    changes: &[(&str, &str)],
    folder: &Path,
) -> Result<Program, Failure> {
    let mut settings = vec![("AUTH_LISTEN_ADDR", ANY_PORT)];
    settings.extend(secrets(database_url));
    settings.extend(changes);
    let launch = Launch {
        name: "auth-service",
        file: sibling_binary("auth-service")?,
        arguments: &[],
        settings: &settings,
        listeners: &["grpc", "ops"],
    };
    Program::start(launch, folder).await
}

/// Starts posts-service on this database with this auth-service.
pub(crate) async fn posts_service(
    database_url: &str,
    auth_service: &Program,
    folder: &Path,
) -> Result<Program, Failure> {
    let url = format!("http://{}", auth_service.address("grpc")?);
    let settings = [
        ("POSTS_LISTEN_ADDR", ANY_PORT),
        ("OPS_LISTEN_ADDR", ANY_PORT),
        ("DATABASE_URL", database_url),
        ("AUTH_SERVICE_URL", &url),
    ];
    let launch = Launch {
        name: "posts-service",
        file: sibling_binary("posts-service")?,
        arguments: &[],
        settings: &settings,
        listeners: &["grpc", "ops"],
    };
    Program::start(launch, folder).await
}

/// Starts a gateway for these services. It trusts `X-Forwarded-For` from this machine.
pub(crate) async fn gateway(
    auth_service: &Program,
    posts_service: Option<&Program>,
    folder: &Path,
) -> Result<Program, Failure> {
    let url = format!("http://{}", auth_service.address("grpc")?);
    let mut settings = vec![
        ("AUTH_SERVICE_URL", url.as_str()),
        ("OPS_LISTEN_ADDR", ANY_PORT),
    ];
    let posts_url = posts_service
        .map(|posts| posts.address("grpc"))
        .transpose()?;
    let posts_url = posts_url.map(|address| format!("http://{address}"));
    settings.extend(posts_url.as_deref().map(|url| ("POSTS_SERVICE_URL", url)));
    settings.extend(PUBLIC);
    let launch = Launch {
        name: "gateway",
        file: sibling_binary("gateway")?,
        arguments: &[],
        settings: &settings,
        listeners: &["bearer", "basic", "forward", "ops"],
    };
    Program::start(launch, folder).await
}

/// Starts rolegate on this database, with its data in `folder`.
pub(crate) async fn all_in_one(
    name: &'static str,
    database_url: &str,
    folder: &Path,
) -> Result<Program, Failure> {
    let data = folder.join("data").display().to_string();
    let mut settings = vec![("AUTH_LISTEN_ADDR", ANY_PORT), ("DATA_DIR", data.as_str())];
    settings.push(("POSTS_LISTEN_ADDR", "off"));
    settings.extend(secrets(database_url));
    settings.extend(PUBLIC);
    let launch = Launch {
        name,
        file: sibling_binary("rolegate")?,
        arguments: &[],
        settings: &settings,
        listeners: &["bearer", "basic", "grpc", "ops"],
    };
    Program::start(launch, folder).await
}

const PUBLIC: [(&str, &str); 4] = [
    ("BEARER_LISTEN_ADDR", ANY_PORT),
    ("BASIC_LISTEN_ADDR", ANY_PORT),
    ("FORWARD_AUTH_LISTEN_ADDR", ANY_PORT),
    ("TRUSTED_PROXIES", "127.0.0.0/8"),
];

fn secrets(database_url: &str) -> [(&'static str, &str); 6] {
    [
        ("OPS_LISTEN_ADDR", ANY_PORT),
        ("DATABASE_URL", database_url),
        ("SIGNING_SECRET", SIGNING_SECRET),
        ("DEFAULT_ADMIN_PASSWORD", PASSWORD),
        ("LAME_DUCK_SECONDS", "0"),
        // Floods use correct passwords, and only the queue may refuse them.
        ("LOGIN_FAILURE_LIMIT", "0"),
    ]
}

pub(crate) fn sibling_binary(name: &str) -> Result<PathBuf, Failure> {
    let file = std::env::current_exe()?.with_file_name(name);
    if file.is_file() {
        return Ok(file);
    }
    Err(format!("{} is missing: bench/run builds it", file.display()).into())
}
