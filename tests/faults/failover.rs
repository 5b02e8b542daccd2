//! Tests a `DATABASE_URL` with several hosts: the service follows the primary when a standby is promoted.

use crate::ended_sessions::EndedSessions;
use e2e::{
    Api, Authority, Exit, Process, Program, Store, TcpProxy, TestApp, TestSetup, TestUser,
    Validity, eventually, for_postgres_deployments, postgres::OwnCluster, proof,
};
use std::time::{Duration, Instant};

for_postgres_deployments!(
    decisions_resume_when_a_standby_is_promoted,
    decisions_resume_while_the_old_primary_is_frozen,
    quorum_decisions_resume_while_the_old_primary_answers_no_commit,
    acknowledged_sessions_and_ends_of_sessions_hold_after_a_failover_with_quorum,
);

/// How many reads of a user whose role has changed are made after a failover. `OLD_READS` are made while only the old
/// primary answers.
const READS: usize = 50;
const OLD_READS: usize = 5;

/// The longest time without decisions. They resume about two seconds after a promotion; the rest leaves room for a slow
/// machine.
const MAX_OUTAGE: Duration = Duration::from_secs(8);

/// The longest time without decisions with `quorum`. It is less than the time of a statement and of the first check of
/// its commit, after which the new primary would be found anyway.
const MAX_QUORUM_OUTAGE: Duration = Duration::from_secs(4);

/// A primary, its standby, and a service that has both in its URL.
struct Servers {
    primary: OwnCluster,
    standby: OwnCluster,
    app: TestApp,
    admin: TestUser,
}

/// Returns a `DATABASE_URL` with these hosts.
fn url_of(hosts: &[&str], parameters: &str) -> String {
    let hosts = hosts.join(",");
    format!("postgres://postgres@{hosts}/postgres?target_session_attrs=read-write{parameters}")
}

impl Servers {
    /// Starts the servers and the service. The standby is the first host in the URL, so the service has to find the
    /// primary.
    async fn start(setup: TestSetup) -> Self {
        let primary = OwnCluster::start(None);
        let standby = primary.start_standby();
        let hosts = [standby.address().to_string(), primary.address().to_string()];
        let url = url_of(&[&hosts[0], &hosts[1]], "");
        let app = setup.with("DATABASE_URL", &url).start().await;
        let admin = app.admin().await;
        Self {
            primary,
            standby,
            app,
            admin,
        }
    }

    /// Registers an author, and waits until the standby has the role.
    async fn author(&self, name: &str) -> TestUser {
        let author = self.app.user_with_role(name, "author").await;
        let url = self.standby.url();
        eventually("the standby to have the author", async || {
            let role = e2e::postgres::role_of(url.as_str(), name).await;
            (role.as_deref() == Some("author")).then_some(())
        })
        .await;
        author
    }

    /// Promotes the standby, and returns how long it takes until decisions succeed again.
    async fn promote(&self, user: &TestUser) -> Duration {
        self.standby
            .execute("postgres", "SELECT pg_promote()")
            .await;
        outage(&self.app.bearer.with_token(&user.token), "/author").await
    }

    /// Checks that the new primary takes writes of both services, and that decisions read its roles.
    async fn expect_service(&self, user: &TestUser) {
        let bearer = self.app.bearer.with_token(&user.token);
        eventually("the service of posts", async || {
            let post = serde_json::json!({ "title": "after", "content": "the failover" });
            (bearer.post("/posts", &post).await.status == 201).then_some(())
        })
        .await;
        let changed = self.app.set_role(&self.admin, user, "user").await;
        changed.expect_message("User role updated successfully.");
        let mut outdated = Vec::new();
        for _ in 0..READS {
            let answer = bearer.get("/author").await;
            if answer.status != 403 {
                outdated.push(answer.to_string());
            }
        }
        assert!(outdated.is_empty(), "{outdated:#?}");
        proof(
            "failover",
            &[("reads after a change", READS)],
            &[("outdated", outdated.len())],
        );
    }
}

