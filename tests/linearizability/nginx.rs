//! An application behind nginx, with the configuration of `deploy/proxies`.

use e2e::{Api, eventually};
use std::{net::SocketAddr, path::Path, process::Stdio};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    process::{Child, Command},
};

/// A running nginx and its application. Both end when this value is dropped.
pub(crate) struct Nginx {
    pub(crate) application: Api,
    _child: Child,
    _folder: TempDir,
}

impl Nginx {
    /// Starts nginx, which asks this gateway. Returns `None` if nginx is not installed.
    pub(crate) async fn start(gateway: SocketAddr) -> Option<Self> {
        let found = Command::new("nginx")
            .arg("-v")
            .stderr(Stdio::null())
            .status()
            .await;
        if !found.is_ok_and(|status| status.success()) {
            return None;
        }
        let application = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = application.local_addr().expect("bound").port();
        tokio::spawn(serve(application));
        let folder = tempfile::tempdir().expect("a folder");
        let free = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let own = free.local_addr().expect("bound").port();
        drop(free);
        // `bench/src/nginx.rs` prepares its configuration in the same way. nginx writes only into
        // this folder.
        let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let paths = paths
            .map(|name| format!("{name}_temp_path {name};"))
            .concat();
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/proxies/nginx");
        for file in shipped.read_dir().expect("the configuration") {
            let file = file.expect("a file");
            let mut text = std::fs::read_to_string(file.path()).expect("a file");
            for (shipped, real) in [(8080, port), (8088, own), (8002, gateway.port())] {
                text = text.replace(&format!(":{shipped}"), &format!(":{real}"));
            }
            text = text.replacen("http {", &format!("http {{ access_log off; {paths}"), 1);
            std::fs::write(folder.path().join(file.file_name()), text).expect("written");
        }
        let child = Command::new("nginx")
            .args(["-e", "stderr", "-c", "nginx.conf", "-p"])
            .arg(folder.path())
            .args(["-g", "daemon off; master_process off; pid nginx.pid;"])
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("started");
        let api = Api::at(&format!("http://127.0.0.1:{own}"));
        eventually("nginx", async || {
            api.try_send(api.request(http::Method::GET, "/public/"))
                .await
                .ok()
        })
        .await;
        Some(Self {
            application: api,
            _child: child,
            _folder: folder,
        })
    }
}

/// Answers every request with the `Rolegate-Role` that the proxy passed on.
async fn serve(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(answer(stream));
    }
}

async fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let (reading, mut writing) = stream.split();
    let mut lines = BufReader::new(reading).lines();
    let mut role = String::new();
    while let Some(line) = lines.next_line().await? {
        if let Some(value) = line.strip_prefix("Rolegate-Role: ") {
            value.clone_into(&mut role);
        }
        if line.is_empty() {
            let length = role.len();
            let response = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{role}");
            writing.write_all(response.as_bytes()).await?;
            role.clear();
        }
    }
    Ok(())
}
