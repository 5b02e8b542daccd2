use super::{Commit, WriteTask};
use crate::{STATEMENT_TIMEOUT, StoreError, write::WriteHealth};
use sqlx::{Connection as _, PgConnection};
use std::{future::pending, time::Duration};
use tokio::{
    sync::oneshot,
    time::{Instant, sleep},
};

const A_MOMENT: Duration = Duration::from_secs(1);

async fn run<T: Send + 'static>(
    health: &WriteHealth,
    commit: Commit,
    connection_lost: impl Future<Output = ()> + Send + 'static,
    statements: impl Future<Output = sqlx::Result<T>> + Send + 'static,
) -> Result<T, StoreError> {
    let task = WriteTask {
        system: "test",
        deadline: Instant::now() + STATEMENT_TIMEOUT,
        commit,
        statements,
        connection_lost,
    };
    task.run(health).await
}

#[tokio::test(start_paused = true)]
async fn write_whose_commit_was_not_sent_in_time_is_never_committed() {
    let (health, commit) = (WriteHealth::new("test", "hint"), Commit::default());
    let (sending, (sent, was_sent)) = (commit.clone(), oneshot::channel());
    let write = async move {
        sleep(STATEMENT_TIMEOUT + A_MOMENT).await;
        let _ = sent.send(sending.mark_sent().is_ok());
        Ok(())
    };
    let outcome = run(&health, commit, pending(), write).await;
    assert!(matches!(outcome, Err(StoreError::TimedOut)), "{outcome:?}");
    assert_eq!(
        was_sent.await,
        Ok(false),
        "the transaction ran to its end, without its commit"
    );
    assert_eq!(health.problem(), None);
}

#[tokio::test(start_paused = true)]
async fn commit_without_an_answer_is_unknown_and_refuses_writes_until_it_is_answered() {
    let (health, commit) = (WriteHealth::new("test", "hint"), Commit::default());
    let (sending, (answer, answered)) = (commit.clone(), oneshot::channel::<()>());
    let write = async move {
        sending.mark_sent()?;
        let _ = answered.await;
        Ok(())
    };
    let outcome = run(&health, commit, pending(), write).await;
    assert!(
        matches!(outcome, Err(StoreError::OutcomeUnknown { .. })),
        "{outcome:?}"
    );
    assert_eq!(
        health.problem(),
        None,
        "the server may still end the statement"
    );
    let refusal = health.refusal().await;
    assert!(matches!(refusal, StoreError::ReadOnly(_)), "{refusal:?}");
    assert!(health.problem().is_some());
    answer.send(()).expect("the write still waits");
    sleep(A_MOMENT).await;
    assert_eq!(health.problem(), None);
}

#[tokio::test(start_paused = true)]
async fn commit_on_a_dead_connection_is_dropped() {
    let (health, commit) = (WriteHealth::new("test", "hint"), Commit::default());
    let (sending, (connection, closed)) = (commit.clone(), oneshot::channel::<()>());
    let write = async move {
        let _connection = connection;
        sending.mark_sent()?;
        pending::<sqlx::Result<()>>().await
    };
    let lost = sleep(A_MOMENT);
    let outcome = run(&health, commit, lost, write).await;
    assert!(
        matches!(outcome, Err(StoreError::OutcomeUnknown { .. })),
        "{outcome:?}"
    );
    assert!(closed.await.is_err(), "dropped with its write");
    assert_eq!(health.problem(), None);
}

#[tokio::test(start_paused = true)]
async fn write_continues_without_a_caller() {
    let (health, commit) = (WriteHealth::new("test", "hint"), Commit::default());
    let (sending, (done, is_done)) = (commit.clone(), oneshot::channel());
    let write = async move {
        sending.mark_sent()?;
        sleep(A_MOMENT).await;
        let _ = done.send(());
        Ok(())
    };
    {
        let running = run(&health, commit, pending(), write);
        assert!(tokio::time::timeout(A_MOMENT / 2, running).await.is_err());
    }
    is_done.await.expect("committed");
}

#[tokio::test]
async fn outcome_is_unknown_if_the_connection_or_the_disk_fails_after_the_commit_was_sent() {
    let health = WriteHealth::new("test", "hint");
    for is_sent in [true, false] {
        let commit = Commit::default();
        let sending = commit.clone();
        let write = async move {
            if is_sent {
                sending.mark_sent()?;
            }
            Err::<(), _>(sqlx::Error::Io(std::io::ErrorKind::ConnectionReset.into()))
        };
        let outcome = run(&health, commit, pending(), write).await;
        let error = outcome.expect_err("the connection broke");
        assert_eq!(error.is_outcome_unknown(), is_sent, "{error}");
    }
}

#[tokio::test]
async fn statement_that_a_pooler_mixed_up_was_not_run() {
    let database = postgres_cluster::Database::create().await;
    let (health, commit) = (WriteHealth::new("test", "hint"), Commit::default());
    let mut connection = PgConnection::connect(database.url().as_str())
        .await
        .expect("connected");
    let sending = commit.clone();
    let write = async move {
        let statement = || sqlx::query("SELECT $1::bigint").bind(1_i64);
        statement().execute(&mut connection).await?;
        sqlx::raw_sql("DEALLOCATE ALL")
            .execute(&mut connection)
            .await?;
        sending.mark_sent()?;
        statement().execute(&mut connection).await.map(drop)
    };
    let outcome = run(&health, commit, pending(), write).await;
    assert!(
        matches!(outcome, Err(StoreError::Unavailable(_))),
        "{outcome:?}"
    );
}
