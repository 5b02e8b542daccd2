//! Starts nginx as a process under test, which is killed when its handle is dropped.

use crate::{Failure, services::ANY_PORT};
use std::{net::SocketAddr, path::Path, process::Stdio, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    process::{Child, Command},
};

/// The files that `deploy/proxies/nginx/nginx.conf` includes.
const INCLUDED: [(&str, &str); 8] = [
    (
        "rolegate-http.conf",
        include_str!("../../deploy/proxies/nginx/rolegate-http.conf"),
    ),
    (
        "rolegate-rules.conf",
        include_str!("../../deploy/proxies/nginx/rolegate-rules.conf"),
    ),
    (
        "rolegate.conf",
        include_str!("../../deploy/proxies/nginx/rolegate.conf"),
    ),
    (
        "rolegate-whole-host.conf",
        include_str!("../../deploy/proxies/nginx/rolegate-whole-host.conf"),
    ),
    (
        "rolegate-headers.conf",
        include_str!("../../deploy/proxies/nginx/rolegate-headers.conf"),
    ),
    (
        "rolegate-sign-in.conf",
        include_str!("../../deploy/proxies/nginx/rolegate-sign-in.conf"),
    ),
    (
        "rolegate-sign-in-headers.conf",
        include_str!("../../deploy/proxies/nginx/rolegate-sign-in-headers.conf"),
    ),
    (
        "rolegate-preflight.conf",
        include_str!("../../deploy/proxies/nginx/rolegate-preflight.conf"),
    ),
];

/// Starts nginx with this configuration, in which each first port of `ports` is replaced by the second.
pub(crate) fn start(
    name: &str,
    text: &str,
    ports: &[(u16, u16)],
    folder: &Path,
) -> Result<Child, Failure> {
    // tests/linearizability/nginx.rs prepares its configuration in the same way.
    let folder = folder.join(name);
    std::fs::create_dir(&folder)?;
    let replace = |text: String, (from, to): &(u16, u16)| {
        text.replace(&format!(":{from}"), &format!(":{to}"))
    };
    let with_ports = |text: &str| ports.iter().fold(text.to_owned(), replace);
    for (file, text) in INCLUDED {
        std::fs::write(folder.join(file), with_ports(text))?;
    }
    let text = with_ports(text);
    // nginx writes only to its own folder.
    let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let paths = paths
        .map(|name| format!("{name}_temp_path {name};"))
        .concat();
    let text = text.replacen("http {", &format!("http {{ access_log off; {paths}"), 1);
    std::fs::write(folder.join("nginx.conf"), text)?;
    // nginx gets a session of its own, as every program under test does.
    let child = Command::new("setsid")
        .args(["setpriv", "--pdeathsig", "KILL", "--"])
        .args(["nginx", "-e", "stderr", "-c", "nginx.conf", "-p"])
        .arg(&folder)
        .args(["-g", "daemon off; master_process off; pid nginx.pid;"])
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .spawn();
    child.map_err(|error| format!("cannot run nginx ({error}); bench/run installs it").into())
}

/// Returns an address on which nothing listens now.
pub(crate) async fn free_address() -> Result<SocketAddr, Failure> {
    Ok(TcpListener::bind(ANY_PORT).await?.local_addr()?)
}

/// Waits until nginx listens.
pub(crate) async fn wait_until_reachable(address: SocketAddr) -> Result<(), Failure> {
    for _ in 0..100 {
        if TcpStream::connect(address).await.is_ok() {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err(format!("nginx does not listen on {address}").into())
}
