//! Serves Rolegate for the tests of applications.
//!
//! The gateway and auth-service are those of a release, but on a database in memory, on free ports of loopback, and
//! with cheap password hashes. `serve` in this file starts them, creates the users and prints the addresses.
//!
//! - `settings` parses the flags, which also name the users to create.
//! - `control` serves the address where a test moves the clock, causes failures and revokes tokens.
//!
//! `DatabaseUrl::in_memory` and `advance_clock` of `rolegate-sql-store` are only for this program. Clippy refuses other
//! callers, and the end-to-end tests `released_programs` check that no released program contains them.

mod control;
mod settings;

use control::{ControlState, Failures, admin, inject_failures, router};
use rolegate::in_memory;
use rolegate_auth_service::{AuthService, settings::ServiceSettings};
use rolegate_gateway::Gateway;
use rolegate_grpc_server::InMemoryCallers;
use rolegate_http_server::{http_server, readiness::Readiness};
use rolegate_program::{
    cidr_set::CidrSet,
    failure::{Failure, exit},
    logs::{LogFilter, LogFormat},
    notice::Notice,
    settings::SettingError,
    shutdown::{Shutdown, termination_signal},
    telemetry::{Telemetry, TelemetrySettings},
};
use rolegate_sql_store::DatabaseUrl;
use rustix::process::{Pid, getppid};
use settings::{NewUser, Settings};
use std::{collections::HashMap, net::SocketAddr, process::ExitCode, time::Duration};
use tokio::{runtime::Runtime, select, time::interval};

/// Runs the program with the flags of this process.
#[must_use]
pub fn run() -> ExitCode {
    match try_run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => exit(&failure),
    }
}

fn try_run() -> Result<(), Failure> {
    let parent = getppid();
    let settings = Settings::from_flags()?;
    let runtime = Runtime::new()?;
    let outcome = runtime.block_on(async {
        // Signals are handled from here on, so that none is missed during the start.
        let terminated = termination_signal();
        select! {
            outcome = serve(settings) => outcome,
            () = terminated => Ok(()),
            () = wait_for_orphanage(parent) => Ok(()),
        }
    });
    // The database in memory is gone anyway, so no task needs to finish.
    runtime.shutdown_background();
    outcome
}

/// Resolves when the parent process has ended, even by SIGKILL, because this process then has another parent.
///
/// The end of stdin does not show this, because stdin may not be a pipe. `PR_SET_PDEATHSIG` reports only the end of the
/// thread that started this process.
async fn wait_for_orphanage(parent: Option<Pid>) {
    let mut ticks = interval(Duration::from_millis(100));
    while getppid() == parent {
        ticks.tick().await;
    }
}

/// Starts all parts, and serves until one of them fails.
async fn serve(settings: Settings) -> Result<(), Failure> {
    start_logging(settings.log.as_ref())?;
    let new_users = settings.users()?;
    let service_settings = settings.service;
    let failures = Failures::default();
    let mut service = open_service(&service_settings).await?;
    inject_failures(&failures, &mut service.server);

    let free_port = SocketAddr::from(([127, 0, 0, 1], 0));
    let grpc = rolegate_grpc_server::bind("AUTH_LISTEN_ADDR", free_port)
        .await?
        .with_tls(service_settings.tls()?);
    let control = http_server::bind("CONTROL", free_port).await?;
    let gateway = Gateway::bind(
        &settings.public,
        &service_settings.sign_in,
        settings.public.forward_auth_tls()?,
    )
    .await?;
    let notice = gateway
        .announce(Notice::new("Rolegate for tests"))
        .listener("grpc", grpc.url(), "")
        .listener("control", control.url(), "");

    let shutdown = Shutdown::new();
    let readiness = Readiness::new(&shutdown);
    let (auth, streams) = in_memory::auth();
    let mut state = ControlState {
        auth: auth.clone(),
        admin_password: service_settings.default_admin_password.unwrap_or_default(),
        failures,
        users: HashMap::new(),
        host: control.address().to_string(),
    };
    let serve_control = async {
        create_users(&mut state, new_users).await?;
        // The notice is printed after the users were created, so that a test that has read the notice finds the users.
        notice.print(LogFormat::Json);
        http_server::serve(control, router(state), shutdown.clone()).await;
        Ok(())
    };
    let in_memory = Some(InMemoryCallers {
        streams,
        shutdown: shutdown.clone(),
    });
    select! {
        outcome = serve_control => outcome,
        outcome = service.server.serve(Some(grpc), in_memory, readiness, &shutdown) => outcome,
        () = gateway.serve(auth, None, shutdown.clone()) => Ok(()),
    }
}

fn start_logging(filter: Option<&LogFilter>) -> Result<(), Failure> {
    if let Some(filter) = filter {
        let telemetry = TelemetrySettings {
            rust_log: filter.clone(),
            ..TelemetrySettings::default()
        };
        Telemetry::start("test-server", env!("CARGO_PKG_VERSION"), &telemetry)?;
    }
    Ok(())
}

/// Opens auth-service on a database in memory, which the connections of this process share and which ends with it.
async fn open_service(settings: &ServiceSettings) -> Result<AuthService, Failure> {
    let keys = settings.key_source(|| Err(SettingError::new("SIGNING_SECRET", "is required")))?;
    #[expect(
        clippy::disallowed_methods,
        reason = "nothing is to remain of a test of an application"
    )]
    let database = DatabaseUrl::in_memory("DATABASE_URL");
    AuthService::open(settings.config(database, keys, CidrSet::default())?).await
}

/// Creates the users that the flags name, and stores their ids in `state`.
async fn create_users(state: &mut ControlState, new_users: Vec<NewUser>) -> Result<(), Failure> {
    let admin = admin(&state.auth, &state.admin_password).await?;
    for user in new_users {
        let role = user.role.unwrap_or_else(|| "user".to_owned());
        let (created, _) = admin
            .create_user(&user.username, Some(&user.password), role)
            .await
            .map_err(|error| {
                SettingError::new("--user", format!("{:?}: {error}", user.username))
            })?;
        state.users.insert(user.username, created.id);
    }
    Ok(())
}
