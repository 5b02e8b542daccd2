use super::{
    Refusals,
    memory::{Memory, Request},
    pacer::Pacer,
};
use rolegate_auth_client::{
    CallContext, CallError, Reason, RefusalScope, ServiceError, axum::ApiError,
};
use std::{
    future::pending,
    net::IpAddr,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

const MINUTE: Duration = Duration::from_mins(1);

fn context(host: u8) -> CallContext {
    CallContext { client_address: Some(IpAddr::from([192, 0, 2, host])), request_id: None }
}

fn refusal(reason: Reason, scope: Option<RefusalScope>, time: Duration) -> CallError {
    let retry_after = Some(time);
    CallError::Refused(ServiceError { reason, message: String::new(), retry_after, scope })
}

/// Logs in, where auth-service answers with `outcome`; whether it was asked.
async fn is_asked(
    refusals: &Refusals,
    host: u8,
    username: &str,
    outcome: Result<(), CallError>,
) -> bool {
    let asked = AtomicU32::new(0);
    let call = async {
        asked.fetch_add(1, Ordering::Relaxed);
        outcome
    };
    let _ = refusals.login(context(host), username, call).await;
    asked.into_inner() == 1
}

#[tokio::test(start_paused = true)]
async fn auth_service_is_not_asked_while_its_refusal_lasts() {
    use RefusalScope::{Client, Service, Username};
    for (reason, scope, others) in [
        (Reason::TooManyAttempts, Some(Username), [false, true, true]),
        (Reason::TooManyAttempts, Some(Client), [false, false, true]),
        (Reason::Overloaded, Some(Client), [false, false, true]),
        (Reason::Overloaded, Some(Service), [false, false, false]),
        (Reason::TooManyAttempts, None, [true, true, true]),
    ] {
        let refusals = Refusals::new(|_| Some(1));
        let refused = Err(refusal(reason, scope, MINUTE));
        assert!(is_asked(&refusals, 1, "ann", refused).await);
        let asked = [
            is_asked(&refusals, 1, "ann", Ok(())).await,
            is_asked(&refusals, 1, "bob", Ok(())).await,
            is_asked(&refusals, 2, "ann", Ok(())).await,
        ];
        assert_eq!(asked, others, "{reason:?} {scope:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_overloaded_replica_refuses_its_own_usernames_only() {
    let refusals = Refusals::new(|username| Some(if username == "bob" { 2 } else { 1 }));
    let overloaded = refusal(Reason::Overloaded, Some(RefusalScope::Service), MINUTE);
    assert!(is_asked(&refusals, 1, "ann", Err(overloaded)).await);
    assert!(!is_asked(&refusals, 2, "eve", Ok(())).await);
    assert!(is_asked(&refusals, 1, "bob", Ok(())).await, "another replica may have capacity");
}

#[tokio::test(start_paused = true)]
async fn a_wrong_password_is_an_answer_and_no_refusal() {
    let refusals = Refusals::new(|_| Some(1));
    for _ in 0..3 {
        let wrong = Err(CallError::local(Reason::CredentialsInvalid));
        assert!(is_asked(&refusals, 1, "ann", wrong).await);
    }
}

#[test]
fn a_kept_refusal_has_the_rest_of_its_time_and_ends() {
    let memory = Memory::new(|_| Some(1));
    let request = Request { client: [192, 0, 2, 1].into(), username: "ann" };
    let now = Instant::now();
    for (reason, said, kept) in [
        (Reason::Overloaded, 9, 1),
        (Reason::TooManyAttempts, 40, 40),
        (Reason::TooManyAttempts, 90, 60),
    ] {
        let refusal = refusal(reason, Some(RefusalScope::Client), Duration::from_secs(said));
        let CallError::Refused(error) = refusal else { panic!("a refusal") };
        memory.keep(&request, &error, now);
        let rest = |after| match memory.find_at(&request, &[reason], now + after) {
            Some(CallError::Refused(error)) => error.retry_after,
            _ => None,
        };
        let kept = Duration::from_secs(kept);
        assert_eq!(rest(Duration::ZERO), Some(kept));
        assert_eq!(rest(kept / 2), Some(kept / 2));
        assert_eq!(rest(kept), None);
    }
}

#[tokio::test(start_paused = true)]
async fn basic_is_refused_over_the_limit_and_not_for_want_of_capacity() {
    let refusals = Refusals::new(|_| Some(1));
    let overloaded = refusal(Reason::Overloaded, Some(RefusalScope::Service), MINUTE);
    assert!(is_asked(&refusals, 1, "ann", Err(overloaded)).await);
    assert!(refusals.verify(context(1), "ann", async || Ok(())).await.is_ok());
    let limited = refusal(Reason::TooManyAttempts, Some(RefusalScope::Client), MINUTE);
    let _ = refusals.verify(context(1), "ann", async || Err::<(), _>(limited)).await;
    assert!(refusals.verify(context(1), "ann", async || Ok(())).await.is_err());
    assert!(refusals.verify(context(2), "ann", async || Ok(())).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_client_has_32_logins_in_progress_at_most() {
    let refusals = Refusals::new(|_| Some(1));
    let mut waiting = Vec::new();
    for _ in 0..32 {
        let refusals = refusals.clone();
        waiting.push(tokio::spawn(async move {
            refusals.login(context(1), "ann", pending::<Result<(), CallError>>()).await
        }));
    }
    tokio::task::yield_now().await;
    assert!(!is_asked(&refusals, 1, "ann", Ok(())).await);
    assert!(is_asked(&refusals, 2, "ann", Ok(())).await, "another client");
    waiting.remove(0).abort();
    tokio::task::yield_now().await;
    assert!(is_asked(&refusals, 1, "ann", Ok(())).await, "one has left");
}

#[test]
fn a_client_gets_its_share_of_refusals_and_no_more() {
    let pacer = Pacer::new();
    let (flood, other) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
    let now = Instant::now();
    let at_once = (0..1000).filter(|_| pacer.delay(flood, now).is_zero()).count();
    assert_eq!(at_once, 50);
    assert_eq!(pacer.delay(flood, now), Duration::from_secs(1), "at most");
    assert_eq!(pacer.delay(flood, now + 2 * MINUTE), Duration::ZERO, "a later one");
    let later = now + 2 * MINUTE;
    let at_once = |client| (0..100).filter(|_| pacer.delay(client, later).is_zero()).count();
    assert_eq!((at_once(flood), at_once(other)), (49, 50));
}

#[tokio::test(start_paused = true)]
async fn refusals_beyond_the_share_are_answered_late() {
    let refusals = Refusals::new(|_| Some(1));
    let refuse = async || {
        let refused = refusal(Reason::Overloaded, Some(RefusalScope::Client), MINUTE);
        let started = tokio::time::Instant::now();
        let outcome: Result<(), ApiError> =
            refusals.other(context(1), async { Err(refused) }).await;
        assert_eq!(outcome.expect_err("refused").status(), 503);
        started.elapsed()
    };
    // The pacer measures real time, of which none to speak of passes here.
    for _ in 0..40 {
        assert_eq!(refuse().await, Duration::ZERO);
    }
    for _ in 0..60 {
        refuse().await;
    }
    assert!(refuse().await > Duration::from_millis(100));
}
