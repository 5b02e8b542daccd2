//! Starts the systems, each with the same users in a database of its own.

use super::install::{Packages, run};
use crate::{
    Failure,
    cluster::Cluster,
    http_client::Connection,
    nginx::free_address,
    program::{Launch, Program},
    target::{self, SPLIT},
    users::{self, LoadUser, PASSWORD, SIGNING_SECRET},
};
use http::StatusCode;
use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection};
use std::{
    net::SocketAddr,
    path::Path,
    thread::available_parallelism,
    time::{Duration, Instant},
};
use tokio::process::Command;

const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A running system, which ends when this is dropped.
pub(super) struct Peer {
    pub(super) name: &'static str,
    pub(super) address: SocketAddr,
    pub(super) database_url: String,
    pub(super) api: Api,
    /// The `Authorization` headers, one for each user.
    pub(super) headers: Vec<String>,
    _programs: Vec<Program>,
}

/// The paths and names in the API of a system. All systems have `GET /profile`.
#[derive(Clone, Copy)]
pub(super) struct Api {
    pub(super) register: &'static str,
    pub(super) login: &'static str,
    /// An endpoint that is only for admins.
    pub(super) admin: &'static str,
    /// The member with the token in the response to a login.
    pub(super) token: &'static str,
    /// The column of usernames in the table `user`.
    pub(super) username: &'static str,
}

/// The API of the services. FastAPI's differs only in the endpoint for admins.
const OURS: Api = Api {
    register: "/register",
    login: "/login",
    admin: "/users/1001",
    token: "access_token",
    username: "username",
};

impl Api {
    /// Returns the body of a registration or login. Each system ignores the members that it does not know.
    pub(super) fn credentials(self, username: &str, password: &str) -> Value {
        if self.username == "username" {
            return json!({ "username": username, "password": password });
        }
        let email = format!("{username}@example.com");
        json!({ "name": username, "email": email, "password": password })
    }
}

/// Starts gateway and auth-service.
pub(super) async fn services(
    cluster: &Cluster,
    users: &[LoadUser],
    folder: &Path,
) -> Result<Peer, Failure> {
    let target = target::split(cluster, folder).await?;
    Ok(Peer {
        name: SPLIT,
        address: target.bearer,
        database_url: cluster.url("postgres"),
        api: OURS,
        headers: users.iter().map(LoadUser::bearer).collect(),
        _programs: target.programs,
    })
}

/// Starts FastAPI, which accepts the same tokens as the services.
pub(super) async fn fastapi(
    cluster: &Cluster,
    packages: &Packages,
    users: &[LoadUser],
    folder: &Path,
) -> Result<Peer, Failure> {
    let database_url = create_database(cluster, "fastapi").await?;
    let settings = [
        ("DATABASE_URL", &*database_url),
        ("SIGNING_SECRET", SIGNING_SECRET),
    ];
    let bin = packages.fastapi.join("venv/bin");
    let main = packages.fastapi.join("main.py");
    run(Command::new(bin.join("python")).arg(main).envs(settings)).await?;
    users::insert_into_postgresql(&database_url).await?;
    let address = free_address().await?;
    let (port, workers) = (
        address.port().to_string(),
        available_parallelism()?.to_string(),
    );
    let code = packages.fastapi.display().to_string();
    let launch = Launch {
        name: "FastAPI",
        file: bin.join("uvicorn"),
        arguments: &[
            &[
                "--app-dir",
                &code,
                "main:app",
                "--workers",
                &workers,
                "--no-access-log",
            ][..],
            &["--host", "127.0.0.1", "--port", &port],
        ]
        .concat(),
        settings: &settings,
        listeners: &[],
    };
    let program = Program::start(launch, folder).await?;
    wait_until_ready(&program, address, folder).await?;
    Ok(Peer {
        name: program.name,
        address,
        database_url,
        api: Api {
            admin: "/admin",
            ..OURS
        },
        headers: users.iter().map(LoadUser::bearer).collect(),
        _programs: vec![program],
    })
}

/// Starts better-auth behind hono, which has sessions of its own.
pub(super) async fn better_auth(
    cluster: &Cluster,
    packages: &Packages,
    folder: &Path,
) -> Result<Peer, Failure> {
    let database_url = create_database(cluster, "better_auth").await?;
    let address = free_address().await?;
    let port = address.port().to_string();
    let settings = [
        ("DATABASE_URL", &*database_url),
        ("BETTER_AUTH_SECRET", SIGNING_SECRET),
        ("NODE_ENV", "production"),
        ("PORT", &port),
    ];
    let server = packages.better_auth.join("server.js").display().to_string();
    let count = users::COUNT.to_string();
    let prepare = [&*server, "prepare", &count, PASSWORD];
    let tokens = run(Command::new("node").args(prepare).envs(settings)).await?;
    let launch = Launch {
        name: "better-auth",
        file: "node".into(),
        arguments: &[&*server],
        settings: &settings,
        listeners: &[],
    };
    let program = Program::start(launch, folder).await?;
    wait_until_ready(&program, address, folder).await?;
    let api = Api {
        register: "/api/auth/sign-up/email",
        login: "/api/auth/sign-in/email",
        admin: "/admin",
        token: "token",
        username: "name",
    };
    let headers = tokens
        .lines()
        .map(|token| format!("Bearer {token}"))
        .collect();
    Ok(Peer {
        name: program.name,
        address,
        database_url,
        api,
        headers,
        _programs: vec![program],
    })
}

async fn create_database(cluster: &Cluster, name: &'static str) -> Result<String, Failure> {
    let mut connection = PgConnection::connect(&cluster.url("postgres")).await?;
    let create = sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}"));
    sqlx::query(create).execute(&mut connection).await?;
    connection.close().await?;
    Ok(cluster.url(name))
}

/// Waits until the program refuses a request without a token.
async fn wait_until_ready(
    program: &Program,
    address: SocketAddr,
    folder: &Path,
) -> Result<(), Failure> {
    let start = Instant::now();
    let ready = async || Connection::open(address).await?.get("/profile", None).await;
    while start.elapsed() < START_TIMEOUT {
        let answer = tokio::time::timeout(START_TIMEOUT, ready()).await;
        if matches!(answer, Ok(Ok(answer)) if answer.status == StatusCode::UNAUTHORIZED) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let log = std::fs::read_to_string(folder.join(format!("{}.log", program.name)))?;
    Err(format!("{} did not start\n{log}", program.name).into())
}
