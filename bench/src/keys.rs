//! Measures `GET /profile` with API keys and with sessions, relative to access tokens.

use crate::{
    Failure, cluster, console,
    http_client::Connection,
    machine,
    noise::Noise,
    services,
    statistics::rate,
    users::{self, LoadUser},
    wrk::{Wrk, WrkResult},
};
use rolegate_auth_service::tokens::{GeneratedToken, SecretKind};
use secrecy::ExposeSecret as _;
use sqlx::{Connection as _, PgConnection};
use std::net::SocketAddr;

const CONNECTIONS: usize = 128;
/// The kinds of tokens, their names in the report, and their marks. A mark is the maximum cost of a request, as a
/// multiple of the cost with an access token.
const KINDS: [(SecretKind<'static>, &str, f64); 2] = [
    (SecretKind::ApiKey, "key", 1.15),
    (SecretKind::Session, "session", 1.05),
];

/// Reads profiles with access tokens and with keys, then sessions, alternately, and prints the ratio.
#[derive(Debug, clap::Args)]
pub(crate) struct KeysOptions {
    /// Take a quarter of the time; the results are too noisy to publish
    #[arg(long)]
    quick: bool,
}

/// Runs the benchmark and prints the results.
pub(crate) async fn keys(options: KeysOptions) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    console::progress("starting PostgreSQL, auth-service and gateway");
    let users = users::with_tokens()?;
    let cluster = cluster::start()?;
    let url = cluster.url("postgres");
    let auth = services::auth_service(&url, folder.path()).await?;
    users::insert_into_postgresql(&url).await?;
    let gateway = services::gateway(&auth, None, folder.path()).await?;
    let address = gateway.address("bearer")?;
    let noise = Noise::start(&cluster);
    for (kind, name, mark) in KINDS {
        let others = insert(&url, &users, kind).await?;
        check(address, &users, &others).await?;
        let tokens = Wrk::new(
            "/profile",
            users.iter().map(LoadUser::bearer),
            folder.path(),
        )?;
        let others = Wrk::new("/profile", others.into_iter(), folder.path())?;
        compare(address, &options, (&tokens, &others), (name, mark)).await?;
    }
    for line in machine::description(&cluster.programs) {
        console::print(&line);
    }
    console::print(&noise.report(&cluster));
    Ok(())
}

async fn compare(
    address: SocketAddr,
    options: &KeysOptions,
    (tokens, keys): (&Wrk, &Wrk),
    (name, mark): (&str, f64),
) -> Result<(), Failure> {
    let seconds = if options.quick { 2 } else { 8 };
    let load = async |wrk: &Wrk| wrk.load(address, CONNECTIONS, seconds).await;
    load(tokens).await?;
    load(keys).await?;
    let per_second = |seen: &WrkResult| rate(seen.requests, seen.time);
    let mut costs = Vec::new();
    for _ in 0..3 {
        // The order is A B B A, so that drift of the machine affects both equally.
        let (token_1, key_1) = (load(tokens).await?, load(keys).await?);
        let (key_2, token_2) = (load(keys).await?, load(tokens).await?);
        let with_tokens = f64::midpoint(per_second(&token_1), per_second(&token_2));
        let with_keys = f64::midpoint(per_second(&key_1), per_second(&key_2));
        costs.push(with_tokens / with_keys);
        console::print(&format!(
            "{with_tokens:>6.0} per second with tokens, {with_keys:>6.0} with {name}s: {:.2}; median \
             {:?} and {:?}, p99 {:?} and {:?}",
            with_tokens / with_keys,
            token_2.median,
            key_2.median,
            token_2.p99,
            key_2.p99,
        ));
    }
    costs.sort_by(f64::total_cmp);
    let verdict = if costs[1] <= mark {
        "reached"
    } else {
        "NOT reached"
    };
    console::print(&format!(
        "{CONNECTIONS} connections: a {name} costs {:.2} of a token (mark {mark}: {verdict})",
        costs[1]
    ));
    Ok(())
}

/// Inserts one token of this kind for each user, and returns the `Authorization` headers.
async fn insert(
    url: &str,
    users: &[LoadUser],
    kind: SecretKind<'_>,
) -> Result<Vec<String>, Failure> {
    let generated = users
        .iter()
        .map(|_| kind.generate())
        .collect::<Result<Vec<GeneratedToken>, _>>()?;
    let names: Vec<&str> = users.iter().map(|user| user.username.as_str()).collect();
    let prefixes: Vec<&str> = generated
        .iter()
        .map(|key| &key.token.expose_secret()[..8])
        .collect();
    let digests: Vec<&str> = generated.iter().map(|key| key.digest.as_str()).collect();
    // The times are such that a session neither ends nor is idle while the benchmark runs.
    let sql = r#"INSERT INTO api_key
            (user_id, session_user_id, name, prefix, digest, created_at, expires_at, not_before)
        SELECT CASE WHEN $4 THEN NULL ELSE u.id END, CASE WHEN $4 THEN u.id END, 'load', k.prefix,
            k.digest, CASE WHEN $4 THEN extract(epoch FROM now())::bigint ELSE 0 END,
            CASE WHEN $4 THEN 9999999999 END, CASE WHEN $4 THEN u.tokens_not_before END
        FROM unnest($1::text[], $2::text[], $3::text[]) AS k (username, prefix, digest)
        JOIN "user" AS u ON u.username = k.username"#;
    let mut connection = PgConnection::connect(url).await?;
    let insert = sqlx::query(sql).bind(names).bind(prefixes).bind(digests);
    let insert = insert.bind(kind == SecretKind::Session);
    let inserted = insert.execute(&mut connection).await?.rows_affected();
    if usize::try_from(inserted)? != users.len() {
        return Err(format!("{inserted} keys were inserted, not {}", users.len()).into());
    }
    // Without a vacuum here, autovacuum would run during the measurement.
    sqlx::query("VACUUM (ANALYZE) api_key")
        .execute(&mut connection)
        .await?;
    connection.close().await?;
    let header = |made: &GeneratedToken| format!("Bearer {}", made.token.expose_secret());
    Ok(generated.iter().map(header).collect())
}

/// Verifies that a token acts as its user.
async fn check(address: SocketAddr, users: &[LoadUser], keys: &[String]) -> Result<(), Failure> {
    let mut connection = Connection::open(address).await?;
    for index in [0, 1, users.len() - 1] {
        let answer = connection.get("/profile", Some(&keys[index])).await?;
        if answer.status != 200 || answer.body != users[index].profile() {
            return Err(format!("/profile of key {index} is {}", answer.body).into());
        }
    }
    Ok(())
}
