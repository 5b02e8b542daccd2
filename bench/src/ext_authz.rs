//! Checks of Envoy at auth-service: their latency at a constant rate, and their throughput relative to
//! `Authorize`.
//!
//! The latency of a check is measured from the time at which it was due, however late it could be sent:
//! a stall counts for every check that it delays, as users would see it.

use crate::{
    Failure, cluster, console, machine,
    noise::Noise,
    open_loop::open_loop,
    report::{self, Block, Table, thousands},
    services,
    statistics::{mebibytes, millis},
    usage,
    users::{self, LoadUser},
    verdict::{self, Mark, Verdict},
};
use envoy_types::pb::envoy::service::auth::v3::{
    AttributeContext, CheckRequest,
    attribute_context::{HttpRequest, Request},
    authorization_client::AuthorizationClient,
};
use rolegate_proto::auth_v1::{
    AnyAuthenticated, AuthorizeRequest, auth_service_client::AuthServiceClient,
    authorize_request::Requirement,
};
use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::task::JoinSet;
use tonic::transport::{Channel, Endpoint};

const CONNECTIONS: usize = 8;
/// Checks per second on all connections.
const RATE: f64 = 5000.0;
/// Of the closed loop.
const CALLERS: usize = 128;

/// Sends checks at a constant rate, then as fast as they are answered, and prints the results.
#[derive(Debug, clap::Args)]
pub(crate) struct ExtAuthzOptions {
    /// Take a quarter of the time; the results are too noisy to publish
    #[arg(long)]
    quick: bool,
    /// Update docs/performance-ext-authz.md
    #[arg(long, conflicts_with = "quick")]
    write: bool,
}

/// Runs the benchmark and prints the results.
pub(crate) async fn ext_authz(options: ExtAuthzOptions) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    console::progress("starting PostgreSQL and auth-service");
    let users: Arc<[LoadUser]> = users::with_tokens()?.into();
    let cluster = cluster::start()?;
    let url = cluster.url("postgres");
    let auth = services::auth_service(&url, folder.path()).await?;
    users::insert_into_postgresql(&url).await?;
    let endpoint = Endpoint::from_shared(format!("http://{}", auth.address("grpc")?))?;
    let mut channels = Vec::new();
    for _ in 0..CONNECTIONS {
        channels.push(endpoint.connect().await?);
    }
    let noise = Noise::start(&cluster);

    let seconds = if options.quick { 15 } else { 60 };
    constant_rate(&channels, &users, 2).await?;
    usage::reset_peak_memory(auth.pid)?;
    let mut latencies = constant_rate(&channels, &users, seconds).await?;
    latencies.sort_unstable();
    let memory = mebibytes(usage::peak_memory(auth.pid)?);
    let time = Duration::from_secs(if options.quick { 2 } else { 8 });
    let authorize = async || closed_loop(&channels, &users, time, Call::Authorize).await;
    let check = async || closed_loop(&channels, &users, time, Call::Check).await;
    authorize().await?;
    check().await?;
    // A B B A, so that drift of the machine affects both equally.
    let (authorize_1, check_1) = (authorize().await?, check().await?);
    let (check_2, authorize_2) = (check().await?, authorize().await?);
    let (checks, decisions) =
        (f64::midpoint(check_1, check_2), f64::midpoint(authorize_1, authorize_2));
    let late = |rank| millis(per_mille(&latencies, rank));
    let verdicts = [
        Verdict::once("p99 of checks at a constant rate", late(990), Mark::AtMost(5.0), " ms"),
        Verdict::once("p99.9 of checks at a constant rate", late(999), Mark::AtMost(20.0), " ms"),
        Verdict::once("peak memory of auth-service", memory, Mark::AtMost(40.0), " MiB"),
        Verdict::once("Check / Authorize", checks / decisions, Mark::AtLeast(0.8), "×"),
    ];
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let figures = Table {
        head: vec!["What", "Measured"],
        rows: vec![
            row("checks at a constant rate, median", format!("{:.2} ms", late(500))),
            row("checks at a constant rate, longest", format!("{:.2} ms", late(1000))),
            row("Check per second, as fast as answered", thousands(checks)),
            row("Authorize per second, as fast as answered", thousands(decisions)),
        ],
    };
    let how = format!(
        "{RATE} checks per second on {CONNECTIONS} connections for {seconds} seconds, each timed from \
         when it was due, so that a stall counts for every check that it delays. Then {CALLERS} callers \
         that wait for each answer, Check and Authorize in turns (A B B A)."
    );
    let mut machine = machine::description(&cluster.programs);
    machine.push(noise.report(&cluster));
    let blocks = vec![
        Block::Heading("Marks for checks of Envoy".to_owned()),
        Block::Table(verdict::table(&verdicts)),
        Block::Heading("Figures".to_owned()),
        Block::Table(figures),
        Block::Heading("Method and machine".to_owned()),
        Block::Paragraph(how),
        Block::List(machine),
    ];
    console::print(&report::plain(&blocks));
    if options.write {
        report::write(Path::new("docs/performance-ext-authz.md"), &report::markdown(&blocks))?;
    }
    Ok(())
}

