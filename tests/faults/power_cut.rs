//! Tests a power cut, which loses everything that was not synced to the disk by then.

use crate::ended_sessions::EndedSessions;
use e2e::{ADMIN_PASSWORD, Api, Process, Store, TestSetup, TestUser, postgres::OwnCluster, proof};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Builds the preloaded library that copies each file when it is synced.
fn build(folder: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("faults/power_cut/synced.c");
    let library = folder.join("synced.so");
    let mut compiler = Command::new("cc");
    compiler
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source]);
    assert!(
        compiler.status().is_ok_and(|status| status.success()),
        "this test needs a C compiler"
    );
    library
}

async fn start(setup: &TestSetup, folder: &Path) -> Process {
    let url = |name: &str| format!("sqlite://{}", folder.join(name).display());
    let setup = setup.clone().with("POSTS_DATABASE_URL", &url("posts.db"));
    let settings = setup.auth_settings(&url("users.db"));
    Process::start(setup.auth_program(), &settings, folder)
        .ready()
        .await
}

#[tokio::test]
async fn sessions_and_their_ends_survive_a_power_cut_on_sqlite() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().canonicalize().expect("it exists");
    let [disk, synced] = ["disk", "synced"].map(|name| path.join(name));
    for folder in [&disk, &synced] {
        fs::create_dir(folder).expect("created");
    }
    let setup = TestSetup::all_in_one(Store::Sqlite);
    let on_disk = setup.clone().with_file("LD_PRELOAD", &build(&path));
    let on_disk = on_disk
        .with_file("SYNCED_FROM", &disk)
        .with_file("SYNCED_TO", &synced);
    let mut process = start(&on_disk, &disk).await;
    let bearer = Api::at(&process.address("bearer"));
    let admin = TestUser::log_in(&bearer, "admin", ADMIN_PASSWORD).await;
    let sessions = EndedSessions::of_each_way(&bearer, &admin).await;
    process.kill().await;
    // The program starts on the copies, so everything that was not synced is gone.
    let process = start(&setup, &synced).await;
    let [checked, wrong] = sessions.expect(&Api::at(&process.address("bearer"))).await;
    proof(
        "power",
        &[("power cuts", 1), ("sessions and ends", checked)],
        &[("lost", wrong)],
    );
}

/// Crashes the PostgreSQL server, which loses its buffers.
#[tokio::test]
async fn sessions_and_their_ends_survive_a_crash_of_postgres() {
    let mut cluster = OwnCluster::start_durable();
    let setup = TestSetup::split(Store::Postgres).on_server(cluster.url());
    let app = setup.start().await;
    let admin = app.admin().await;
    let mut all = Vec::new();
    for round in 1..=3 {
        all.push(EndedSessions::of_users(&format!("round {round}"), &app.bearer, &admin).await);
        cluster.crash();
        e2e::eventually("decisions after the crash", async || {
            let answer = app.bearer.with_token(&admin.token).get("/admin").await;
            (answer.status == 200).then_some(())
        })
        .await;
        let (mut checked, mut wrong) = (0, 0);
        for sessions in &all {
            let counts = sessions.expect(&app.bearer).await;
            checked += counts[0];
            wrong += counts[1];
        }
        proof(
            "power",
            &[("crashes of PostgreSQL", 1), ("sessions and ends", checked)],
            &[("lost", wrong)],
        );
    }
}
