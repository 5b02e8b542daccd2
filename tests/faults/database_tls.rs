//! Tests connections to PostgreSQL with the TLS that `sslmode` requires.

use Program::{FastHashAuthService, PostsService, Rolegate};
use e2e::{
    Authority, Exit, Process, Program, Store, TestSetup, Validity, eventually, postgres::OwnCluster,
};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use std::{collections::BTreeMap, fs, path::Path};

const ADDRESS: &str = "127.0.0.1";

/// Returns settings of this program with this database.
fn settings(program: Program, url: &str) -> BTreeMap<String, String> {
    let setup = TestSetup::split(Store::Postgres);
    match program {
        PostsService => setup.posts_settings(url, "127.0.0.1:1".parse().expect("an address")),
        Rolegate => TestSetup::all_in_one(Store::Postgres).auth_settings(url),
        _ => setup.auth_settings(url),
    }
}

/// Runs a query on the server without the services.
async fn ask<T>(cluster: &OwnCluster, sql: &str) -> Vec<T>
where
    T: Send + Unpin + for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
{
    let url = cluster.url_by(ADDRESS, "sslmode=disable");
    let mut connection = PgConnection::connect(&url).await.expect("connected");
    let asked = sqlx::query_scalar(AssertSqlSafe(sql.to_owned()))
        .fetch_all(&mut connection)
        .await;
    asked.expect("answered")
}

fn verifying(mode: &str, authority: &Authority) -> String {
    format!("sslmode={mode}&sslrootcert={}", authority.file().display())
}

#[tokio::test]
async fn sslmode_decides_about_encryption() {
    let authority = Authority::new();
    let own = authority.issue("postgres", &[ADDRESS], Validity::Current);
    let (cluster, folder) = (OwnCluster::start(Some(&own)), std::env::temp_dir());
    for (host, parameters, is_encrypted) in [
        (ADDRESS, "", true),
        (ADDRESS, "sslmode=disable", false),
        (ADDRESS, "sslmode=prefer", true),
        (ADDRESS, "sslmode=require", true),
        ("localhost", "sslmode=require", true),
        (ADDRESS, &verifying("verify-ca", &authority), true),
        ("localhost", &verifying("verify-ca", &authority), true),
        (ADDRESS, &verifying("verify-full", &authority), true),
    ] {
        for (program, name) in [
            (FastHashAuthService, "auth-service"),
            (PostsService, "posts-service"),
        ] {
            let settings = settings(program, &cluster.url_by(host, parameters));
            let process = Process::start(program, &settings, &folder).ready().await;
            let sql = format!(
                "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                    WHERE application_name = 'rolegate {name}'"
            );
            // The first statement opens the first connection.
            let encrypted = eventually("a connection of the service", async || {
                Some(ask::<bool>(&cluster, &sql).await).filter(|all| !all.is_empty())
            })
            .await;
            assert!(
                encrypted.iter().all(|&it| it == is_encrypted),
                "{name} with {parameters}"
            );
            drop(process);
        }
    }
}

/// Asserts that a start ends with exit code 64 and one line that names the setting, and that doctor prints the same
/// line.
async fn expect_rejected(program: Program, setting: &str, url: &str, why: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = settings(program, url);
    if program == Rolegate {
        settings.remove("DATABASE_URL");
        settings.insert("RUST_LOG".to_owned(), "warn".to_owned());
    }
    settings.insert(setting.to_owned(), url.to_owned());
    let exit = Process::start(program, &settings, folder.path())
        .exit()
        .await;
    assert_eq!(
        (exit.code, exit.stdout.as_str()),
        (Some(64), ""),
        "{url}: {exit:?}"
    );
    let is_one_line = exit.stderr.lines().count() == 1;
    let starts = exit
        .stderr
        .starts_with(&format!("{setting}: PostgreSQL at "));
    assert!(
        is_one_line && starts && exit.stderr.contains(why),
        "{url}: {exit:?}"
    );
    if program == FastHashAuthService {
        let doctor = doctor(&settings, folder.path()).await;
        let said = format!("FAILED database  {}", exit.stderr);
        assert!(
            doctor.stdout.contains(&said),
            "{doctor:?} does not say {said}"
        );
    }
}

async fn doctor(settings: &BTreeMap<String, String>, folder: &Path) -> Exit {
    Process::run(FastHashAuthService, &["doctor"], settings, folder, "").await
}

const KEEPERS: [(Program, &str); 3] = [
    (FastHashAuthService, "DATABASE_URL"),
    (PostsService, "DATABASE_URL"),
    (Rolegate, "POSTS_DATABASE_URL"),
];

#[tokio::test]
async fn unverifiable_server_certificate_is_rejected_at_start() {
    let (authority, other) = (Authority::new(), Authority::new());
    let own = authority.issue("postgres", &[ADDRESS], Validity::Current);
    let cluster = OwnCluster::start(Some(&own));
    for (host, parameters, why) in [
        (
            ADDRESS,
            &*verifying("verify-full", &other),
            "invalid peer certificate: ",
        ),
        (
            ADDRESS,
            &*verifying("verify-ca", &other),
            "invalid peer certificate: ",
        ),
        // Without `sslrootcert`, the certificate is verified against public CAs.
        (
            ADDRESS,
            "sslmode=verify-full",
            "invalid peer certificate: UnknownIssuer",
        ),
        (
            "localhost",
            &*verifying("verify-full", &authority),
            "not valid for name \"localhost\"",
        ),
    ] {
        for (program, setting) in KEEPERS {
            expect_rejected(program, setting, &cluster.url_by(host, parameters), why).await;
        }
    }
}

#[tokio::test]
async fn server_without_tls_is_rejected_where_sslmode_requires_it() {
    let authority = Authority::new();
    let cluster = OwnCluster::start(None);
    for parameters in ["sslmode=require", &verifying("verify-full", &authority)] {
        for (program, setting) in KEEPERS {
            let url = cluster.url_by(ADDRESS, parameters);
            expect_rejected(program, setting, &url, "server does not support TLS").await;
        }
    }
    for parameters in ["", "sslmode=prefer"] {
        let settings = settings(FastHashAuthService, &cluster.url_by(ADDRESS, parameters));
        Process::start(FastHashAuthService, &settings, &std::env::temp_dir())
            .ready()
            .await;
    }
}

#[tokio::test]
async fn start_waits_until_an_expired_server_certificate_is_replaced() {
    let authority = Authority::new();
    let expired = authority.issue("once", &[ADDRESS], Validity::Expired);
    let good = authority.issue("today", &[ADDRESS], Validity::Current);
    let (cluster, folder) = (OwnCluster::start(Some(&expired)), std::env::temp_dir());
    let url = cluster.url_by(ADDRESS, &verifying("verify-full", &authority));
    let start = |program| Process::start(program, &settings(program, &url), &folder);
    let waiting = [start(FastHashAuthService), start(PostsService)];
    for process in &waiting {
        let says_so =
            |line: &str| line.contains("waiting for the database") && line.contains("expired");
        process.logs("what it waits for", says_so).await;
        assert_eq!(process.stdout(), "", "it listens before it can work");
    }
    let data: Vec<String> = ask(&cluster, "SHOW data_directory").await;
    let data = Path::new(&data[0]);
    for (ours, theirs) in [(&good.certificate, "server.crt"), (&good.key, "server.key")] {
        fs::write(data.join(theirs), fs::read(ours).expect("read")).expect("written");
    }
    let _: Vec<bool> = ask(&cluster, "SELECT pg_reload_conf()").await;
    for process in waiting {
        process.ready().await;
    }
}
