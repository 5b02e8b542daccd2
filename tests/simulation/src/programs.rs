//! Runs the programs as their own `main` puts them together, without signals and the admin server.

use clap::Parser;
use rolegate_auth_service::{AuthService, settings::Settings as AuthSettings};
use rolegate_gateway::{Gateway, settings::Settings as GatewaySettings};
use rolegate_http_server::readiness::Readiness;
use rolegate_posts_service::{
    host::{self, HostOptions},
    settings::Settings as PostsSettings,
};
use rolegate_program::{failure::Failure, shutdown::Shutdown};
use std::{future::Future, time::Duration};

/// The names of the files of the databases.
pub(crate) const USERS_FILE: &str = "users.db";
pub(crate) const POSTS_FILE: &str = "posts.db";
/// How many wrong passwords of a username a client may try in a minute.
pub(crate) const LOGIN_FAILURE_LIMIT: u32 = 5;
pub(crate) const ADMIN_PASSWORD: &str = "the password of the admin";

const ANY: &str = "0.0.0.0/0";
const SECRET: &str = "a secret that signs the tokens of the simulation";

fn settings<S: Parser>(flags: &[&str]) -> Result<S, Failure> {
    Ok(S::try_parse_from([&["program"], flags].concat())?)
}

/// Runs a program, and starts it again if its start fails, as systemd or Kubernetes would.
pub(crate) async fn restarted<F>(name: &'static str, program: fn() -> F) -> turmoil::Result
where
    F: Future<Output = Result<(), Failure>>,
{
    loop {
        let ended = program().await;
        tracing::warn!(?ended, "{name} has ended and is started again");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

pub(crate) async fn auth_service() -> Result<(), Failure> {
    let limit = LOGIN_FAILURE_LIMIT.to_string();
    let mut settings: AuthSettings = settings(&[
        &format!("--database-url=sqlite://{USERS_FILE}"),
        "--trusted-gateways",
        ANY,
        "--signing-secret",
        SECRET,
        "--default-admin-password",
        ADMIN_PASSWORD,
        "--bcrypt-threads=2",
        "--bcrypt-lanes=2",
        "--login-failure-limit",
        &limit,
    ])?;
    settings.service.bcrypt_cost = 4;
    let trusted = settings.host.trusted_gateways.clone();
    let config = settings
        .service
        .config(settings.database.url()?, settings.keys()?, trusted)?;
    let auth = AuthService::open(config).await?;
    let address = ([0, 0, 0, 0], 50051).into();
    let listener = rolegate_grpc_server::bind("AUTH_LISTEN_ADDR", address).await?;
    let shutdown = Shutdown::new();
    auth.server
        .serve(Some(listener), None, Readiness::new(&shutdown), &shutdown)
        .await
}

pub(crate) async fn posts_service() -> Result<(), Failure> {
    let settings: PostsSettings = settings(&[
        &format!("--database-url=sqlite://{POSTS_FILE}"),
        "--auth-service-url=http://auth:50051",
        "--trusted-gateways",
        ANY,
    ])?;
    let (auth, _) = settings.auth_tls.client(&settings.auth_service_url)?;
    let database = settings.database.url()?;
    let options = HostOptions {
        trusted_gateways: settings.host.trusted_gateways,
        response_memory_mib: settings.response_memory_mib,
        posts_of_deleted_users: settings.posts_of_deleted_users,
        user_changes_key: None,
    };
    let shutdown = Shutdown::new();
    let server = host::open(&database, auth, options, &shutdown).await?;
    let address = ([0, 0, 0, 0], 50052).into();
    let listener = rolegate_grpc_server::bind("POSTS_LISTEN_ADDR", address).await?;
    server
        .serve(Some(listener), None, Readiness::new(&shutdown), &shutdown)
        .await
}

pub(crate) async fn gateway() -> Result<(), Failure> {
    let settings: GatewaySettings = settings(&[
        "--auth-service-url=http://auth:50051",
        "--posts-service-url=http://posts:50052",
        "--bearer-listen-addr=0.0.0.0:8000",
        "--basic-listen-addr=0.0.0.0:8001",
        "--forward-auth-listen-addr=off",
    ])?;
    let (auth, _) = settings.auth_tls.client(&settings.auth_service_url)?;
    let (posts, _) = settings
        .posts_tls
        .client(settings.posts_service_url.as_deref())?;
    let gateway = Gateway::bind(&settings.public, &settings.sign_in, None).await?;
    gateway.serve(auth, posts, Shutdown::new()).await;
    Ok(())
}
