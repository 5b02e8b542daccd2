use super::Refusals;
use rolegate_auth_client::{CallContext, CallError, Reason, axum::ApiError};
use std::{
    future::pending,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

const MINUTE: Duration = Duration::from_mins(1);

fn context(host: u8) -> CallContext {
    CallContext {
        client_address: Some(IpAddr::from([192, 0, 2, host])),
        request_id: None,
    }
}

/// Logs in, and returns whether auth-service was asked.
async fn is_asked(refusals: &Refusals, host: u8) -> bool {
    let asked = AtomicBool::new(false);
    let call = async {
        asked.store(true, Ordering::Relaxed);
        Ok(())
    };
    let _ = refusals.run_login(context(host), call).await;
    asked.into_inner()
}

#[tokio::test(start_paused = true)]
async fn a_client_has_32_logins_in_progress_at_most() {
    let refusals = Arc::new(Refusals::new());
    let mut waiting = Vec::new();
    for _ in 0..32 {
        let refusals = Arc::clone(&refusals);
        waiting.push(tokio::spawn(async move {
            refusals
                .run_login(context(1), pending::<Result<(), CallError>>())
                .await
        }));
    }
    tokio::task::yield_now().await;
    assert!(!is_asked(&refusals, 1).await);
    assert!(is_asked(&refusals, 2).await, "another client");
    waiting.remove(0).abort();
    tokio::task::yield_now().await;
    assert!(is_asked(&refusals, 1).await, "one has left");
}

#[test]
fn a_client_gets_its_share_of_refusals_and_no_more() {
    let refusals = Refusals::new();
    let (flood, other) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
    let now = Instant::now();
    let at_once = (0..1000)
        .filter(|_| refusals.schedule_refusal(flood, now).is_zero())
        .count();
    assert_eq!(at_once, 50);
    assert_eq!(
        refusals.schedule_refusal(flood, now),
        Duration::from_secs(1),
        "at most"
    );
    assert_eq!(
        refusals.schedule_refusal(flood, now + 2 * MINUTE),
        Duration::ZERO,
        "a later one"
    );
    let later = now + 2 * MINUTE;
    let at_once = |client| {
        (0..100)
            .filter(|_| refusals.schedule_refusal(client, later).is_zero())
            .count()
    };
    assert_eq!((at_once(flood), at_once(other)), (49, 50));
}

#[tokio::test(start_paused = true)]
async fn refusals_beyond_the_share_are_answered_late() {
    let refusals = Refusals::new();
    let refuse = async || {
        let refused = Err(CallError::local(Reason::Overloaded));
        let started = tokio::time::Instant::now();
        let outcome: Result<(), ApiError> = refusals.pace(context(1), refused).await;
        assert_eq!(outcome.expect_err("refused").status(), 503);
        started.elapsed()
    };
    // The pace follows real time, and next to no time passes here.
    for _ in 0..40 {
        assert_eq!(refuse().await, Duration::ZERO);
    }
    for _ in 0..60 {
        refuse().await;
    }
    assert!(refuse().await > Duration::from_millis(100));
}
