//! An application behind nginx with `auth_request`, relative to the same nginx without it.

use crate::{
    Failure, cluster, console, machine,
    noise::Noise,
    program::Program,
    report::{self, Block, Table, thousands},
    services,
    statistics::rate,
    usage,
    users::{self, LoadUser},
    verdict::{self, Mark, Verdict},
    wrk::Wrk,
};
use std::{net::SocketAddr, path::Path, process::Stdio, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    process::{Child, Command},
};

const CONFIGURATION: &str = include_str!("../../deploy/proxies/nginx/nginx.conf");
/// The least application: it answers everything.
const APPLICATION: &str = "events {}
http { server { listen 127.0.0.1:8080; location / { return 200 ok; } } }
";
const CONNECTIONS: usize = 128;

/// Loads an application behind nginx, with and without decisions, and prints the ratio.
#[derive(Debug, clap::Args)]
pub(crate) struct ProxyOptions {
    /// Take a quarter of the time; the results are too noisy to publish
    #[arg(long)]
    quick: bool,
    /// Update docs/performance-proxy.md
    #[arg(long, conflicts_with = "quick")]
    write: bool,
}

/// Runs the benchmark and prints the results.
pub(crate) async fn proxy(options: ProxyOptions) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    console::progress("starting PostgreSQL, auth-service, gateway and nginx");
    let users = users::with_tokens()?;
    let cluster = cluster::start()?;
    let url = cluster.url("postgres");
    let auth = services::auth_service(&url, folder.path()).await?;
    users::insert_into_postgresql(&url).await?;
    let gateway = services::gateway(&auth, None, folder.path()).await?;
    let (application, proxy) = (free_port().await?, free_port().await?);
    let ports = [
        (8080, application.port()),
        (8088, proxy.port()),
        (8002, gateway.address("forward")?.port()),
    ];
    let applications = nginx("application", APPLICATION, &ports, folder.path())?;
    let proxies = nginx("proxy", CONFIGURATION, &ports, folder.path())?;
    reachable(application).await?;
    reachable(proxy).await?;

    let headers = || users.iter().map(LoadUser::bearer);
    let open = Wrk::new("/public/", headers(), folder.path())?;
    let decided = Wrk::new("/decided", headers(), folder.path())?;
    let noise = Noise::start(&cluster);
    let seconds = if options.quick { 3 } else { 12 };
    let load = async |wrk: &Wrk| -> Result<f64, Failure> {
        let seen = wrk.load(proxy, CONNECTIONS, seconds).await?;
        Ok(rate(seen.requests, seen.time))
    };
    load(&open).await?;
    load(&decided).await?;
    let cpu = || cpu_of(&applications, &proxies, &gateway, &auth, cluster.pid);
    // A B B A, so that drift of the machine affects both equally.
    let open_1 = load(&open).await?;
    let before = cpu();
    let (decided_1, decided_2) = (load(&decided).await?, load(&decided).await?);
    let after = cpu();
    let open_2 = load(&open).await?;
    let (open, decided) = (f64::midpoint(open_1, open_2), f64::midpoint(decided_1, decided_2));
    let ratio = "nginx with auth_request / without, 128 connections";
    let verdicts = [Verdict::once(ratio, decided / open, Mark::AtLeast(0.35), "×")];
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let mut rows = vec![
        row("requests per second without auth_request", thousands(open)),
        row("requests per second with auth_request", thousands(decided)),
    ];
    let spent = after.iter().zip(&before).map(|(after, before)| after.1.saturating_sub(before.1));
    let spent: Vec<_> = spent.collect();
    let total: Duration = spent.iter().sum();
    rows.extend(after.iter().zip(spent).map(|((name, _), spent)| {
        let share = 100.0 * spent.as_secs_f64() / total.as_secs_f64();
        row(&format!("CPU time of {name}, with auth_request"), format!("{share:.0} %"))
    }));
    let how = format!(
        "deploy/proxies/nginx in front of another nginx that answers everything, {CONNECTIONS} \
         connections of wrk, {seconds} seconds each: without, with, with, without auth_request."
    );
    let mut machine = machine::description(&cluster.programs);
    machine.push(noise.report(&cluster));
    let blocks = vec![
        Block::Heading("Mark for an application behind nginx".to_owned()),
        Block::Table(verdict::table(&verdicts)),
        Block::Heading("Figures".to_owned()),
        Block::Table(Table { head: vec!["What", "Measured"], rows }),
        Block::Heading("Method and machine".to_owned()),
        Block::Paragraph(how),
        Block::List(machine),
    ];
    console::print(&report::plain(&blocks));
    if options.write {
        report::write(Path::new("docs/performance-proxy.md"), &report::markdown(&blocks))?;
    }
    Ok(())
}

fn cpu_of(
    application: &Child,
    proxy: &Child,
    gateway: &Program,
    auth: &Program,
    postgresql: u32,
) -> [(&'static str, Duration); 5] {
    let of_child = |child: &Child| child.id().map(usage::cpu).unwrap_or_default();
    [
        ("nginx as the proxy", of_child(proxy)),
        ("nginx as the application", of_child(application)),
        ("gateway", usage::cpu(gateway.pid)),
        ("auth-service", usage::cpu(auth.pid)),
        ("PostgreSQL", usage::cpu_of_family(postgresql)),
    ]
}

/// Starts nginx with this configuration, in which these ports are replaced.
fn nginx(name: &str, text: &str, ports: &[(u16, u16)], folder: &Path) -> Result<Child, Failure> {
    let folder = folder.join(name);
    std::fs::create_dir(&folder)?;
    let replace = |text: String, (from, to): &(u16, u16)| {
        text.replace(&format!(":{from}"), &format!(":{to}"))
    };
    let text = ports.iter().fold(text.to_owned(), replace);
    // Everything that it writes is in its folder.
    let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let paths = paths.map(|name| format!("{name}_temp_path {name};")).concat();
    let text = text.replacen("http {", &format!("http {{ access_log off; {paths}"), 1);
    std::fs::write(folder.join("nginx.conf"), text)?;
    let child = Command::new("nginx")
        .args(["-e", "stderr", "-c", "nginx.conf", "-p"])
        .arg(&folder)
        .args(["-g", "daemon off; master_process off; pid nginx.pid;"])
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .spawn();
    child.map_err(|error| format!("cannot run nginx ({error}); bench/run installs it").into())
}

async fn free_port() -> Result<SocketAddr, Failure> {
    Ok(TcpListener::bind("127.0.0.1:0").await?.local_addr()?)
}

async fn reachable(address: SocketAddr) -> Result<(), Failure> {
    for _ in 0..100 {
        if TcpStream::connect(address).await.is_ok() {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err(format!("nginx does not listen on {address}").into())
}
