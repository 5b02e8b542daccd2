//! Starts the systems under test that serve `GET /profile`.

use crate::{
    Failure,
    baseline::Reading,
    cluster::Cluster,
    program::{Launch, Program},
    services, usage,
    users::{self, SIGNING_SECRET},
};
use std::{net::SocketAddr, path::Path, time::Duration};

/// A system that serves `GET /profile`.
#[derive(Debug)]
pub(crate) struct Target {
    /// The name of the system in the report.
    pub(crate) name: &'static str,
    /// The bearer address.
    pub(crate) bearer: SocketAddr,
    /// The processes of the system, without PostgreSQL.
    pub(crate) programs: Vec<Program>,
    /// True if it uses PostgreSQL.
    pub(crate) asks_postgresql: bool,
}

impl Target {
    /// Returns the CPU time of each program so far. PostgreSQL comes last; `postgresql` has the process ids of its
    /// servers.
    pub(crate) fn cpu(&self, postgresql: &[u32]) -> Vec<(&'static str, Duration)> {
        let programs = self.programs.iter();
        let mut cpu: Vec<_> = programs
            .map(|one| (one.name, usage::cpu(one.pid)))
            .collect();
        if self.asks_postgresql {
            cpu.push((
                "PostgreSQL",
                postgresql.iter().copied().map(usage::cpu_of_family).sum(),
            ));
        }
        cpu
    }
}

/// The name of the baseline with one query per request.
pub(crate) const BASELINE: &str = "monolith, query per request";
/// The name of the baseline with batched queries.
pub(crate) const BATCHED_BASELINE: &str = "monolith, shared query";
/// The name of gateway and auth-service as separate processes.
pub(crate) const SPLIT: &str = "gateway + auth-service";
/// The name of gateway and auth-service with `DATABASE_READS=primary`, on a database with a synchronous standby.
pub(crate) const PRIMARY: &str = "reads=primary, synchronous standby";
/// The name of gateway and auth-service with `DATABASE_READS=quorum`, on a database with a synchronous standby.
pub(crate) const QUORUM: &str = "reads=quorum, synchronous standby";
/// The name of rolegate on PostgreSQL.
pub(crate) const ALL_IN_ONE: &str = "rolegate, PostgreSQL";
/// The name of rolegate on SQLite, as `cargo run` starts it.
pub(crate) const EMBEDDED: &str = "rolegate, SQLite";

/// Starts gateway and auth-service with all users in the database.
pub(crate) async fn split(cluster: &Cluster, folder: &Path) -> Result<Target, Failure> {
    let url = cluster.url("postgres");
    let auth_service = services::auth_service(&url, folder).await?;
    users::insert_into_postgresql(&url).await?;
    let gateway = services::gateway(&auth_service, None, folder).await?;
    target(SPLIT, vec![gateway, auth_service], true)
}

/// Starts gateway and auth-service twice on a database with a synchronous standby: with
/// `DATABASE_READS=primary` and with `quorum`.
pub(crate) async fn by_reads(cluster: &Cluster, folder: &Path) -> Result<[Target; 2], Failure> {
    let url = cluster.url("postgres");
    let primary = services::auth_service(&url, folder).await?;
    users::insert_into_postgresql(&url).await?;
    let quorum = services::auth_service_with(&url, &[("DATABASE_READS", "quorum")], folder).await?;
    let gateways = (
        services::gateway(&primary, None, folder).await?,
        services::gateway(&quorum, None, folder).await?,
    );
    Ok([
        target(PRIMARY, vec![gateways.0, primary], true)?,
        target(QUORUM, vec![gateways.1, quorum], true)?,
    ])
}

/// Starts every target with all users in its database, in the order of the report.
pub(crate) async fn all(cluster: &Cluster, folder: &Path) -> Result<Vec<Target>, Failure> {
    // This system starts first, because it creates the table.
    let split = split(cluster, folder).await?;
    let url = cluster.url("postgres");
    let all_in_one = services::all_in_one(ALL_IN_ONE, &url, folder).await?;
    let file = folder.join("users.db");
    let embedded_url = format!("sqlite://{}", file.display());
    let embedded = services::all_in_one(EMBEDDED, &embedded_url, folder).await?;
    users::insert_into_sqlite(&file).await?;
    Ok(vec![
        baseline(BASELINE, Reading::PerRequest, &url, folder).await?,
        baseline(BATCHED_BASELINE, Reading::Shared, &url, folder).await?,
        split,
        target(ALL_IN_ONE, vec![all_in_one], true)?,
        target(EMBEDDED, vec![embedded], false)?,
    ])
}

async fn baseline(
    name: &'static str,
    reading: Reading,
    database_url: &str,
    folder: &Path,
) -> Result<Target, Failure> {
    let launch = Launch {
        name,
        file: std::env::current_exe()?,
        arguments: &["baseline", "--reading", reading.flag()],
        settings: &[
            ("DATABASE_URL", database_url),
            ("SIGNING_SECRET", SIGNING_SECRET),
        ],
        listeners: &["bearer"],
    };
    target(name, vec![Program::start(launch, folder).await?], true)
}

/// Makes a target of these programs. Clients connect to the first one.
fn target(
    name: &'static str,
    programs: Vec<Program>,
    asks_postgresql: bool,
) -> Result<Target, Failure> {
    let bearer = programs
        .first()
        .ok_or("a target has programs")?
        .address("bearer")?;
    Ok(Target {
        name,
        bearer,
        programs,
        asks_postgresql,
    })
}