/// Of sorted times.
fn per_mille(sorted: &[Duration], rank: usize) -> Duration {
    let index = (sorted.len() * rank).div_ceil(1000).saturating_sub(1);
    sorted.get(index).copied().unwrap_or_default()
}

/// The time from when each check was due until its answer.
async fn constant_rate(
    channels: &[Channel],
    users: &[LoadUser],
    seconds: u64,
) -> Result<Vec<Duration>, Failure> {
    let one = |number: usize| {
        let user = &users[number * 7919 % users.len()];
        check(channels[number % channels.len()].clone(), check_of(user))
    };
    let completed = open_loop(RATE, Duration::from_secs(seconds), one).await?;
    completed.into_iter().map(|check| check.outcome.map(|()| check.latency)).collect()
}

#[derive(Clone, Copy)]
enum Call {
    Check,
    Authorize,
}

/// Calls per second of callers that wait for each answer.
async fn closed_loop(
    channels: &[Channel],
    users: &Arc<[LoadUser]>,
    time: Duration,
    call: Call,
) -> Result<f64, Failure> {
    let start = Instant::now();
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let (channel, users) = (channels[caller % channels.len()].clone(), Arc::clone(users));
        callers.spawn(async move {
            let (mut count, mut next) = (0_u32, caller * users.len() / CALLERS);
            while start.elapsed() < time {
                next = (next + 7919) % users.len();
                match call {
                    Call::Check => check(channel.clone(), check_of(&users[next])).await?,
                    Call::Authorize => authorize(channel.clone(), &users[next]).await?,
                }
                count += 1;
            }
            Ok::<_, Failure>(count)
        });
    }
    let counts = callers.join_all().await.into_iter().sum::<Result<u32, Failure>>()?;
    Ok(f64::from(counts) / start.elapsed().as_secs_f64())
}

/// What Envoy sends with `allowed_headers` as in `deploy/proxies`.
fn check_of(user: &LoadUser) -> CheckRequest {
    let http = HttpRequest {
        method: "GET".to_owned(),
        host: "app.example".to_owned(),
        path: "/reports/2026?month=5".to_owned(),
        headers: [("authorization".to_owned(), user.bearer())].into(),
        ..HttpRequest::default()
    };
    let attributes = AttributeContext {
        request: Some(Request { http: Some(http), ..Request::default() }),
        context_extensions: [("roles".to_owned(), "*".to_owned())].into(),
        ..AttributeContext::default()
    };
    CheckRequest { attributes: Some(attributes) }
}

async fn check(channel: Channel, request: CheckRequest) -> Result<(), Failure> {
    let response = AuthorizationClient::new(channel).check(request).await?.into_inner();
    match response.status {
        Some(status) if status.code == 0 => Ok(()),
        status => Err(format!("a check was refused: {status:?}").into()),
    }
}

async fn authorize(channel: Channel, user: &LoadUser) -> Result<(), Failure> {
    let requirement = Some(Requirement::AnyAuthenticated(AnyAuthenticated {}));
    let request = AuthorizeRequest { access_token: user.token.clone(), requirement };
    AuthServiceClient::new(channel).authorize(request).await?;
    Ok(())
}
