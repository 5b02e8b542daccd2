//! What is measured by `GET /profile`: whole systems, alike from outside.

use crate::{
    Failure,
    cluster::Cluster,
    program::{Launch, Program},
    services,
    users::{self, SIGNING_SECRET},
    yardstick::Reading,
};
use std::{net::SocketAddr, path::Path};

/// A system that serves `GET /profile`.
#[derive(Debug)]
pub(crate) struct Subject {
    /// What it is called in the report.
    pub(crate) name: &'static str,
    /// Where it serves the bearer variant.
    pub(crate) bearer: SocketAddr,
    /// Its processes, but for PostgreSQL's.
    pub(crate) programs: Vec<Program>,
    /// Whether it asks PostgreSQL.
    pub(crate) asks_postgresql: bool,
}

/// A query for each request.
pub(crate) const YARDSTICK: &str = "monolith, query per request";
/// One query for all that wait.
pub(crate) const SHARED_YARDSTICK: &str = "monolith, shared query";
/// gateway and auth-service.
pub(crate) const SPLIT: &str = "gateway + auth-service";
/// rolegate, on the same database as the others.
pub(crate) const ALL_IN_ONE: &str = "rolegate, PostgreSQL";
/// rolegate, as `cargo run` starts it.
pub(crate) const EMBEDDED: &str = "rolegate, SQLite";

/// The split alone, with all users in its database.
pub(crate) async fn split(cluster: &Cluster, folder: &Path) -> Result<Subject, Failure> {
    let url = cluster.url("postgres");
    let auth_service = services::auth_service(&url, folder).await?;
    users::insert_into_postgresql(&url).await?;
    let gateway = services::gateway(&auth_service, None, folder).await?;
    subject(SPLIT, vec![gateway, auth_service], true)
}

/// Every subject, with all users in its database, in the order of the report.
pub(crate) async fn all(cluster: &Cluster, folder: &Path) -> Result<Vec<Subject>, Failure> {
    // First, because it makes the table.
    let split = split(cluster, folder).await?;
    let url = cluster.url("postgres");
    let all_in_one = services::all_in_one(ALL_IN_ONE, &url, folder).await?;
    let file = folder.join("users.db");
    let embedded_url = format!("sqlite://{}", file.display());
    let embedded = services::all_in_one(EMBEDDED, &embedded_url, folder).await?;
    users::insert_into_sqlite(&file).await?;
    Ok(vec![
        yardstick(YARDSTICK, Reading::PerRequest, &url, folder).await?,
        yardstick(SHARED_YARDSTICK, Reading::Shared, &url, folder).await?,
        split,
        subject(ALL_IN_ONE, vec![all_in_one], true)?,
        subject(EMBEDDED, vec![embedded], false)?,
    ])
}

async fn yardstick(
    name: &'static str,
    reading: Reading,
    database_url: &str,
    folder: &Path,
) -> Result<Subject, Failure> {
    let launch = Launch {
        name,
        file: std::env::current_exe()?,
        arguments: &["yardstick", "--reading", reading.flag()],
        settings: &[("DATABASE_URL", database_url), ("SIGNING_SECRET", SIGNING_SECRET)],
        listeners: &["bearer"],
    };
    subject(name, vec![Program::start(launch, folder).await?], true)
}

/// The first of the programs is the one that clients talk to.
fn subject(
    name: &'static str,
    programs: Vec<Program>,
    asks_postgresql: bool,
) -> Result<Subject, Failure> {
    let bearer = programs.first().ok_or("a subject has programs")?.address("bearer")?;
    Ok(Subject { name, bearer, programs, asks_postgresql })
}