pub(crate) fn milliseconds(time: Duration) -> usize {
    usize::try_from(time.as_millis()).unwrap_or(usize::MAX)
}

fn prove_outage(outage: Duration) {
    let slowest = ("slowest milliseconds to a decision", milliseconds(outage));
    proof("failover", &[("failovers", 1)], &[slowest]);
}

async fn decisions_resume_when_a_standby_is_promoted(setup: TestSetup) {
    let mut servers = Servers::start(setup).await;
    let user = servers.author("writer").await;
    servers.primary.stop();
    let bearer = servers.app.bearer.with_token(&user.token);
    bearer
        .get("/author")
        .await
        .expect_detail(503, "Service temporarily unavailable.");
    let outage = servers.promote(&user).await;
    assert!(outage < MAX_OUTAGE, "{outage:?}");
    prove_outage(outage);
    servers.expect_service(&user).await;
}

async fn decisions_resume_while_the_old_primary_is_frozen(setup: TestSetup) {
    let servers = Servers::start(setup).await;
    let user = servers.author("writer").await;
    servers.primary.freeze();
    let bearer = servers.app.bearer.with_token(&user.token);
    let frozen = bearer.get("/author").await;
    assert!([503, 504].contains(&frozen.status), "{frozen}");
    let outage = servers.promote(&user).await;
    assert!(outage < MAX_OUTAGE, "{outage:?}");
    prove_outage(outage);
    servers.expect_service(&user).await;
}

#[tokio::test]
async fn old_primary_that_returns_answers_no_request() {
    let primary = OwnCluster::start(None);
    let standby = primary.start_standby();
    let proxy = TcpProxy::to(standby.address());
    let hosts = [primary.address().to_string(), proxy.address().to_string()];
    let url = url_of(&[&hosts[0], &hosts[1]], "");
    let app = TestSetup::split(Store::Postgres)
        .with("DATABASE_URL", &url)
        .start()
        .await;
    let admin = app.admin().await;
    let servers = Servers {
        primary,
        standby,
        app,
        admin,
    };
    let user = servers.author("writer").await;
    servers.primary.freeze();
    servers.promote(&user).await;
    servers.expect_service(&user).await;
    // The old primary answers again, but does not know the user's new role. The new primary is cut off.
    servers.primary.thaw();
    proxy.cut();
    let api = servers.app.bearer.with_token(&user.token);
    let mut answered = 0;
    for _ in 0..OLD_READS {
        let response = api.get("/author").await;
        answered += usize::from(response.status == 200);
        assert!([503, 504].contains(&response.status), "{response}");
    }
    proof(
        "failover",
        &[("reads of an old primary", OLD_READS)],
        &[("outdated", answered)],
    );
    servers.app.auth().wait_for_readiness(503).await;
}

/// A primary whose commits wait for its successor, the successor with a standby of its own, and a service that has both
/// in its URL.
struct Quorum {
    primary: OwnCluster,
    successor: OwnCluster,
    _follower: OwnCluster,
    app: TestApp,
    admin: TestUser,
}

impl Quorum {
    async fn start(setup: TestSetup) -> Self {
        let primary = OwnCluster::start_synchronous().await;
        let (successor, follower) = (primary.start_standby(), primary.start_standby());
        let hosts = [
            primary.address().to_string(),
            successor.address().to_string(),
        ];
        let url = url_of(&[&hosts[0], &hosts[1]], "");
        let setup = setup
            .with("DATABASE_URL", &url)
            .with("DATABASE_READS", "quorum");
        let app = setup.start().await;
        let admin = app.admin().await;
        let of_successor = format!(
            "host=127.0.0.1 port={} user=postgres application_name=standby",
            successor.address().port()
        );
        follower.set("primary_conninfo", &of_successor).await;
        eventually("the successor to have a standby", async || {
            (successor.standbys().await == 1).then_some(())
        })
        .await;
        Self {
            primary,
            successor,
            _follower: follower,
            app,
            admin,
        }
    }
}

