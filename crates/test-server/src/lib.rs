//! Rolegate for the tests of applications: gateway and auth-service as they are released, on a database in
//! memory, on free ports of loopback, with cheap password hashes.
//!
//! - `settings`: flags, and users from them.
//! - `control`: the address where tests move the clock and cause failures.
//!
//! `DatabaseUrl::in_memory` and `advance_clock` of `rolegate-sql-store` are only for this program. Clippy refuses other
//! callers, and the end-to-end tests `released_programs` look into the programs.

mod control;
mod settings;

use control::{Controlled, Failures, admin, fail, router};
use rolegate::in_memory;
use rolegate_auth_service::AuthService;
use rolegate_gateway::Gateway;
use rolegate_http_server::{http_server, readiness::Readiness};
use rolegate_program::{
    cidr_set::CidrSet,
    notice::Notice,
    program::{Failure, exit},
    settings::SettingError,
    shutdown::{Shutdown, termination_signal},
};
use rolegate_sql_store::DatabaseUrl;
use rolegate_telemetry::{Telemetry, TelemetrySettings, logs::LogFormat};
use rustix::process::{Pid, getppid};
use settings::{NewUser, Settings};
use std::{collections::HashMap, net::SocketAddr, process::ExitCode, time::Duration};
use tokio::{runtime::Runtime, select, time::interval};

/// Runs the program with the flags of this process.
#[must_use]
pub fn run() -> ExitCode {
    let parent = getppid();
    let outcome = Settings::from_flags().and_then(|settings| {
        let runtime = Runtime::new()?;
        let outcome = runtime.block_on(serve(settings, parent));
        // Nothing remains that could be saved.
        runtime.shutdown_background();
        outcome
    });
    outcome.map_or_else(|failure| exit(&failure), |()| ExitCode::SUCCESS)
}

/// Serves until a signal, or the end of the parent, also by SIGKILL: then this process has another one. Stdin
/// may be no pipe, and `PR_SET_PDEATHSIG` tells the end of a thread.
async fn serve(settings: Settings, parent: Option<Pid>) -> Result<(), Failure> {
    let (terminated, mut ticks) = (termination_signal(), interval(Duration::from_millis(100)));
    if let Some(rust_log) = settings.log.clone() {
        let telemetry = TelemetrySettings {
            rust_log,
            ..TelemetrySettings::default()
        };
        Telemetry::start("test-server", env!("CARGO_PKG_VERSION"), &telemetry)?;
    }
    let (new_users, flags) = (settings.users()?, settings.service);
    let keys = flags.key_source(|| Err(SettingError::new("SIGNING_SECRET", "is required")))?;
    // Shared by the connections of this process, and gone with it.
    #[expect(
        clippy::disallowed_methods,
        reason = "nothing is to remain of a test of an application"
    )]
    let database = DatabaseUrl::in_memory("DATABASE_URL");
    let mut service = AuthService::open(flags.config(database, keys, CidrSet::default())?).await?;
    let failures = Failures::default();
    service.server.routes = fail(&failures, service.server.routes);

    let (shutdown, free) = (Shutdown::new(), SocketAddr::from(([127, 0, 0, 1], 0)));
    let grpc = rolegate_grpc_server::bind("AUTH_LISTEN_ADDR", free)
        .await?
        .with_tls(flags.tls()?);
    let listener = http_server::bind("CONTROL", free).await?;
    let public = settings.public;
    let gateway = Gateway::bind(&public, &flags.sign_in, public.forward_auth_tls()?).await?;
    let (auth, streams) = in_memory::auth();
    let admin_password = flags.default_admin_password.unwrap_or_default();
    let notice = gateway.announce(Notice::new("Rolegate for tests"));
    let notice = notice
        .listener("grpc", grpc.url(), "")
        .listener("control", listener.url(), "");
    let (client, host) = (auth.clone(), listener.address().to_string());
    let ready = async {
        let (admin, mut users) = (admin(&client, &admin_password).await?, HashMap::new());
        for NewUser {
            username,
            password,
            role,
        } in new_users
        {
            let role = role.as_deref().unwrap_or("user").parse().ok();
            let created = admin.create_user(&username, Some(&password), role).await;
            let invalid = |error| SettingError::new("--user", format!("{username:?}: {error}"));
            users.insert(username.clone(), created.map_err(invalid)?.0.id);
        }
        notice.print(LogFormat::Json);
        let controlled = Controlled {
            auth: client,
            admin_password,
            failures,
            users,
            host,
        };
        http_server::serve(listener, router(controlled), shutdown.clone()).await;
        Ok(())
    };
    let orphaned = async {
        while getppid() == parent {
            ticks.tick().await;
        }
    };
    let readiness = Readiness::new(&shutdown);
    let streams = Some((streams, shutdown.clone()));
    select! {
        outcome = ready => outcome,
        outcome = service.server.serve(Some(grpc), streams, readiness, &shutdown) => outcome,
        () = gateway.serve(auth, None, shutdown.clone()) => Ok(()),
        () = terminated => Ok(()),
        () = orphaned => Ok(()),
    }
}
