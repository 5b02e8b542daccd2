//! Measures reading posts, relative to `GET /profile`.
//!
//! Reading a post involves gateway, posts-service, auth-service and two tables. `GET /profile` involves only gateway,
//! auth-service and one table.

use crate::{
    Failure, cluster, console,
    http_client::Connection,
    machine,
    noise::Noise,
    services,
    statistics::rate,
    users::{self, COUNT},
    wrk::{Wrk, WrkResult},
};
use serde_json::json;
use sqlx::{Connection as _, PgConnection};
use std::net::SocketAddr;

/// The number of posts. Each user has one.
const POSTS: i64 = 10_000;
const CONNECTIONS: [usize; 2] = [32, 128];
/// The mark for the throughput of reading posts, as a share of that of `/profile`.
const MARK: f64 = 0.5;

/// Reads posts and profiles alternately, and prints the ratio.
#[derive(Debug, clap::Args)]
pub(crate) struct PostsOptions {
    /// Take a quarter of the time; the results are too noisy to publish
    #[arg(long)]
    quick: bool,
}

/// Runs the benchmark and prints the results.
pub(crate) async fn posts(options: PostsOptions) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    console::progress("starting PostgreSQL, auth-service, posts-service and gateway");
    let users = users::with_tokens()?;
    let cluster = cluster::start()?;
    let url = cluster.url("postgres");
    let auth = services::auth_service(&url, folder.path()).await?;
    users::insert_into_postgresql(&url).await?;
    let posts = services::posts_service(&url, &auth, folder.path()).await?;
    insert(&url).await?;
    let gateway = services::gateway(&auth, Some(&posts), folder.path()).await?;
    let address = gateway.address("bearer")?;
    check(address).await?;

    let profile = Wrk::new(
        "/profile",
        users.iter().map(users::LoadUser::bearer),
        folder.path(),
    )?;
    let paths = (1..=POSTS).map(|id| format!("/posts/{id}"));
    let post = Wrk::new("/posts", paths, folder.path())?;
    let noise = Noise::start(&cluster);
    let seconds = if options.quick { 2 } else { 8 };
    for connections in CONNECTIONS {
        let load = async |wrk: &Wrk| wrk.load(address, connections, seconds).await;
        load(&profile).await?;
        load(&post).await?;
        // The order is A B B A, so that drift of the machine affects both equally.
        let (profile_1, post_1) = (load(&profile).await?, load(&post).await?);
        let (post_2, profile_2) = (load(&post).await?, load(&profile).await?);
        let per_second = |seen: &WrkResult| rate(seen.requests, seen.time);
        let profiles = f64::midpoint(per_second(&profile_1), per_second(&profile_2));
        let posts = f64::midpoint(per_second(&post_1), per_second(&post_2));
        let ratio = posts / profiles;
        let verdict = if ratio >= MARK {
            "reached"
        } else {
            "NOT reached"
        };
        console::print(&format!(
            "{connections:>3} connections: {profiles:>6.0} /profile per second, {posts:>6.0} \
             /posts/{{id}} per second, ratio {ratio:.2} (mark {MARK}: {verdict}); median {:?} and \
             {:?}, p99 {:?} and {:?}",
            profile_2.median, post_2.median, profile_2.p99, post_2.p99,
        ));
    }
    for line in machine::description(&cluster.programs) {
        console::print(&line);
    }
    console::print(&noise.report(&cluster));
    Ok(())
}

/// Fills the table that posts-service has created with posts of typical length.
async fn insert(url: &str) -> Result<(), Failure> {
    let sql = r#"INSERT INTO posts.post (author_id, title, content, created_at, updated_at)
        SELECT u.id, 'Post of ' || u.username, repeat('All work and no play. ', 20), 0, 0
        FROM "user" AS u WHERE u.username LIKE 'load-user-%' ORDER BY u.id"#;
    let mut connection = PgConnection::connect(url).await?;
    let inserted = sqlx::query(sql)
        .execute(&mut connection)
        .await?
        .rows_affected();
    if (i64::try_from(inserted)?, COUNT) != (POSTS, usize::try_from(POSTS)?) {
        return Err(format!("{inserted} posts were inserted, not {POSTS}").into());
    }
    // Without a vacuum here, autovacuum would run during the measurement.
    sqlx::query("VACUUM (ANALYZE) posts.post")
        .execute(&mut connection)
        .await?;
    Ok(connection.close().await?)
}

/// Verifies that responses have the author's name, which comes from auth-service.
async fn check(address: SocketAddr) -> Result<(), Failure> {
    let mut connection = Connection::open(address).await?;
    for id in [1, 2, POSTS] {
        let answer = connection.get(&format!("/posts/{id}"), None).await?;
        let title = format!(
            "Post of {}",
            answer.body["author"].as_str().unwrap_or("stranger")
        );
        let is_right = answer.body["id"] == json!(id) && answer.body["title"] == json!(title);
        if answer.status != 200 || !is_right {
            return Err(format!("/posts/{id} is {}", answer.body).into());
        }
    }
    Ok(())
}