async fn acknowledged_sessions_and_ends_of_sessions_hold_after_a_failover_with_quorum(
    setup: TestSetup,
) {
    let mut quorum = Quorum::start(setup).await;
    let bearer = quorum.app.bearer.clone();
    let sessions = EndedSessions::of_each_way(&bearer, &quorum.admin).await;
    quorum.primary.stop();
    quorum
        .successor
        .execute("postgres", "SELECT pg_promote()")
        .await;
    let outage = outage(&bearer.with_token(&quorum.admin.token), "/admin").await;
    prove_outage(outage);
    let [checked, wrong] = sessions.expect(&bearer).await;
    proof(
        "failover",
        &[("acknowledged sessions and ends", checked)],
        &[("lost", wrong)],
    );
}

async fn quorum_decisions_resume_while_the_old_primary_answers_no_commit(setup: TestSetup) {
    let Quorum {
        successor,
        app,
        admin,
        ..
    } = &Quorum::start(setup).await;
    let api = app.bearer.with_token(&admin.token);
    api.get("/admin").await.expect(200);
    // The old primary still runs, and answers everything but commits.
    successor.execute("postgres", "SELECT pg_promote()").await;
    let commit = "SET synchronous_commit = remote_write;
        SELECT pg_logical_emit_message(true, 'test', '')";
    successor.execute("postgres", commit).await;
    let (outage, written) =
        tokio::join!(outage(&api, "/admin"), app.try_register("ann", "password"));
    assert!(outage < MAX_QUORUM_OUTAGE, "{outage:?}");
    prove_outage(outage);
    // Unless the service had found the successor by then, it sent the commit to the old primary, so the outcome is
    // unknown.
    if written.status != 200 {
        written.expect_detail(504, "Upstream timed out.");
        let is_audited =
            |line: &str| line.contains("outcome_unknown") && line.contains("registered");
        app.auth().logs("the write", is_audited).await;
    }
}

/// Returns how long it takes until a decision on this path succeeds.
async fn outage(api: &Api, path: &str) -> Duration {
    let start = Instant::now();
    eventually("decisions after the promotion", async || {
        let response = api.get(path).await;
        assert!([200, 503, 504].contains(&response.status), "{response}");
        (response.status == 200).then_some(())
    })
    .await;
    start.elapsed()
}

/// Starts an auth-service, and returns how it ended, or `None` if it serves.
async fn start_with(url: &str) -> Option<Exit> {
    let settings = TestSetup::split(Store::Postgres).auth_settings(url);
    let folder = std::env::temp_dir();
    let auth = Process::start(Program::FastHashAuthService, &settings, &folder);
    auth.ready_or_ended().await
}

#[tokio::test]
async fn tls_parameters_apply_to_each_host() {
    let authority = Authority::new();
    let own = authority.issue("postgres", &["127.0.0.1"], Validity::Current);
    let cluster = OwnCluster::start(Some(&own));
    let (good, bad) = (
        cluster.address().to_string(),
        format!("localhost:{}", cluster.address().port()),
    );
    let parameters = format!(
        "&sslmode=verify-full&sslrootcert={}",
        authority.file().display()
    );
    // Nothing listens on port 1, and the certificate is not for localhost.
    for hosts in [&["127.0.0.1:1", &*good][..], &[&bad, &good], &[&good, &bad]] {
        let ended = start_with(&url_of(hosts, &parameters)).await;
        assert!(ended.is_none(), "{hosts:?}: {ended:?}");
    }
    let ended = start_with(&url_of(&[&bad, &bad], &parameters))
        .await
        .expect("no host fits");
    let says = format!("DATABASE_URL: PostgreSQL at {bad},{bad}/postgres does not offer the TLS");
    assert!(
        ended.code == Some(64) && ended.stderr.starts_with(&says),
        "{ended:?}"
    );
}
