//! `posts-service doctor`: everything that would keep this posts-service from working, at one look.
//! Changes nothing, and goes on after what is wrong.

use crate::{
    clock::{Clock, SystemClock},
    settings::Settings,
    store::examine,
};
use rolegate_auth_client::CallContext;
use rolegate_service_runtime::{
    doctor::{self, Check, addresses, secret_files},
    program::Failure,
};

/// Prints a line for each check; fails when one found something wrong.
pub(super) async fn run(settings: &Settings) -> Result<(), Failure> {
    let mut findings: Vec<Check> = doctor::certificate(settings.tls.load()).into_iter().collect();
    findings.extend(secret_files(&[
        ("DATABASE_URL_FILE", settings.database_url_file.as_deref()),
        ("POSTS_TLS_KEY_FILE", settings.tls.posts_tls_key_file.as_deref()),
        ("AUTH_CLIENT_TLS_KEY_FILE", settings.auth_tls.auth_client_tls_key_file.as_deref()),
    ]));
    findings.extend(database(settings).await);
    findings.push(auth_service(settings).await);
    let grpc = ("POSTS_LISTEN_ADDR", settings.posts_listen_addr);
    findings.extend(addresses(grpc, settings.ops_listen_addr).await);
    doctor::report(&findings)
}

async fn database(settings: &Settings) -> Vec<Check> {
    match settings.store_url() {
        Ok(url) => {
            let now = SystemClock.unix_millis().unsigned_abs() / 1000;
            examine(&url, now).await.findings
        }
        Err(error) => vec![Check::failed("database", error.to_string())],
    }
}

/// Asks auth-service what every page of posts asks, which needs no token.
async fn auth_service(settings: &Settings) -> Check {
    const SUBJECT: &str = "auth";
    let url = &settings.auth_service_url;
    let auth = match settings.auth_tls.client(url) {
        Ok((auth, _tls)) => auth,
        Err(error) => return Check::failed(SUBJECT, error.to_string()),
    };
    match auth.get_usernames(&[1], CallContext::default()).await {
        Ok(_names) => Check::ok(SUBJECT, format!("auth-service at {url} answers")),
        Err(error) => {
            Check::failed(SUBJECT, format!("auth-service at {url} cannot be asked: {error}"))
        }
    }
}
