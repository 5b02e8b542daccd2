//! Runs the scenario while PostgreSQL fails over, too, with `DATABASE_READS=quorum`.

use crate::{print, scenario::Scenario, stage::Stage, wanted};
use e2e::{Store, TestSetup, eventually, postgres::OwnCluster};
use std::sync::Arc;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_change_is_seen_once_and_in_order_through_a_failover_with_quorum() {
    let mut primary = OwnCluster::start_synchronous().await;
    let (successor, follower) = (primary.start_standby(), primary.start_standby());
    let of_successor = format!(
        "host=127.0.0.1 port={} user=postgres application_name=standby",
        successor.address().port()
    );
    follower.set("primary_conninfo", &of_successor).await;
    eventually("the successor to have a standby", async || {
        (successor.standbys().await == 1).then_some(())
    })
    .await;
    let hosts = [primary.address(), successor.address()].map(|address| address.to_string());
    let hosts = hosts.join(",");
    // The servers of tests prefer speed to safety, unless a session asks for safe commits as this
    // one does.
    let parameters = "target_session_attrs=read-write&options=-c%20synchronous_commit%3Don";
    let url = format!("postgres://postgres@{hosts}/postgres?{parameters}");
    let setup = TestSetup::split(Store::Postgres).with("DATABASE_READS", "quorum");
    let stage = Arc::new(Stage::start(setup, &url).await);
    let scenario = Scenario::start(&stage, wanted()).await;
    let fail_over = async {
        scenario.reach(wanted() / 2).await;
        primary.stop();
        successor.execute("postgres", "SELECT pg_promote()").await;
    };
    let (restarts, ()) = tokio::join!(stage.restart_replicas(&scenario, wanted()), fail_over);
    let checked = scenario.finish().await;
    print(&format!("failover: {checked}"));
    checked.prove(restarts, 1);
    drop((stage, follower, successor));
}
